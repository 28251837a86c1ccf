package table

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Define runs a change of the catalog that does not affect an existing collection. It wakes the
// change streams of the databases whose collections changed.
func (s *Store) Define(fn func(*CatalogChange) error) error { return s.define(s.catalog.Update, fn) }

// define runs fn with update, which is either Update or Join of the catalog.
func (s *Store) define(update func(func(*CatalogChange) error) error, fn func(*CatalogChange) error) error {
	return s.activities.Change(func(dbs map[string]bool) error {
		return update(func(ch *CatalogChange) error {
			if err := fn(ch); err != nil {
				return err
			}
			for _, c := range slices.Concat(ch.Added(), ch.Removed()) {
				dbs[""], dbs[c.DB] = true, true
			}
			return nil
		})
	})
}

// MarkReady marks an index as complete.
func MarkReady(ix *catalog.Index) { ix.Ready, ix.Enforced, ix.Filled = true, true, true }

// NewEntry returns the catalog entry of a new collection or view, with a new identifier and UUID.
func NewEntry(newID func() uint32, db, name string, kind catalog.Kind, options bsonx.Doc) *Entry {
	if options == nil {
		options = bsonx.Empty
	}
	entry := &Entry{ID: newID(), DB: db, Name: name, UUID: NewUUID(), Kind: kind, Options: options.Clone()}
	if kind == catalog.KindCollection && IsCapped(options) {
		entry.IDIndex = catalog.NewIDIndex(newID())
	}
	return entry
}

// NewUUID returns a random UUID (version 4).
func NewUUID() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0F | 0x40
	id[8] = id[8]&0x3F | 0x80
	return id
}

// CreateEntry returns the oplog entry for a new collection.
func CreateEntry(e *Entry) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("create", e.Name)
	b.Fields(e.Options)
	if e.Kind == catalog.KindCollection && !e.Options.Lookup("clusteredIndex").
		Truthy() && e.Options.Lookup("idIndex").IsMissing() {
		b.Doc("idIndex", bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", "_id_"))
	}
	b.End()
	return b.Bytes()
}

// CreateIndexEntry returns the oplog entry for an index that has become ready.
func CreateIndexEntry(c *Entry, ix *catalog.Index) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("createIndexes", c.Name)
	b.Fields(ix.Spec)
	b.End()
	return b.Bytes()
}

// ErrChanged means that the caller's version of a collection is outdated: another client changed,
// renamed or dropped the collection. Nothing was done. The caller looks the name up again.
var ErrChanged = errors.New("the collection was changed, renamed or dropped")

// Unchanged fails with ErrChanged unless c is the newest version. A change of the catalog calls it
// while it holds the collection's gate, so that everything its caller decided about c still holds
// when the change commits.
func (c *Collection) Unchanged() error {
	switch newest := c.shared.current.Load(); {
	case newest == c:
		return nil
	case newest == nil || newest.Namespace() != c.Namespace():
		return fmt.Errorf("%w: %w",
			mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", c.Namespace()), ErrChanged)
	default:
		return ErrChanged
	}
}

// RebuildPrefix is the prefix of the names of indexes that will replace others. It has a NUL, so
// clients cannot choose such a name. Collection.Indexes leaves these indexes out, so clients do not
// see them.
const RebuildPrefix = "\x00rebuild."

// IsRebuild reports whether an index with this name will replace another index.
func IsRebuild(name string) bool { return strings.HasPrefix(name, RebuildPrefix) }

// Change runs a change of the catalog that affects existing collections. It blocks their writers
// until the change is durable and published.
func (s *Store) Change(colls []*Collection, fn func(*CatalogChange) error) error {
	s.Interleaved()
	for _, c := range ByID(colls) {
		defer c.KeepOut()()
	}
	return s.ChangeHeld(fn)
}

// KeepOut waits until the current writers of a collection have ended, and blocks new ones until
// letIn is called. A caller that needs several collections takes them in the order of ByID.
func (c *Collection) KeepOut() (letIn func()) {
	c.shared.gate.Lock()
	return c.shared.gate.Unlock
}

// ChangeHeld is like Change for a caller that has already blocked the writers of the collections.
func (s *Store) ChangeHeld(fn func(*CatalogChange) error) error {
	var done *CatalogChange
	err := s.Define(func(ch *CatalogChange) error {
		done = ch
		return fn(ch)
	})
	if err != nil {
		return err
	}
	for _, e := range done.Removed() {
		if !slices.ContainsFunc(done.Added(), func(a *Entry) bool { return a.ID == e.ID }) {
			e.Attached.shared.publish(nil)
		}
	}
	for _, e := range done.Added() {
		c := e.Attached
		c.shared.publish(c)
	}
	for _, e := range done.Removed() {
		if c := e.Attached; c.Capped != nil {
			c.shared.capped.arrivals.Announce() // waiters notice that the collection is gone
		}
	}
	return nil
}

// ByID returns the collections ordered by identifier, which is the order for taking their gates.
func ByID(colls []*Collection) []*Collection {
	return slices.SortedFunc(slices.Values(colls), func(a, b *Collection) int { return cmp.Compare(a.ID, b.ID) })
}
