package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Validation is what Validate found.
type Validation struct {
	Records        int64
	InvalidRecords int64
	KeysPerIndex   map[string]int64
	// NonCompliant counts the records that the collection's validator does not accept, and those with a field name that stands
	// twice. Refused are the former, Repeating the latter, which full looks for; a record may be both.
	NonCompliant, Refused, Repeating int64
	// Corrupt names records that are not BSON by their keys, Missing the entries that records should have, Extra the number
	// of entries too many, by index: at most maxValidationErrors of each.
	Corrupt []string
	Missing []MissingEntry
	Extra   map[string]int64
	// Broken are the indexes that an error is about.
	Broken map[string]bool
	// Errors describes what is wrong, at most maxValidationErrors of them; empty means valid.
	Errors []string
}

// MissingEntry is an entry that an index lacks.
type MissingEntry struct {
	Index string
	ID    bsonx.Value // of the record
}

const maxValidationErrors = 20

// failIndex is fail for an error of an index.
func (v *Validation) failIndex(name, format string, args ...any) {
	v.Broken[name] = true
	v.fail("index "+name+": "+format, args...)
}

func (v *Validation) fail(format string, args ...any) {
	if len(v.Errors) < maxValidationErrors {
		v.Errors = append(v.Errors, fmt.Sprintf(format, args...))
	}
}

// Validate compares a collection's records, indexes and counter in one snapshot. With full, every record is also
// checked as BSON. Damage that cannot be read past is returned as an error.
func (s *Store) Validate(ctx context.Context, c *Collection, full bool) (*Validation, error) {
	// The gate keeps writers from committing between the snapshot and the look at the counter.
	c.shared.gate.Lock()
	current := c.shared.current.Load()
	if current == nil {
		c.shared.gate.Unlock()
		return nil, ErrDropped
	}
	snap := s.engine.NewSnapshot()
	counter, err := s.Count(current)
	c.shared.gate.Unlock()
	defer snap.Close()
	if err != nil {
		return nil, err
	}
	v := &Validation{KeysPerIndex: map[string]int64{}, Extra: map[string]int64{}, Broken: map[string]bool{}}
	expected, err := v.records(ctx, current, snap, full, counter)
	if err != nil {
		return nil, err
	}
	v.KeysPerIndex["_id_"] = v.Records
	for _, ix := range current.maintained {
		if !ix.Ready {
			continue
		}
		if err := v.entries(ctx, ix, snap, expected[ix.ID]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// compliance counts a record that is not what the collection's validator or, with full, the format wants.
func (v *Validation) compliance(c *Collection, doc bsonx.Doc, full bool) {
	refused := c.Validator != nil && !c.Validator.Accepts(doc)
	repeats := full && repeatsName(doc)
	if refused {
		v.Refused++
	}
	if repeats {
		v.Repeating++
	}
	if refused || repeats {
		v.NonCompliant++
	}
}

// records checks that each record is where its _id belongs and has its entries, and counts the entries expected.
func (v *Validation) records(ctx context.Context, c *Collection, snap storage.Snapshot, full bool, counter storage.Counter) (map[uint32]int64, error) {
	expected := map[uint32]int64{}
	it, err := snap.NewIter(c.RecordPrefix(), PrefixEnd(c.RecordPrefix()))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var running interrupt.Running
	running.Set(ctx)
	var keys index.Keys
	keys.Serve(&running)
	var buf []byte
	var size int64
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		v.Records++
		size += int64(len(value))
		if full {
			if err := bsonx.Validate(value, bsonx.Limits{}); err != nil {
				v.InvalidRecords++
				v.fail("record %x is not valid BSON: %v", it.Key()[prefixLen:], err)
				if len(v.Corrupt) < maxValidationErrors {
					v.Corrupt = append(v.Corrupt, fmt.Sprintf("%x", it.Key()[prefixLen:]))
				}
				continue
			}
		}
		doc := bsonx.Doc(value)
		v.compliance(c, doc, full)
		buf = v.recordKey(c, it.Key(), doc, buf)
		for _, ix := range c.maintained {
			if !ix.Ready {
				continue
			}
			n, err := v.entriesOf(c, ix, doc, it.Key()[prefixLen:], snap, &keys)
			if err != nil {
				return nil, err
			}
			expected[ix.ID] += n
		}
	}
	// The log of changes is trimmed before its counter is: a crash between them leaves that too large.
	if !c.Oplog && (counter.Count != v.Records || counter.Bytes != size) {
		v.fail("counter says %d records of %d bytes, found %d of %d", counter.Count, counter.Bytes, v.Records, size)
	}
	return expected, it.Err()
}

// recordKey checks that a record is where it belongs. It returns a buffer for the following call.
func (v *Validation) recordKey(c *Collection, key []byte, doc bsonx.Doc, buf []byte) []byte {
	switch {
	case c.Oplog:
		buf = c.RecordKey(buf[:0], doc.Lookup("ts"))
	case c.Capped == nil:
		buf = c.RecordKey(buf[:0], doc.Lookup("_id"))
	default:
		sequence, err := Sequence(key)
		if err != nil {
			v.fail("record %x has no sequence: %v", key[prefixLen:], err)
			return buf
		}
		buf = c.sequenceKey(buf[:0], sequence)
	}
	if !bytes.Equal(buf, key) {
		v.fail("record %x is not where its document belongs", key[prefixLen:])
	}
	return buf
}

// entriesOf checks that a record's entries in an index exist, and returns their number.
func (v *Validation) entriesOf(c *Collection, ix *Index, doc bsonx.Doc, recordID []byte, snap storage.Snapshot, keys *index.Keys) (int64, error) {
	var id idBits
	c.setID(&id, doc)
	if err := ix.generate(doc, keys); err != nil {
		v.failIndex(ix.Name, "record %x: %v", recordID, err)
		return 0, nil
	}
	if !ix.coversPaths(keys) {
		v.failIndex(ix.Name, "multikey paths do not cover record %x", recordID)
	}
	for i := range keys.Len() {
		bits, closer, err := snap.Get(ix.entryKey(nil, keys.Key(i), recordID))
		if errors.Is(err, storage.ErrNotFound) {
			v.failIndex(ix.Name, "entry of record %x is missing", recordID)
			if len(v.Missing) < maxValidationErrors {
				v.Missing = append(v.Missing, MissingEntry{ix.Name, doc.Lookup("_id").Clone()})
			}
			continue
		}
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(bits, id.join(keys.TypeBits(i))) {
			v.failIndex(ix.Name, "entry of record %x has other type bits", recordID)
		}
		if err := closer.Close(); err != nil {
			return 0, err
		}
	}
	return int64(keys.Len()), nil
}

// entries counts an index's entries: with those of all records present, more means entries of none.
func (v *Validation) entries(ctx context.Context, ix *Index, snap storage.Snapshot, expected int64) error {
	it, err := snap.NewIter(ix.Prefix(), PrefixEnd(ix.Prefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	var n int64
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n++
	}
	v.KeysPerIndex[ix.Name] = n
	if n != expected {
		v.failIndex(ix.Name, "it has %d entries, its records give %d", n, expected)
		if n > expected && len(v.Extra) < maxValidationErrors {
			v.Extra[ix.Name] = n - expected
		}
	}
	return it.Err()
}

// repeatsName reports whether a name stands twice in a document or in one inside it.
func repeatsName(doc bsonx.Doc) bool {
	seen := map[string]bool{}
	for it := doc.Iter(); it.Next(); {
		if seen[string(it.Key())] {
			return true
		}
		seen[string(it.Key())] = true
		if v := it.Value(); v.Type == bsonx.TypeDocument && repeatsName(v.Doc()) {
			return true
		}
	}
	return false
}
