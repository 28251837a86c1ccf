package pebble

import (
	"fmt"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

const (
	// longKey is the length from which a key is counted, in bytes. Shorter keys take less memory
	// than the other data that Pebble keeps for a table.
	longKey = 64 << 10
	// minLongKeys is the least room for long keys, in bytes: enough for three keys of 8 MiB.
	minLongKeys = 64 << 20
	// boundsOfKey is how many times a key is stored at most: as both bounds of a table that has
	// only this key.
	boundsOfKey = 2
)

// longKeys limits the memory of long keys. Pebble keeps the first and the last key of each table in
// memory as long as the table exists, and its manifest has them, too. Without a limit, a hundred
// documents with an _id of 8 MiB would take more memory than the server has, even after a restart.
type longKeys struct {
	dir   string // directory of the store, for error messages
	limit int64

	mu sync.Mutex
	// tables is the size of the long bounds of all tables. put is the size of the long keys that
	// were put since tables was computed.
	tables, put int64
	stale       bool // the set of tables has changed since tables was computed
}

// changed records that the set of tables has changed.
func (l *longKeys) changed() {
	l.mu.Lock()
	l.stale = true
	l.mu.Unlock()
}

// admit returns an error if there is no room for n more bytes of long keys.
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

// longBounds adds up the long keys that Pebble keeps for the tables.
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
