package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/timeseries"
)

// A database with views has a collection system.views with a document for each view. Clients may
// read it, but the catalog is authoritative. Only changes of the catalog write it. Two such changes
// never run at the same time.

// mirrored returns a change of the catalog that runs fn and then updates system.views. Every change
// of views and collections goes through it.
func mirrored(fn func(*table.CatalogChange) error) func(*table.CatalogChange) error {
	return func(ch *table.CatalogChange) error {
		if err := fn(ch); err != nil {
			return err
		}
		return mirrorViews(ch)
	}
}

// mirrorViews updates the collections system.views after a change of the catalog.
func mirrorViews(ch *table.CatalogChange) error {
	m := viewMirror{ch: ch, made: map[string]*table.Entry{}, removed: map[uint32]bool{}}
	for _, e := range ch.Removed() {
		m.removed[e.ID] = true
	}
	for _, e := range ch.Removed() {
		if e.Kind != catalog.KindCollection {
			if err := m.remove(e); err != nil {
				return fmt.Errorf("%s.%s: %w", e.DB, catalog.Views, err)
			}
		}
	}
	for _, e := range ch.Added()[:len(ch.Added()):len(ch.Added())] { // put appends to this list
		if e.Kind != catalog.KindCollection {
			if err := m.put(e); err != nil {
				return fmt.Errorf("%s.%s: %w", e.DB, catalog.Views, err)
			}
		}
	}
	return nil
}

// viewMirror holds a change and the collections system.views that it creates.
type viewMirror struct {
	ch   *table.CatalogChange
	made map[string]*table.Entry
	// removed has the identifiers of the removed entries.
	removed map[uint32]bool
}

// collection returns the system.views of a database after the change, or nil if there will be no
// such collection.
func (m *viewMirror) collection(db string) *table.Entry {
	if made := m.made[db]; made != nil {
		return made
	}
	e := m.ch.Lookup(db, catalog.Views)
	if e != nil && m.removed[e.ID] {
		return nil
	}
	return e
}

func (m *viewMirror) remove(view *table.Entry) error {
	c := m.collection(view.DB)
	if c == nil {
		return nil
	}
	key := viewKey(c, view)
	old, err := m.stored(key)
	if err != nil || old == 0 {
		return err
	}
	if err := m.ch.Txn().Delete(key); err != nil {
		return err
	}
	return m.count(c, storage.Counter{Count: -1, Bytes: -old})
}

func (m *viewMirror) put(view *table.Entry) error {
	c := m.collection(view.DB)
	if c == nil {
		return m.make(view)
	}
	return m.set(c, view)
}

// make creates the system.views of a database. It adds a document for view, and documents for
// existing views that have none.
func (m *viewMirror) make(view *table.Entry) error {
	c := table.NewEntry(m.ch.NewID, view.DB, catalog.Views, catalog.KindCollection, nil)
	m.ch.Put(c)
	m.made[view.DB] = c
	changed := slices.Concat(m.ch.Added(), m.ch.Removed())
	for _, e := range m.ch.Collections(view.DB) {
		isChanged := slices.ContainsFunc(changed, func(c *table.Entry) bool { return c.ID == e.ID })
		if e.Kind == catalog.KindCollection || isChanged {
			continue
		}
		if err := m.set(c, e); err != nil {
			return err
		}
	}
	return m.set(c, view)
}

// set stores the document of a view.
func (m *viewMirror) set(c, view *table.Entry) error {
	key, doc := viewKey(c, view), viewDocument(view)
	old, err := m.stored(key)
	if err != nil {
		return err
	}
	if err := m.ch.Txn().Put(key, doc); err != nil {
		return err
	}
	delta := storage.Counter{Bytes: int64(len(doc)) - old}
	if old == 0 {
		delta.Count = 1
	}
	return m.count(c, delta)
}

// stored returns the size of a record in bytes, or 0 if it does not exist.
func (m *viewMirror) stored(key []byte) (int64, error) {
	value, closer, err := m.ch.Txn().Get(key)
	if errors.Is(err, storage.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return int64(len(value)), closer.Close()
}

func (m *viewMirror) count(c *table.Entry, delta storage.Counter) error {
	return m.ch.Txn().Add(keyspace.Prefix(keyspace.Counters, c.ID), delta)
}

// viewKey returns the key of a view's record in system.views.
func viewKey(c, view *table.Entry) []byte {
	return keystring.Append(keyspace.Prefix(keyspace.Records, c.ID), bsonx.String(view.Namespace()), false)
}

// viewDocument returns the document of a view or of a time-series collection in system.views.
func viewDocument(view *table.Entry) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("_id", view.Namespace())
	if o := timeseries.FromOptions(view.Options); o != nil && view.Kind == catalog.KindTimeseries {
		unpack := bsonx.NewDoc("timeField", o.Time)
		if o.Meta != "" {
			unpack = unpack.With("metaField", bsonx.String(o.Meta))
		}
		unpack = unpack.With("bucketMaxSpanSeconds", bsonx.Int32(int32(o.Span)))
		b.String("viewOn", timeseries.BucketsName(view.Name))
		b.Value("pipeline", bsonx.ValueOf([]bsonx.Doc{bsonx.NewDoc("$_internalUnpackBucket", unpack)}))
	} else {
		b.Value("viewOn", view.Options.Lookup("viewOn"))
		pipeline := view.Options.Lookup("pipeline")
		if pipeline.IsMissing() {
			pipeline = bsonx.NewArray()
		}
		b.Value("pipeline", pipeline)
	}
	if co := view.Options.Lookup("collation"); !co.IsMissing() {
		b.Value("collation", co)
	}
	b.End()
	return b.Bytes()
}

// DropViews drops the collection system.views and all views of its database, including views that
// are created while it waits for writers. It fails with ErrChanged if c was dropped meanwhile.
func DropViews(s *table.Store, c *table.Collection) error {
	return table.RetryOn(errTargetChanged, func() error { return dropViews(s, c) })
}

// dropViews is DropViews for the existing views. It fails with errTargetChanged if the database has
// further views when the change commits.
func dropViews(s *table.Store, c *table.Collection) error {
	colls := []*table.Collection{c}
	listed := map[uint32]bool{c.ID: true}
	for _, e := range s.Catalog().Collections(c.DB) {
		if e.Kind == catalog.KindView {
			colls = append(colls, e.Attached)
			listed[e.ID] = true
		}
	}
	check := func(newest *table.Collection) error {
		if newest == nil || newest.DB != c.DB {
			return errSkip // dropped meanwhile
		}
		return nil
	}
	return dropAll(s, colls, check, func(*table.CatalogChange) error {
		for _, e := range s.Catalog().Collections(c.DB) {
			switch {
			case e.Kind == catalog.KindTimeseries:
				return mongoerr.New(mongoerr.IllegalOperation, "Cannot drop collection %s.%s when time-series collections are present in the database", c.DB, catalog.Views)
			case e.Kind == catalog.KindView && !listed[e.ID]:
				return errTargetChanged
			}
		}
		if s.Current(c) == nil {
			return fmt.Errorf("%w: %w", mongoerr.New(mongoerr.NamespaceNotFound, "ns not found"), table.ErrChanged)
		}
		return nil
	})
}

// completeViews adds the missing documents of views that an older version of the server has
// created. On a full disk, the first change of a view adds them later.
func completeViews(s *table.Store) error {
	var views []*table.Entry
	for _, e := range s.Catalog().All() {
		if e.Kind != catalog.KindCollection && s.Catalog().Lookup(e.DB, catalog.Views) == nil {
			views = append(views, e)
		}
	}
	if len(views) == 0 {
		return nil
	}
	return s.Catalog().Update(func(ch *table.CatalogChange) error {
		m := viewMirror{ch: ch, made: map[string]*table.Entry{}}
		for _, e := range views {
			if err := m.put(e); err != nil {
				return err
			}
		}
		return nil
	})
}
