package pebble

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// longKey is the length from which on keys are counted. Shorter ones take less memory than the
	// other things that Pebble keeps of a table.
	longKey = 64 << 10
	// minLongKeys is the least room for long keys: that of three with 8 MiB.
	minLongKeys = 64 << 20
	// boundsOfKey is how often a key is kept at most, if its table has no other one.
	boundsOfKey = 2
)

// longKeys bounds the memory of long keys. Pebble keeps the first and the last key of each table in
// memory for as long as the table exists, and its manifest has them, too: without a bound, a
// hundred documents with an _id of 8 MiB take more memory than the server has, also after each
// restart.
type longKeys struct {
	dir   string // of the store, for errors
	limit int64

	mu sync.Mutex
	// tables are the bytes of the long bounds of tables, put those of the keys since they were
	// summed.
	tables, put int64
	stale       bool // tables came or went
}

// changed says that there are other tables.
func (l *longKeys) changed() {
	l.mu.Lock()
	l.stale = true
	l.mu.Unlock()
}

// admit refuses n more bytes of long keys if there is no room for them.
func (l *longKeys) admit(db *pebble.DB, n int64) error {
	if n == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stale {
		sum, err := longBounds(db)
		if err != nil {
			return sortError(l.dir, err)
		}
		l.tables, l.put, l.stale = sum, 0, false
	}
	if taken := l.tables + boundsOfKey*l.put; taken+boundsOfKey*n > l.limit {
		return fmt.Errorf("%w: keys longer than %d bytes take %d of %d bytes of memory; %d more have no room. "+
			"Delete such documents, or give the server more memory",
			storage.ErrLongKeys, longKey, taken, l.limit, boundsOfKey*n)
	}
	l.put += n
	return nil
}

// longBounds sums the long keys that Pebble keeps of the tables.
func longBounds(db *pebble.DB) (sum int64, err error) {
	levels, err := db.SSTables()
	if err != nil {
		return 0, err
	}
	for _, level := range levels {
		for i := range level {
			for _, key := range [][]byte{level[i].Smallest.UserKey, level[i].Largest.UserKey} {
				if len(key) >= longKey {
					sum += int64(len(key))
				}
			}
		}
	}
	return sum, nil
}
