package table

import (
	"bytes"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/storage"
)

// KeysBetween returns the keys of at most limit records for which the first field of an index has a
// value from low to high; a nil index stands for the _id by which the records are clustered. It
// goes on from the place that the call before returned as next, which is nil at first, and again at
// the end. A record may be returned several times. What it returns was true at one moment: who acts
// on a record locks it and looks. It fails with ErrDropped where c is not the newest form any more.
func (s *Store) KeysBetween(c *Collection, ix *Index, low, high bsonx.Value, next []byte, limit int) (keys [][]byte, after []byte, err error) {
	lower, upper := c.bounds(ix, low, high)
	if next != nil {
		lower = next
	}
	snap := s.engine.NewSnapshot()
	defer snap.Close()
	if !s.IsCurrent(c) {
		return nil, nil, ErrDropped
	}
	it, err := snap.NewIter(lower, upper)
	if err != nil {
		return nil, nil, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if len(keys) == limit {
			return keys, bytes.Clone(it.Key()), nil
		}
		key, err := c.recordOf(ix, it)
		if err != nil {
			return nil, nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil, it.Err()
}

// bounds returns the range of the entries, or records, with a value from low to high.
func (c *Collection) bounds(ix *Index, low, high bsonx.Value) (lower, upper []byte) {
	if ix == nil {
		return c.RecordKey(nil, low), keyspace.PrefixEnd(c.RecordKey(nil, high))
	}
	desc := ix.Pattern[0].Desc
	if desc {
		low, high = high, low
	}
	return keystring.Append(ix.Prefix(), low, desc), keyspace.PrefixEnd(keystring.Append(ix.Prefix(), high, desc))
}

// recordOf returns the key of the record to which the entry belongs that an iterator is at.
func (c *Collection) recordOf(ix *Index, it storage.Iterator) ([]byte, error) {
	if ix == nil {
		return bytes.Clone(it.Key()), nil
	}
	return c.RecordKeyOfEntry(nil, ix, it.Key())
}
