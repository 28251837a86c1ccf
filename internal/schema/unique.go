package schema

import (
	"bytes"
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// verifyIndex reads the entries of a unique index, and fails if two records have the same fields.
// It does nothing for other indexes.
func verifyIndex(ctx context.Context, s *table.Store, c *table.Collection, id uint32) error {
	newest := s.Current(c)
	if newest == nil {
		return abortedByDrop(c)
	}
	ix := newest.IndexByID(id)
	if ix == nil {
		return errIndexDropped
	}
	if !ix.Unique {
		return nil
	}
	snap := s.Engine().NewSnapshot()
	defer snap.Close()
	return duplicates(ctx, s, ix, snap, func(fields []byte, second storage.Iterator) (bool, error) {
		value, err := second.Value()
		if err != nil {
			return false, err
		}
		bits, _, err := keystring.SplitTypeBits(value)
		if err != nil {
			return false, err
		}
		return false, &table.RefusedRecord{Err: table.DuplicateKey(newest, ix, fields[keyspace.PrefixLen:], bits)}
	})
}

// duplicates calls found for each entry of an index with the same fields as the entry before it,
// until found returns false.
func duplicates(ctx context.Context, s *table.Store, ix *table.Index, snap storage.Snapshot,
	found func(fields []byte, second storage.Iterator) (bool, error),
) error {
	it, err := snap.NewIter(ix.Prefix(), keyspace.PrefixEnd(ix.Prefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	var previous []byte
	for n, ok := 0, it.First(); ok; n, ok = n+1, it.Next() {
		if n%1024 == 0 {
			if err := interrupted(ctx, s); err != nil {
				return err
			}
		}
		size, err := ix.FieldsLen(it.Key())
		if err != nil {
			return err
		}
		fields := it.Key()[:size]
		if !bytes.Equal(fields, previous) {
			previous = append(previous[:0], fields...)
			continue
		}
		if more, err := found(fields, it); err != nil || !more {
			return err
		}
	}
	return it.Err()
}

// maxViolationBytes limits the total size of the returned _ids of duplicates, in bytes.
const maxViolationBytes = 8 << 20

// Violations returns the _ids of documents that share a key of an index with prepareUnique: one
// array for each key. It fails with ErrChanged if c is not the newest version. If there are no
// duplicates, Modify may make the index of c unique: while c is the newest version, writers refuse
// new duplicates.
func Violations(ctx context.Context, s *table.Store, c *table.Collection, name string) ([]bsonx.Value, error) {
	i := slices.IndexFunc(c.Indexes, func(ix *table.Index) bool { return ix.Name == name })
	switch {
	case i < 0:
		return nil, errNoIndex
	case !c.Indexes[i].PrepareUnique:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Cannot make index unique with 'prepareUnique=false'. Run collMod to set it first.")
	}
	return violations(ctx, s, c, c.Indexes[i])
}

// violations returns the _ids of the documents that share a key of an index: one array for each
// key.
func violations(ctx context.Context, s *table.Store, c *table.Collection, ix *table.Index) ([]bsonx.Value, error) {
	snap := s.Engine().NewSnapshot()
	defer snap.Close()
	var out []bsonx.Value
	var fields []byte
	var ids []bsonx.Value
	size := 0
	end := func() {
		if len(ids) > 0 {
			out = append(out, bsonx.ValueOf(ids))
		}
		ids = nil
	}
	add := func(entry []byte) error {
		id, err := idOfEntry(c, snap, ix, entry)
		ids = append(ids, id)
		size += len(id.Data)
		return err
	}
	err := duplicates(ctx, s, ix, snap, func(key []byte, second storage.Iterator) (bool, error) {
		if !bytes.Equal(key, fields) {
			end()
			fields = append(fields[:0], key...)
			first, err := firstEntry(snap, fields)
			if err != nil {
				return false, err
			}
			if err := add(first); err != nil {
				return false, err
			}
		}
		return size < maxViolationBytes, add(second.Key())
	})
	end()
	return out, err
}

// firstEntry returns the key of the first index entry that begins with the encoded fields.
func firstEntry(snap storage.Snapshot, fields []byte) ([]byte, error) {
	it, err := snap.NewIter(fields, keyspace.PrefixEnd(fields))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	it.First()
	return bytes.Clone(it.Key()), it.Err()
}

// idOfEntry returns the _id of the document that an entry points to.
func idOfEntry(c *table.Collection, snap storage.Snapshot, ix *table.Index, entry []byte) (bsonx.Value, error) {
	key, err := c.RecordKeyOfEntry(nil, ix, entry)
	if err != nil {
		return bsonx.Value{}, err
	}
	doc, closer, err := snap.Get(key)
	if err != nil {
		return bsonx.Value{}, err
	}
	defer closer.Close()
	return bsonx.Doc(doc).Lookup("_id").Clone(), nil
}
