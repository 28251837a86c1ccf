package catalog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

func entryKey(id uint32) []byte {
	return binary.BigEndian.AppendUint32([]byte{keyspace.Catalog, 'c'}, id)
}

func garbageKey(start []byte) []byte { return append([]byte{keyspace.Catalog, 'g'}, start...) }

func nextKey() []byte { return []byte{keyspace.Catalog, 'n'} }

func encodeNext(next uint32) []byte { return bsonx.NewDoc("next", int64(next)) }

func encodeGarbage(r Range) []byte { return bsonx.NewDoc("end", bsonx.Binary(0, r.End)) }

func encodeEntry[T any](c *Collection[T]) []byte {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Int64("id", int64(c.ID))
	b.String("db", c.DB)
	b.String("name", c.Name)
	b.Value("uuid", bsonx.Binary(4, c.UUID[:]))
	b.String("kind", string(c.Kind))
	b.Doc("options", c.Options)
	b.Int64("version", int64(c.Version))
	if c.IDIndex != nil {
		b.Int64("idIndex", int64(c.IDIndex.ID))
	}
	b.StartArrayField("indexes")
	for _, ix := range c.Indexes {
		b.StartDocElem()
		b.Int64("id", int64(ix.ID))
		b.Doc("spec", ix.Spec)
		b.Bool("ready", ix.Ready)
		if ix.Filled {
			b.Bool("filled", true)
		}
		b.End()
	}
	b.End()
	b.End()
	return b.Bytes()
}

// errEntry means that stored bytes are not a valid catalog entry.
var errEntry = fmt.Errorf("%w: malformed catalog entry", storage.ErrCorrupt)

// decodeEntry reads an entry that encodeEntry has written. It validates all fields, because the
// bytes come from disk.
func decodeEntry[T any](raw []byte) (*Collection[T], error) {
	if err := bsonx.Validate(raw, bsonx.Limits{}); err != nil {
		return nil, errors.Join(errEntry, err)
	}
	d := bsonx.Doc(raw)
	name, db, kind := d.Lookup("name"), d.Lookup("db"), d.Lookup("kind")
	uuid, options, version, indexes := d.Lookup("uuid"), d.Lookup("options"), d.Lookup("version"), d.Lookup("indexes")
	id, ok := decodeID(d.Lookup("id"))
	switch {
	case !ok, version.Type != bsonx.TypeInt64, name.Type != bsonx.TypeString,
		db.Type != bsonx.TypeString, kind.Type != bsonx.TypeString, options.Type != bsonx.TypeDocument,
		indexes.Type != bsonx.TypeArray, uuid.Type != bsonx.TypeBinary, len(uuid.Data) != 5+16:
		return nil, errEntry
	case name.Str() == "", db.Str() == "", !isKind(Kind(kind.Str())):
		return nil, errEntry
	}
	c := &Collection[T]{
		ID: id, DB: db.Str(), Name: name.Str(), Kind: Kind(kind.Str()),
		Options: options.Doc().Clone(), Version: uint64(version.Int64()),
	}
	if v := d.Lookup("idIndex"); !v.IsMissing() {
		id, ok := decodeID(v)
		if !ok {
			return nil, errEntry
		}
		c.IDIndex = NewIDIndex(id)
	}
	_, id16 := uuid.Binary()
	copy(c.UUID[:], id16)
	for it := indexes.Doc().Iter(); it.Next(); {
		ix, err := decodeIndex(it.Value())
		if err != nil {
			return nil, err
		}
		c.Indexes = append(c.Indexes, ix)
	}
	return c, nil
}

func isKind(k Kind) bool { return k == KindCollection || k == KindView || k == KindTimeseries }

// decodeID reads a storage identifier.
func decodeID(v bsonx.Value) (uint32, bool) {
	if v.Type != bsonx.TypeInt64 {
		return 0, false
	}
	n := v.Int64()
	return uint32(n), n > 0 && n <= math.MaxUint32
}

func decodeIndex(v bsonx.Value) (*Index, error) {
	if v.Type != bsonx.TypeDocument {
		return nil, errEntry
	}
	spec, ready := v.Doc().Lookup("spec"), v.Doc().Lookup("ready")
	id, ok := decodeID(v.Doc().Lookup("id"))
	if !ok || spec.Type != bsonx.TypeDocument || ready.Type != bsonx.TypeBool {
		return nil, errEntry
	}
	d := spec.Doc().Clone()
	if d.Lookup("name").Type != bsonx.TypeString || d.Lookup("key").Type != bsonx.TypeDocument {
		return nil, errEntry
	}
	ix := NewIndex(id, d)
	ix.Ready = ready.Bool()
	ix.Enforced = ix.Ready
	ix.Filled = v.Doc().Lookup("filled").Truthy()
	return ix, nil
}

// lastID returns the largest identifier that an entry uses.
func (c *Collection[T]) lastID() uint32 {
	last := c.ID
	if c.IDIndex != nil {
		last = max(last, c.IDIndex.ID)
	}
	for _, ix := range c.Indexes {
		last = max(last, ix.ID)
	}
	return last
}

// load reads all entries and the next identifier.
func (c *Catalog[T]) load() error {
	snap := c.engine.NewSnapshot()
	defer snap.Close()
	if err := c.loadNext(snap); err != nil {
		return err
	}
	return storage.Scan(snap, []byte{keyspace.Catalog, 'c'}, []byte{keyspace.Catalog, 'd'},
		func(key, value []byte) error {
			e, err := decodeEntry[T](value)
			if err != nil {
				return err
			}
			if !bytes.Equal(key, entryKey(e.ID)) || e.lastID() >= c.next {
				return fmt.Errorf("%w: the identifiers of %s", errEntry, e.Namespace())
			}
			if c.attach != nil {
				if e.Attached, err = c.attach(e, nil); err != nil {
					return fmt.Errorf("%s: %w", e.Namespace(), err)
				}
			}
			c.master.Set(itemOf(e))
			return nil
		})
}

func (c *Catalog[T]) loadNext(snap storage.Snapshot) error {
	value, closer, err := snap.Get(nextKey())
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if err := bsonx.Validate(value, bsonx.Limits{}); err != nil {
		return errors.Join(errEntry, err)
	}
	next, ok := decodeID(bsonx.Doc(value).Lookup("next"))
	if !ok {
		return errEntry
	}
	c.next = next
	return nil
}

// Garbage returns the ranges of dropped data that were not deleted yet.
func (c *Catalog[T]) Garbage() ([]Range, error) {
	snap := c.engine.NewSnapshot()
	defer snap.Close()
	var out []Range
	err := storage.Scan(snap, []byte{keyspace.Catalog, 'g'}, []byte{keyspace.Catalog, 'h'},
		func(key, value []byte) error {
			if err := bsonx.Validate(value, bsonx.Limits{}); err != nil {
				return errors.Join(errEntry, err)
			}
			end := bsonx.Doc(value).Lookup("end")
			if end.Type != bsonx.TypeBinary {
				return errEntry
			}
			_, data := end.Binary()
			out = append(out, Range{Start: append([]byte(nil), key[2:]...), End: append([]byte(nil), data...)})
			return nil
		})
	return out, err
}

// Sweep deletes a range that Garbage has returned.
func (c *Catalog[T]) Sweep(r Range) error {
	if err := c.engine.DeleteRange(r.Start, r.End); err != nil {
		return fmt.Errorf("sweep dropped data: %w", err)
	}
	txn := c.engine.Begin()
	defer txn.Rollback()
	if err := txn.Delete(garbageKey(r.Start)); err != nil {
		return err
	}
	return txn.Commit(storage.Buffered)
}
