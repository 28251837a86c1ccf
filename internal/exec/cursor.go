package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// prefixLen is the length of the prefixes of records and index entries; see package table.
const prefixLen = 5

// entryCursor iterates over the entries of an index that are in bounds. The entries of the _id
// index of a collection are its records, in the record key space.
type entryCursor struct {
	env      *Env
	stats    *Stats
	lower    []byte
	upper    []byte
	backward bool
	check    *checker // nil if lower and upper alone describe the bounds

	it      storage.Iterator
	started bool
	pos     []byte // last entry read, while no iterator is open
	// seekKey is the key to which next seeks. If it is empty, next goes to the neighbouring entry.
	seekKey []byte
}

// newEntryCursor returns a cursor over the index ix. A nil ix means the _id index.
func newEntryCursor(env *Env, coll *table.Collection, ix *table.Index, b *Bounds, backward bool) entryCursor {
	prefix := coll.RecordPrefix()
	if ix != nil {
		prefix = ix.Prefix()
	}
	c := entryCursor{env: env, backward: backward, lower: prefix, upper: keyspace.PrefixEnd(prefix)}
	if b.Lower != nil {
		c.lower = append(prefix[:prefixLen:prefixLen], b.Lower...)
	}
	if b.Upper != nil {
		c.upper = append(prefix[:prefixLen:prefixLen], b.Upper...)
	}
	if b.Fields != nil {
		c.check = &checker{bounds: b}
	}
	return c
}

// next moves to the next entry in bounds and returns its whole key, or nil at the end. Each entry
// that it reads counts as one work, including entries that only cause a seek.
func (c *entryCursor) next(ctx context.Context) ([]byte, error) {
	if c.it == nil {
		it, err := c.env.Reader.NewIter(c.lower, c.upper)
		if err != nil {
			return nil, err
		}
		c.it, c.started = it, false
	}
	for {
		if err := c.env.step(ctx); err != nil {
			return nil, err
		}
		c.stats.Works++
		if !c.move() {
			return nil, c.it.Err()
		}
		c.stats.KeysExamined++
		key := c.it.Key()
		if c.check == nil {
			return key, nil
		}
		v, err := c.verdict(key[prefixLen:])
		if err != nil {
			return nil, err
		}
		switch v {
		case inBounds:
			return key, nil
		case seekTo:
			c.seek(c.check.seek)
		case outOfBounds:
			return nil, nil
		}
	}
}

func (c *entryCursor) verdict(key []byte) (verdict, error) {
	if c.backward {
		return c.check.backward(key)
	}
	return c.check.forward(key)
}

// seek makes the following call of next go to the first entry at or after key in a forward scan, or
// to the last entry before key in a backward scan. The key has no index prefix.
func (c *entryCursor) seek(key []byte) {
	c.seekKey = append(append(c.seekKey[:0], c.lower[:prefixLen]...), key...)
}

func (c *entryCursor) move() bool {
	switch {
	case len(c.seekKey) > 0:
		ok := c.seekAt(c.seekKey)
		c.seekKey = c.seekKey[:0]
		return ok
	case c.started && c.backward:
		return c.it.Prev()
	case c.started:
		return c.it.Next()
	case len(c.pos) > 0 && c.backward:
		return c.seekAt(c.pos)
	case len(c.pos) > 0:
		return c.seekAt(append(c.pos, 0))
	case c.backward:
		c.started = true
		c.stats.Seeks++
		return c.it.Last()
	default:
		c.started = true
		c.stats.Seeks++
		return c.it.First()
	}
}

func (c *entryCursor) seekAt(key []byte) bool {
	c.started = true
	c.stats.Seeks++
	if c.backward {
		return c.it.SeekLT(key)
	}
	return c.it.SeekGE(key)
}

// save keeps the position and closes the iterator. atEnd says that next has returned nil.
func (c *entryCursor) save(atEnd bool) {
	if c.it == nil {
		return
	}
	if c.started && !atEnd {
		c.pos = append(c.pos[:0], c.it.Key()...)
	}
	c.close()
}

func (c *entryCursor) close() {
	if c.it != nil {
		// next has already reported the iterator's error.
		_ = c.it.Close()
		c.it = nil
	}
}
