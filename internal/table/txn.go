package table

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Txn is a multi-document transaction over the collections of a Store. It reads the collections and
// the catalog in the state of its beginning, with its own changes. Its reads and writes never wait
// for another transaction: if another one has changed a key since, or holds its lock, they fail
// with storage.ErrConflict. Only one goroutine at a time may use a Txn. It ends with Commit or
// Abort. After an error it can only be aborted.
//
// A Txn holds no gates, so others may change the catalog meanwhile. Commit takes the gates of the
// collections that the transaction has written, and may wait a moment for each; see gateTries. It
// fails with storage.ErrConflict if it does not get a gate, or if a collection has changed so that
// the writes are not valid any more; see writesAs.
type Txn struct {
	fixed
	store *Store
	txn   storage.Txn
	view  CatalogView
	limit int
	log   changelog.Transaction

	// written has the versions of the collections that the transaction has written, by identifier.
	written map[uint32]*Collection
	// created has the collections that the transaction has created, by namespace.
	created map[string]*Collection

	held memory.Holding
}

// TxnOptions configure a transaction.
type TxnOptions struct {
	// Limit is the largest total size of the changes, in bytes; 0 means no limit.
	Limit int
	// By identifies the transaction in the oplog; it may be nil.
	By *oplog.Writer
}

// BeginTxn starts a transaction.
func (s *Store) BeginTxn(opts TxnOptions) *Txn {
	txn, view := steady(s, s.engine.BeginSnapshot, storage.Txn.Rollback)
	return &Txn{
		store: s, txn: txn, view: view, limit: opts.Limit,
		log: changelog.Transaction{By: opts.By}, held: s.memory.Hold(),
	}
}

// Get implements View.
func (t *Txn) Get(key []byte) (value []byte, closer io.Closer, err error) { return t.txn.Get(key) }

// Pin implements View. Only the transaction's goroutine may use the result.
func (t *Txn) Pin() Pinned { return Pinned{Reader: t.txn} }

// Lookup implements View.
func (t *Txn) Lookup(db, name string) (*Collection, error) {
	if len(t.created) > 0 {
		if c := t.created[db+"."+name]; c != nil {
			return c, nil
		}
	}
	return lookupIn(t.store, t.view, db, name)
}

// Ensure returns a collection. It creates the collection if it does not exist.
func (t *Txn) Ensure(db, name string) (*Collection, error) {
	c, err := t.Lookup(db, name)
	if err != nil || c != nil {
		return c, err
	}
	return t.Create(db, name, bsonx.Empty)
}

// Create creates a collection, which others see after the commit. It fails with NamespaceExists if
// the name is taken, and with storage.ErrConflict if another client took it meanwhile.
func (t *Txn) Create(db, name string, options bsonx.Doc) (*Collection, error) {
	if err := t.store.CheckNew(db, name); err != nil {
		return nil, err
	}
	old, err := t.Lookup(db, name)
	switch {
	case err != nil:
		return nil, err
	case old != nil:
		return nil, mongoerr.New(mongoerr.NamespaceExists, "Collection %s.%s already exists.", db, name)
	case t.store.Lookup(db, name) != nil:
		return nil, storage.ErrConflict
	}
	if err := t.store.catalog.CheckNewDatabase(db); err != nil {
		return nil, err
	}
	c, err := t.attach(NewEntry(t.store.catalog.NewID, db, name, catalog.KindCollection, options), nil)
	if err == nil && t.store.log.Covers(c.DB) {
		t.log.Add(&oplog.Operation{
			Kind: oplog.Command, Namespace: db + ".$cmd", UUID: &c.UUID, O: CreateEntry(c.Collection),
		})
	}
	return c, err
}

// attach compiles an entry as the newest version of a collection that this transaction has created.
func (t *Txn) attach(entry, old *Entry) (*Collection, error) {
	c, err := t.store.attach.collection(entry, old)
	if err != nil {
		return nil, err
	}
	entry.Attached = c
	c.shared.current.Store(c)
	if t.created == nil {
		t.created = make(map[string]*Collection)
	}
	t.created[c.Namespace()] = c
	return c, nil
}

// isOwn reports whether this transaction has created the collection.
func (t *Txn) isOwn(c *Collection) bool { return len(t.created) > 0 && t.created[c.Namespace()] == c }

// CreateIndexes creates indexes on an empty collection that this transaction has created. It fails
// for any other collection.
func (t *Txn) CreateIndexes(c *Collection, specs []bsonx.Doc) error {
	if !t.isOwn(c) {
		return errIndexesOnExisting(c)
	}
	if empty, err := t.isEmpty(c); err != nil || !empty {
		return cmp.Or(err, error(mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Cannot create new indexes on non-empty collection %s in a multi-document transaction.", c.Namespace())))
	}
	entry := *c.Collection
	entry.Indexes = slices.Clone(entry.Indexes)
	for _, spec := range specs {
		ix := catalog.NewIndex(t.store.catalog.NewID(), spec.Clone())
		MarkReady(ix)
		entry.Indexes = append(entry.Indexes, ix)
	}
	changed, err := t.attach(&entry, c.Collection)
	if err != nil || !t.store.log.Covers(c.DB) {
		return err
	}
	for _, ix := range changed.Indexes[len(c.Indexes):] {
		t.log.Add(&oplog.Operation{
			Kind: oplog.Command, Namespace: c.DB + ".$cmd", UUID: &c.UUID, O: CreateIndexEntry(c.Collection, ix.Index),
		})
	}
	return nil
}

func errIndexesOnExisting(c *Collection) error {
	return mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
		"Cannot create new indexes on existing collection %s in a multi-document transaction.", c.Namespace())
}

func (t *Txn) isEmpty(c *Collection) (bool, error) {
	prefix := c.RecordPrefix()
	it, err := t.txn.NewIter(prefix, keyspace.PrefixEnd(prefix))
	if err != nil {
		return false, err
	}
	empty := !it.First()
	return empty, errors.Join(it.Err(), it.Close())
}

// BeginWrite returns a writer of a collection that Lookup or Create has returned. The writer's
// Commit only adds its changes to the transaction and checks the transaction's size.
func (t *Txn) BeginWrite(c *Collection) (*Writer, error) {
	if c.Capped != nil {
		return nil, mongoerr.New(mongoerr.OperationNotSupportedInTransaction,
			"Collection '%s' is a capped collection. Writes in transactions are not allowed on capped collections.", c.Namespace())
	}
	if !c.writesAs(c.shared.current.Load()) {
		return nil, storage.ErrConflict
	}
	w := newWriter(t.store, c, t.txn, t)
	w.beginLog()
	return w, nil
}

// keep adds the changes of a writer to the transaction. It fails if the transaction is too large.
func (t *Txn) keep(w *Writer) error {
	if w.delta != (storage.Counter{}) {
		if err := t.txn.Add(w.coll.shared.counter, w.delta); err != nil {
			return err
		}
	}
	if t.limit > 0 && t.Bytes() > t.limit {
		return mongoerr.New(mongoerr.TransactionTooLarge, "Total size of all transaction operations must be less than server parameter "+
			"'transactionSizeLimitBytes' = %d", t.limit)
	}
	if t.written == nil {
		t.written = make(map[uint32]*Collection)
	}
	t.written[w.coll.ID] = w.coll
	return nil
}

// hold reserves server memory for the transaction and for more bytes in addition. It fails if the
// server's memory budget is exhausted.
func (t *Txn) hold(more int) error { return t.held.Hold(t.memory() + int64(more)) }

// memory returns the memory that the transaction takes in bytes: its changes and its operations for
// the oplog.
func (t *Txn) memory() int64 { return t.txn.Memory() + t.log.Memory() }

// Bytes returns the size of the transaction's changes, including their oplog entries.
func (t *Txn) Bytes() int { return t.txn.Bytes() + t.log.Size() }

// Remember is like Writer.Remember for the transaction as a whole. It does nothing if the
// transaction has not changed anything.
func (t *Txn) Remember(key, value []byte) error {
	if t.txn.Len() == 0 {
		return nil
	}
	return t.txn.Put(key, value)
}

// Stamp returns the last stamp that Commit has assigned, or 0.
func (t *Txn) Stamp() storage.Stamp { return t.txn.Stamp() }

// growMultikey is like Index.growMultikey for an index of a collection that this transaction has
// created. The paths become durable with the transaction.
func (t *Txn) growMultikey(ix *Index, keys *index.Keys) error {
	ix.multikey.mu.Lock()
	defer ix.multikey.mu.Unlock()
	grown, err := ix.putGrown(t.txn, keys)
	if err == nil {
		ix.multikey.publish(grown)
	}
	return err
}

// Abort ends the transaction and undoes its changes. After a Commit it does nothing.
func (t *Txn) Abort() {
	t.txn.Rollback()
	t.held.Release()
}

// Commit makes the changes visible together, and ends the transaction. On an error nothing was
// changed, except that after storage.ErrFailed only reopening the store shows whether the commit
// took effect.
func (t *Txn) Commit(durability storage.Durability) error {
	defer t.held.Release()
	defer t.txn.Rollback()
	if t.txn.Len() == 0 && len(t.created) == 0 {
		return nil
	}
	t.store.Interleaved()
	unlock, err := t.lockGates()
	if err != nil {
		return err
	}
	defer unlock()
	// A commit is never refused for lack of memory, because it frees memory. Its oplog entries take
	// the memory of the operations once more.
	t.held.Force(t.memory() + 2*int64(t.log.Size()))
	if err := t.log.Put(t.store.log, t.txn); err != nil {
		return err
	}
	for _, c := range t.written {
		c.activity.Begin()
	}
	if len(t.created) == 0 {
		err = t.txn.Commit(durability)
	} else {
		err = t.store.define(func(fn func(*CatalogChange) error) error {
			return t.store.catalog.Join(t.txn, durability, fn)
		}, t.publish)
	}
	for _, c := range t.written {
		c.activity.End(t.txn.Stamp())
	}
	if t.log.Size() > 0 {
		t.store.log.Grown()
	}
	return err
}

// publish adds the collections that the transaction has created to the catalog.
func (t *Txn) publish(ch *CatalogChange) error {
	for _, c := range t.created {
		if ch.Lookup(c.DB, c.Name) != nil {
			return storage.ErrConflict
		}
		if err := t.store.catalog.CheckNewDatabase(c.DB); err != nil {
			return err
		}
		ch.PutAttached(c.Collection)
	}
	return nil
}

// A commit tries to take a gate gateTries times, with a pause of gatePause between the attempts. A
// change of the catalog holds the gate only briefly. But it may wait for a writer that waits for a
// lock of this transaction.
const (
	gateTries = 50
	gatePause = time.Millisecond
)

// lockGates takes the gates of the written collections, which blocks changes of the catalog. It
// fails with storage.ErrConflict if a gate cannot be taken, or if writes to a collection are not
// valid any more.
func (t *Txn) lockGates() (unlock func(), err error) {
	var held []*Collection
	unlock = func() {
		for _, c := range held {
			c.shared.gate.RUnlock()
		}
	}
	written := make([]*Collection, 0, len(t.written))
	for _, c := range t.written {
		written = append(written, c)
	}
	for _, c := range ByID(written) {
		if !c.shared.lockShared(t.store.clock) {
			unlock()
			return nil, storage.ErrConflict
		}
		held = append(held, c)
		if !c.writesAs(c.shared.current.Load()) {
			unlock()
			return nil, storage.ErrConflict
		}
	}
	return unlock, nil
}

// writesAs reports whether a write prepared for version c is valid for version d. It is valid if
// the versions differ at most in the state of indexes that are being built.
func (c *Collection) writesAs(d *Collection) bool {
	if c == d {
		return true
	}
	return d != nil && c.DB == d.DB && c.Name == d.Name && bytes.Equal(c.Options, d.Options) &&
		slices.EqualFunc(c.maintained, d.maintained, func(a, b *Index) bool {
			return a.ID == b.ID && bytes.Equal(a.Spec, b.Spec) && a.refusesDuplicates() == b.refusesDuplicates()
		})
}

// lockShared takes the gate shared. It returns false if a change of the catalog holds or requests
// the gate for too long.
func (s *shared) lockShared(c clock.Clock) bool {
	for range gateTries {
		if s.gate.TryRLock() {
			return true
		}
		_ = clock.Sleep(context.Background(), c, gatePause) // the pause cannot be interrupted
	}
	return false
}
