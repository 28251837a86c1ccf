package table

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Validation is the result of Validate.
type Validation struct {
	Records        int64
	InvalidRecords int64
	KeysPerIndex   map[string]int64
	// NonCompliant counts the records that are Refused or Repeating. Refused counts records that
	// the collection's validator rejects. Repeating counts records with a repeated field name; only
	// a full validation looks for them. A record may be both.
	NonCompliant, Refused, Repeating int64
	// Corrupt lists the keys of records that are not BSON, at most maxValidationErrors.
	Corrupt []string
	// Missing lists the index entries that records should have, at most maxValidationErrors.
	Missing []MissingEntry
	// Extra counts, for each index, the entries that belong to no record.
	Extra map[string]int64
	// Broken has the names of the indexes with errors.
	Broken map[string]bool
	// Errors describes the damage; it is empty if there is no damage. It has at most
	// maxValidationErrors errors about single records and entries.
	Errors []string

	found    int64 // number of errors about single records and entries
	expected map[uint32]*entryCounts
}

// entryCounts counts the entries that an index should have for the records (given), and how many of
// these exist (present).
type entryCounts struct{ given, present int64 }

// MissingEntry is an entry that an index lacks.
type MissingEntry struct {
	Index string
	ID    bsonx.Value // _id of the record
}

const maxValidationErrors = 20

// failIndex adds an error about an index.
func (v *Validation) failIndex(name, format string, args ...any) {
	v.Broken[name] = true
	v.fail("index "+name+": "+format, args...)
}

// fail adds an error about a record or an entry.
func (v *Validation) fail(format string, args ...any) {
	if v.found++; v.found <= maxValidationErrors {
		v.Errors = append(v.Errors, fmt.Sprintf(format, args...))
	}
}

// Validate compares a collection's records, indexes and counter in one snapshot. With full, it also
// looks for repeated field names in documents. Damage that does not prevent reading is reported in
// the Validation. Damage that prevents further reading is returned as an error.
func (s *Store) Validate(ctx context.Context, c *Collection, full bool) (*Validation, error) {
	// The gate keeps writers from committing between taking the snapshot and reading the counter.
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
	v := &Validation{
		KeysPerIndex: map[string]int64{}, Extra: map[string]int64{}, Broken: map[string]bool{},
		expected: map[uint32]*entryCounts{},
	}
	for _, ix := range current.maintained {
		v.expected[ix.ID] = &entryCounts{}
	}
	size, err := v.records(ctx, current, snap, full)
	if err != nil {
		return nil, err
	}
	v.KeysPerIndex["_id_"] = v.Records
	for _, ix := range current.maintained {
		if !ix.Ready {
			continue
		}
		if err := v.entries(ctx, ix, snap); err != nil {
			return nil, err
		}
	}
	if v.found > maxValidationErrors {
		v.Errors = append(v.Errors,
			fmt.Sprintf("there are %d errors more of records and index entries", v.found-maxValidationErrors))
	}
	// The oplog is trimmed before its counter is lowered. A crash in between leaves the counter too
	// large.
	if !current.Oplog && (counter.Count != v.Records || counter.Bytes != size) {
		v.Errors = append(v.Errors,
			fmt.Sprintf("counter says %d records of %d bytes, found %d of %d", counter.Count,
				counter.Bytes, v.Records, size))
	}
	return v, nil
}

// compliance counts a record that the collection's validator rejects or, with full, that repeats a
// field name.
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

// records checks that each record is BSON, is stored under the right key, and has its index
// entries. It returns the total size of the records in bytes.
func (v *Validation) records(ctx context.Context, c *Collection, snap storage.Snapshot,
	full bool,
) (size int64, err error) {
	it, err := snap.NewIter(c.RecordPrefix(), keyspace.PrefixEnd(c.RecordPrefix()))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	var running interrupt.Running
	running.Set(ctx)
	var keys index.Keys
	keys.Serve(&running)
	var buf []byte
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		value, err := it.Value()
		if err != nil {
			return 0, err
		}
		v.Records++
		size += int64(len(value))
		if err := bsonx.Validate(value, bsonx.Limits{}); err != nil {
			v.InvalidRecords++
			v.fail("record %x is not valid BSON: %v", it.Key()[keyspace.PrefixLen:], err)
			if len(v.Corrupt) < maxValidationErrors {
				v.Corrupt = append(v.Corrupt, fmt.Sprintf("%x", it.Key()[keyspace.PrefixLen:]))
			}
			continue
		}
		doc := bsonx.Doc(value)
		v.compliance(c, doc, full)
		if buf, err = v.recordKey(c, it.Key(), doc, buf, &running); err != nil {
			return 0, err
		}
		for _, ix := range c.maintained {
			if !ix.Ready {
				continue
			}
			if err := v.entriesOf(c, ix, doc, it.Key()[keyspace.PrefixLen:], snap, &keys, &running); err != nil {
				return 0, err
			}
		}
	}
	return size, it.Err()
}

// recordKey checks that a record is stored under the key that its document determines. It returns
// buf, which may have grown, for the next call.
func (v *Validation) recordKey(c *Collection, key []byte, doc bsonx.Doc, buf []byte,
	r *interrupt.Running,
) ([]byte, error) {
	switch {
	case c.Oplog:
		buf = c.RecordKey(buf[:0], doc.Lookup("ts"))
	case c.Capped == nil:
		var err error
		if buf, err = c.RecordKeyFor(buf[:0], doc.Lookup("_id"), r); err != nil {
			return buf, err
		}
	default:
		sequence, err := Sequence(key)
		if err != nil {
			v.fail("record %x has no sequence: %v", key[keyspace.PrefixLen:], err)
			return buf, nil
		}
		buf = c.sequenceKey(buf[:0], sequence)
	}
	if !bytes.Equal(buf, key) {
		v.fail("record %x is not where its document belongs", key[keyspace.PrefixLen:])
	}
	return buf, nil
}

// entriesOf checks that a record's entries in an index exist.
func (v *Validation) entriesOf(c *Collection, ix *Index, doc bsonx.Doc, recordID []byte, snap storage.Snapshot,
	keys *index.Keys, running *interrupt.Running,
) error {
	var id idBits
	if err := c.setID(&id, doc, running); err != nil {
		return err
	}
	if err := ix.generate(doc, keys); err != nil {
		if ended := keys.Ended(); ended != nil {
			return ended
		}
		v.failIndex(ix.Name, "record %x: %v", recordID, err)
		return nil
	}
	if !ix.coversPaths(keys) {
		v.failIndex(ix.Name, "multikey paths do not cover record %x", recordID)
	}
	counts := v.expected[ix.ID]
	for i := range keys.Len() {
		counts.given++
		bits, closer, err := snap.Get(ix.entryKey(nil, keys.Key(i), recordID))
		if errors.Is(err, storage.ErrNotFound) {
			v.failIndex(ix.Name, "entry of record %x is missing", recordID)
			if len(v.Missing) < maxValidationErrors {
				v.Missing = append(v.Missing, MissingEntry{ix.Name, doc.Lookup("_id").Clone()})
			}
			continue
		}
		if err != nil {
			return err
		}
		counts.present++
		if !bytes.Equal(bits, id.join(keys.TypeBits(i))) {
			v.failIndex(ix.Name, "entry of record %x has other type bits", recordID)
		}
		if err := closer.Close(); err != nil {
			return err
		}
	}
	return nil
}

// entries counts the entries of an index. It reports entries that belong to no record, and keys
// that occur twice in a unique index.
func (v *Validation) entries(ctx context.Context, ix *Index, snap storage.Snapshot) error {
	it, err := snap.NewIter(ix.Prefix(), keyspace.PrefixEnd(ix.Prefix()))
	if err != nil {
		return err
	}
	defer it.Close()
	var n, twice int64
	var last []byte
	for ok := it.First(); ok; ok = it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		n++
		if !ix.Unique {
			continue
		}
		fields, err := ix.FieldsLen(it.Key())
		if err != nil {
			v.failIndex(ix.Name, "entry %x: %v", it.Key()[keyspace.PrefixLen:], err)
			continue
		}
		if bytes.Equal(last, it.Key()[:fields]) {
			twice++
		}
		last = append(last[:0], it.Key()[:fields]...)
	}
	v.KeysPerIndex[ix.Name] = n
	v.count(ix.Name, "entries are missing", v.expected[ix.ID].given-v.expected[ix.ID].present)
	if extra := n - v.expected[ix.ID].present; extra > 0 {
		v.Extra[ix.Name] = extra
		v.count(ix.Name, "entries belong to no record", extra)
	}
	v.count(ix.Name, "entries have the key of another one, and the index is unique", twice)
	return it.Err()
}

// count adds an error about n entries of an index.
func (v *Validation) count(index, what string, n int64) {
	if n > 0 {
		v.Broken[index] = true
		v.Errors = append(v.Errors, fmt.Sprintf("index %s: %d %s", index, n, what))
	}
}

// repeatsName reports whether a field name occurs twice in a document or in an embedded document.
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
