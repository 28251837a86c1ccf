package table

import (
	"context"
	"errors"
	"sync"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// Writer changes records of one collection, and their index entries, in one storage transaction.
// Only one goroutine may use it. Commit is optional; Close must be called in any case. After an
// error only Close may be called.
type Writer struct {
	store *Store
	coll  *Collection
	txn   storage.Txn
	delta storage.Counter
	// multi is the multi-document transaction that the changes belong to. It is nil if the Writer
	// has a storage transaction of its own.
	multi *Txn
	// replays says that the Writer repeats changes that were committed before. Unique indexes are
	// not checked then.
	replays bool

	// arrived is true after a record was added to a capped collection.
	arrived bool
	// evictFrom is the sequence at which the search for records to evict begins. It is 0 before the
	// first search.
	evictFrom int64
	evictIter storage.Iterator
	oldKey    []byte
	oldDoc    bsonx.Doc

	log writerLog

	keys, oldKeys index.Keys
	// record, entry and bound are buffers for keys.
	record, entry, bound []byte
	id                   idBits

	// running is the current operation.
	running interrupt.Running
	// work counts the work since the last check whether the operation has ended.
	work interrupt.Meter

	held memory.Holding // memory of the Writer's own transaction; multi accounts for its own
}

// maxKeptDoc is the size in bytes of the largest document buffer that a Writer keeps for its next
// use.
const maxKeptDoc = 64 << 10

// maxKeptKeys is the size in bytes of the largest list of index keys that a Writer keeps for its
// next use.
const maxKeptKeys = 1 << 20

var writers = sync.Pool{New: func() any { return new(Writer) }}

// ErrDropped means that a collection was dropped or renamed since it was looked up.
var ErrDropped = errors.New("collection was dropped or renamed")

// BeginWrite starts a transaction on a collection. If the collection has changed since it was
// looked up, the writer works on its newest version; see Writer.Collection. BeginWrite fails with
// ErrDropped if the collection was dropped or renamed: a write to the old name must not appear
// under the new name.
func (s *Store) BeginWrite(c *Collection) (*Writer, error) {
	c.shared.gate.RLock()
	current := c.shared.current.Load()
	if current == nil || current.Name != c.Name || current.DB != c.DB {
		c.shared.gate.RUnlock()
		return nil, ErrDropped
	}
	if s.IsLive(current) {
		c.shared.gate.RUnlock()
		return nil, mongoerr.New(mongoerr.InvalidNamespace, "cannot write to %s", current.Namespace())
	}
	w := newWriter(s, current, s.engine.Begin(), nil)
	w.beginLog()
	return w, nil
}

// newWriter returns a writer that does not log yet. The caller must close it. multi is nil if the
// writer has a storage transaction of its own.
func newWriter(s *Store, c *Collection, txn storage.Txn, multi *Txn) *Writer {
	w := writers.Get().(*Writer)
	w.store, w.coll, w.txn, w.multi, w.delta = s, c, txn, multi, storage.Counter{}
	w.arrived, w.evictFrom = false, 0
	w.held = s.memory.Hold()
	w.keys.Serve(&w.running)
	w.oldKeys.Serve(&w.running)
	return w
}

// Collection returns the version of the collection that the writer maintains.
func (w *Writer) Collection() *Collection { return w.coll }

// Close ends the writer and undoes all changes that were not committed.
func (w *Writer) Close() {
	_ = w.closeEvict() // Commit has already reported the error
	if w.multi == nil {
		w.txn.Rollback()
		w.coll.shared.gate.RUnlock()
		w.store.Interleaved()
	}
	w.endLog()
	if cap(w.oldDoc) > maxKeptDoc {
		w.oldDoc = nil
	}
	dropLarge(&w.keys)
	dropLarge(&w.oldKeys)
	w.held.Release()
	w.running = interrupt.Running{}
	w.store, w.coll, w.txn, w.multi, w.replays = nil, nil, nil, nil, false
	writers.Put(w)
}

func dropLarge(keys *index.Keys) {
	if keys.Size() > maxKeptKeys {
		*keys = index.Keys{}
	}
}

// hold reserves server memory for the transaction and for more bytes in addition. It fails if the
// server's memory budget is exhausted.
func (w *Writer) hold(more int) error {
	if w.multi != nil {
		return w.multi.hold(more)
	}
	return w.held.Hold(w.txn.Memory() + int64(more))
}

// entryBytes estimates the memory of an entry in a transaction without its key, in bytes.
const entryBytes = 128

// holdKeys reserves memory for the index keys, and for the entries that will be made of them.
func (w *Writer) holdKeys() error {
	n := w.keys.Size() + w.oldKeys.Size()
	if n < memory.Step {
		return nil
	}
	return w.hold(2*n + entryBytes*(w.keys.Len()+w.oldKeys.Len()))
}

// Commit makes the changes visible. The changes of a Txn become visible with the commit of the Txn.
func (w *Writer) Commit(d storage.Durability) error {
	if w.multi != nil {
		return w.multi.keep(w)
	}
	if w.txn.Len() == 0 {
		return nil
	}
	if w.delta != (storage.Counter{}) {
		if err := w.txn.Add(w.coll.shared.counter, w.delta); err != nil {
			return err
		}
	}
	if w.log.grown.Count > 0 {
		if err := w.store.log.Count(w.txn, w.log.grown); err != nil {
			return err
		}
	}
	if err := w.closeEvict(); err != nil {
		return err
	}
	if w.log.grown.Count == 0 {
		return w.commit(d)
	}
	w.coll.activity.Begin()
	err := w.commit(d)
	w.coll.activity.End(w.txn.Stamp())
	w.store.log.Grown()
	return err
}

func (w *Writer) commit(d storage.Durability) error {
	err := w.txn.Commit(d)
	if w.arrived {
		w.coll.shared.capped.arrivals.Announce()
	}
	return err
}

// Stamp returns the stamp that Commit has assigned to the changes in the oplog, or 0.
func (w *Writer) Stamp() storage.Stamp { return w.txn.Stamp() }

// Remember writes a key and a value of the caller, outside of the collection. They become visible
// together with the changes.
func (w *Writer) Remember(key, value []byte) error { return w.txn.Put(key, value) }

// Len returns the number of storage keys that the transaction changes.
func (w *Writer) Len() int { return w.txn.Len() }

// Bytes returns the size of the transaction's changes.
func (w *Writer) Bytes() int { return w.txn.Bytes() }

// Insert adds a document, which must have an _id. It fails with error 11000 for a duplicate key.
func (w *Writer) Insert(ctx context.Context, doc bsonx.Doc) error {
	w.running.Set(ctx)
	if w.coll.Capped != nil {
		return w.insertCapped(ctx, doc)
	}
	id := doc.Lookup("_id")
	var err error
	if w.record, err = w.coll.RecordKeyFor(w.record[:0], id, &w.running); err != nil {
		return err
	}
	key := w.record
	if err := w.txn.Lock(ctx, key); err != nil {
		return err
	}
	exists, err := w.txn.Has(key)
	if err != nil {
		return err
	}
	if exists {
		return duplicateID(w.coll, id, &w.running)
	}
	recordID := key[keyspace.PrefixLen:]
	if err := w.coll.setIDValue(&w.id, id, &w.running); err != nil {
		return err
	}
	for _, ix := range w.coll.maintained {
		if err := w.insertEntries(ctx, ix, doc, recordID); err != nil {
			return err
		}
	}
	w.delta.Count++
	w.delta.Bytes += int64(len(doc))
	if err := w.hold(2 * len(doc)); err != nil { // the document and its oplog entry
		return err
	}
	if err := w.txn.Put(key, doc); err != nil {
		return err
	}
	return w.logInsert(id, doc)
}

// Lock takes the lock of a record and returns its newest version in dst. It returns nil if the
// record does not exist any more.
func (w *Writer) Lock(ctx context.Context, recordKey, dst []byte) (bsonx.Doc, error) {
	w.running.Set(ctx)
	if err := w.txn.Lock(ctx, recordKey); err != nil {
		return nil, err
	}
	value, closer, err := w.txn.Get(recordKey)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dst = append(dst[:0], value...)
	return dst, closer.Close()
}

// LastBefore returns a copy of the last record whose key is in [lower, upper), or nil if there is
// no such record.
func (w *Writer) LastBefore(lower, upper []byte) (bsonx.Doc, error) {
	it, err := w.txn.NewIter(lower, upper)
	if err != nil {
		return nil, err
	}
	defer it.Close()
	if !it.Last() {
		return nil, it.Err()
	}
	value, err := it.Value()
	return bsonx.Doc(value).Clone(), err
}

// Change tells how an update computes the new version of a document, which decides how the change
// is logged.
type Change int

const (
	// Modification is an update by operators, such as $set.
	Modification Change = iota
	// Rewriting is an update by a pipeline, which computes the new version from the old one.
	Rewriting
	// Replacement replaces the whole document.
	Replacement
)

// Update replaces a record that the writer has locked. Both versions have the same _id.
func (w *Writer) Update(ctx context.Context, recordKey []byte, old, doc bsonx.Doc, how Change) error {
	return w.UpdateWithin(ctx, recordKey, old, doc, how, nil)
}

// UpdateWithin is like Update if the versions differ only within scope. A nil scope means the whole
// document. Indexes that do not depend on scope are skipped.
func (w *Writer) UpdateWithin(ctx context.Context, recordKey []byte, old, doc bsonx.Doc,
	how Change, scope Scope,
) error {
	w.running.Set(ctx)
	recordID := recordKey[keyspace.PrefixLen:]
	if err := w.setID(doc); err != nil {
		return err
	}
	for _, ix := range w.coll.maintained {
		if !ix.dependsOn(scope) {
			continue
		}
		if err := w.updateEntries(ctx, ix, recordID, old, doc); err != nil {
			return err
		}
	}
	w.delta.Bytes += int64(len(doc) - len(old))
	if err := w.hold(2 * len(doc)); err != nil {
		return err
	}
	if err := w.txn.Put(recordKey, doc); err != nil {
		return err
	}
	if err := w.work.Did(len(doc), &w.running); err != nil { // comparing large documents takes long
		return err
	}
	return w.logUpdate(old, doc, how)
}

// Delete removes a record that the writer has locked. old is its document.
func (w *Writer) Delete(recordKey []byte, old bsonx.Doc) error {
	if err := w.remove(recordKey, old); err != nil {
		return err
	}
	return w.logDelete(old)
}

// remove is like Delete, but does not log the deletion.
func (w *Writer) remove(recordKey []byte, old bsonx.Doc) error {
	recordID := recordKey[keyspace.PrefixLen:]
	for _, ix := range w.coll.maintained {
		if err := ix.generate(old, &w.oldKeys); err != nil {
			return err
		}
		for i := range w.oldKeys.Len() {
			if err := w.did(w.oldKeys.Key(i)); err != nil {
				return err
			}
			if err := w.txn.Delete(w.entryKey(ix, w.oldKeys.Key(i), recordID)); err != nil {
				return err
			}
		}
	}
	w.delta.Count--
	w.delta.Bytes -= int64(len(old))
	return w.txn.Delete(recordKey)
}

// setID prepares the values of the index entries of a document's record.
func (w *Writer) setID(doc bsonx.Doc) error { return w.coll.setID(&w.id, doc, &w.running) }

// generate sets keys to the keys that doc has in the index.
func (ix *Index) generate(doc bsonx.Doc, keys *index.Keys) error {
	keys.Reset()
	if err := keys.Read(len(doc)); err != nil {
		return err
	}
	if len(ix.measured) > 0 {
		if err := timeseries.CheckIndexed(doc, ix.measured); err != nil {
			return err
		}
	}
	covered, err := ix.covers(doc)
	if err != nil || !covered {
		return err
	}
	return ix.keygen.Generate(doc, keys)
}
