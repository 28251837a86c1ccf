package table

import (
	"bytes"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/storage"
)

// KeysBetween returns the keys of at most limit records whose first field of the index ix has a
// value from low to high. A nil ix means the _id by which the records are clustered. next is nil
// for the first call, and the result after of the previous call for each following one; after is
// nil at the end. A record may be returned several times.
//
// The keys come from a snapshot: before the caller changes a record, it must lock the record and
// check it again. KeysBetween fails with ErrDropped if c is not the newest version of the
// collection.
func (s *Store) KeysBetween(c *Collection, ix *Index, low, high bsonx.Value, next []byte,
	limit int,
) (keys [][]byte, after []byte, err error) {
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

// bounds returns the key range of the entries, or of the records, with a value from low to high.
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

// recordOf returns the key of the record that the iterator's current entry belongs to.
func (c *Collection) recordOf(ix *Index, it storage.Iterator) ([]byte, error) {
	if ix == nil {
		return bytes.Clone(it.Key()), nil
	}
	return c.RecordKeyOfEntry(nil, ix, it.Key())
}
