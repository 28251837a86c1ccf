package table

import (
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/storage"
)

// sequenceKey appends the key of the record of a capped collection with that sequence.
//
// All keys begin with a prefix of package keyspace. In the key of a record the record id follows:
// keystring(_id), or keystring(insertion sequence) in a capped collection, or keystring(ts) in the
// oplog. In the key of an index entry keystring(fields) and the record id follow. docs/keys.md
// draws all keys.
func (c *Collection) sequenceKey(dst []byte, sequence int64) []byte {
	dst = keyspace.AppendPrefix(dst, keyspace.Records, c.ID)
	return keystring.Append(dst, bsonx.Int64(sequence), false)
}

// Sequence decodes the insertion sequence from the key of a record of a capped collection.
func Sequence(recordKey []byte) (int64, error) {
	v, _, _, err := keystring.Decode(nil, recordKey[keyspace.PrefixLen:], false, nil)
	if err != nil {
		return 0, err
	}
	n, ok := v.AsExactInt64()
	if !ok {
		return 0, fmt.Errorf("%w: record key %x of a capped collection", storage.ErrCorrupt, recordKey)
	}
	return n, nil
}

// Prefix returns the key prefix of the index's entries.
func (ix *Index) Prefix() []byte { return keyspace.Prefix(keyspace.Entries, ix.ID) }

// RecordPrefix returns the key prefix of the collection's records.
func (c *Collection) RecordPrefix() []byte { return keyspace.Prefix(c.space(), c.ID) }

// space returns the first byte of the keys of the collection's records.
func (c *Collection) space() byte {
	if c.Oplog {
		return keyspace.Oplog
	}
	return keyspace.Records
}

// RecordKey appends to dst the key of the record whose _id is id. The collection must be clustered
// by _id.
func (c *Collection) RecordKey(dst []byte, id bsonx.Value) []byte {
	dst, err := c.RecordKeyFor(dst, id, nil)
	if err != nil {
		panic(err) // only the end of an operation causes an error, and there is no operation
	}
	return dst
}

// RecordKeyFor is like RecordKey for an operation, which r watches. It fails before it builds the
// key of a large _id if the operation has ended or lacks memory.
func (c *Collection) RecordKeyFor(dst []byte, id bsonx.Value, r *interrupt.Running) ([]byte, error) {
	id, err := c.Collation.Fold(id, r)
	if err != nil {
		return dst, err
	}
	dst = keyspace.AppendPrefix(dst, c.space(), c.ID)
	return keystring.Append(dst, id, false), nil
}

// RecordKeyOfEntry appends the key of the record that an index entry points to. entryKey is the
// entry's whole key.
func (c *Collection) RecordKeyOfEntry(dst []byte, ix *Index, entryKey []byte) ([]byte, error) {
	n, err := ix.FieldsLen(entryKey)
	if err != nil {
		return nil, err
	}
	dst = keyspace.AppendPrefix(dst, c.space(), c.ID)
	return append(dst, entryKey[n:]...), nil
}

// FieldsLen returns the length of the part of an entry's key before the record id.
func (ix *Index) FieldsLen(entryKey []byte) (int, error) {
	n := keyspace.PrefixLen
	for _, f := range ix.Pattern {
		size, err := keystring.Skip(entryKey[n:], f.Desc)
		if err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}

// entryKey appends the key of the entry with these fields for a record.
func (ix *Index) entryKey(dst, fields, recordID []byte) []byte {
	dst = append(keyspace.AppendPrefix(dst, keyspace.Entries, ix.ID), fields...)
	return append(dst, recordID...)
}

// Ranges returns the key ranges of everything that a collection has in storage.
func (c *Collection) Ranges() []catalog.Range {
	out := []catalog.Range{rangeOf(c.RecordPrefix()), rangeOf(keyspace.Prefix(keyspace.Counters, c.ID))}
	for _, ix := range c.maintained {
		out = append(out, ix.Ranges()...)
	}
	return out
}

// Ranges returns the key ranges of everything that an index has in storage.
func (ix *Index) Ranges() []catalog.Range {
	return []catalog.Range{rangeOf(ix.Prefix()), rangeOf(keyspace.Prefix(keyspace.Multikey, ix.ID))}
}

func rangeOf(p []byte) catalog.Range { return catalog.Range{Start: p, End: keyspace.PrefixEnd(p)} }

// StampKey appends the key of the oplog entry with that stamp.
func (c *Collection) StampKey(dst []byte, stamp storage.Stamp) []byte {
	return changelog.AppendKey(dst, c.RecordPrefix(), stamp)
}
