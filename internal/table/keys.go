package table

import (
	"encoding/binary"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The key space. A record's key is its collection's prefix and its record id; an index entry's key is its index's prefix,
// keystring of the fields, the record id. The record id is keystring(_id), in a capped collection keystring(insertion
// sequence). Identifiers of collections and indexes are never used again after a drop.
//
//	0x10 | collection id (4 bytes, big endian) | record id                 -> document
//	0x20 | index id (4 bytes, big endian) | keystring(fields) | record id  -> type bits of the fields and of _id
//	0x03 | collection id (4 bytes, big endian)                                  -> counter: records, bytes
//	0x04 | index id (4 bytes, big endian)                                       -> multikey paths
//	0x04 | index id (4 bytes, big endian) | 0x01 | path                         -> nothing: a wildcard index met an array there
//	0x04 | index id (4 bytes, big endian) | 0xFF                                -> nothing: it met more than it remembers
//	0x05 ...                                                                    -> what retryable writes did; package retryable
const (
	counterSpace  = 0x03
	multikeySpace = 0x04
	recordSpace   = 0x10
	logSpace      = 0x18 // records of the log of changes, away from the others: storage keeps kinds of keys in tables of their own
	indexSpace    = 0x20
	prefixLen     = 5
)

// sequenceKey appends the key of the record of a capped collection with that sequence.
func (c *Collection) sequenceKey(dst []byte, sequence int64) []byte {
	dst = append(dst, recordSpace)
	dst = binary.BigEndian.AppendUint32(dst, c.ID)
	return keystring.Append(dst, bsonx.Int64(sequence), false)
}

// Sequence returns the insertion sequence in the key of a record of a capped collection.
func Sequence(recordKey []byte) (int64, error) {
	v, _, _, err := keystring.Decode(nil, recordKey[prefixLen:], false, nil)
	if err != nil {
		return 0, err
	}
	n, ok := v.AsExactInt64()
	if !ok {
		return 0, fmt.Errorf("%w: record key %x of a capped collection", storage.ErrCorrupt, recordKey)
	}
	return n, nil
}

// IsRecord reports whether a key of the store is that of a record.
func IsRecord(key []byte) bool { return len(key) > 0 && key[0] == recordSpace }

// Prefix returns the key prefix of the index's entries.
func (ix *Index) Prefix() []byte { return prefix(indexSpace, ix.ID) }

// RecordPrefix returns the key prefix of the collection's records.
func (c *Collection) RecordPrefix() []byte { return prefix(c.space(), c.ID) }

// space is the first byte of the keys of the collection's records.
func (c *Collection) space() byte {
	if c.Oplog {
		return logSpace
	}
	return recordSpace
}

// RecordKey appends the key of the record with that _id, where records are clustered by _id.
func (c *Collection) RecordKey(dst []byte, id bsonx.Value) []byte {
	dst, err := c.RecordKeyFor(dst, id, nil)
	if err != nil {
		panic(err) // without an operation nothing can end
	}
	return dst
}

// RecordKeyFor is RecordKey for an operation. It fails where the operation ends, or has too little
// memory, before the key of a large _id is made.
func (c *Collection) RecordKeyFor(dst []byte, id bsonx.Value, r *interrupt.Running) ([]byte, error) {
	id, err := c.Collation.Fold(id, r)
	if err != nil {
		return dst, err
	}
	dst = append(dst, c.space())
	dst = binary.BigEndian.AppendUint32(dst, c.ID)
	return keystring.Append(dst, id, false), nil
}

// RecordKeyOfEntry appends the key of the record that an index entry points to. entryKey is the entry's whole key.
func (c *Collection) RecordKeyOfEntry(dst []byte, ix *Index, entryKey []byte) ([]byte, error) {
	n, err := ix.fieldsLen(entryKey)
	if err != nil {
		return nil, err
	}
	dst = append(dst, c.space())
	dst = binary.BigEndian.AppendUint32(dst, c.ID)
	return append(dst, entryKey[n:]...), nil
}

// fieldsLen returns the length of an entry key up to the record id.
func (ix *Index) fieldsLen(entryKey []byte) (int, error) {
	n := prefixLen
	for _, f := range ix.Pattern {
		size, err := keystring.Skip(entryKey[n:], f.Desc)
		if err != nil {
			return 0, err
		}
		n += size
	}
	return n, nil
}

func prefix(space byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{space}, id)
}

// PrefixEnd returns the first key after all keys with that prefix.
func PrefixEnd(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// entryKey appends the key of an entry.
func (ix *Index) entryKey(dst, fields, recordID []byte) []byte {
	dst = append(dst, indexSpace, byte(ix.ID>>24), byte(ix.ID>>16), byte(ix.ID>>8), byte(ix.ID))
	dst = append(dst, fields...)
	return append(dst, recordID...)
}

// ranges returns everything that a collection has in storage.
func (c *Collection) ranges() []catalog.Range {
	out := []catalog.Range{rangeOf(c.RecordPrefix()), rangeOf(prefix(counterSpace, c.ID))}
	for _, ix := range c.maintained {
		out = append(out, ix.ranges()...)
	}
	return out
}

func (ix *Index) ranges() []catalog.Range {
	return []catalog.Range{rangeOf(ix.Prefix()), rangeOf(prefix(multikeySpace, ix.ID))}
}

func rangeOf(p []byte) catalog.Range { return catalog.Range{Start: p, End: PrefixEnd(p)} }

// stampPrefix begins the keys of records that are clustered by their stamp.
func (c *Collection) stampPrefix() []byte {
	key := keystring.Append(c.RecordPrefix(), bsonx.Timestamp(0, 0), false)
	return key[:len(key)-storage.StampSize]
}

// StampKey appends the key of the record of the log with that stamp.
func (c *Collection) StampKey(dst []byte, stamp storage.Stamp) []byte {
	dst = append(dst, c.RecordPrefix()...)
	return keystring.Append(dst, bsonx.Timestamp(stamp.Seconds(), stamp.Number()), false)
}

// stampOf returns the stamp that ends a key of the log.
func stampOf(key []byte) storage.Stamp {
	return storage.Stamp(binary.BigEndian.Uint64(key[len(key)-storage.StampSize:]))
}
