package schema

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// These functions write the oplog entries for changes of the catalog. Each entry is committed with
// its change.

// errLiveOplog is the error for a change that would break the oplog.
func errLiveOplog(what string) error {
	return mongoerr.New(mongoerr.IllegalOperation, "can't %s live oplog while replicating", what)
}

func logCreate(s *table.Store, ch *table.CatalogChange, e *table.Entry) error {
	if e.Name == catalog.Views {
		return nil
	}
	return s.Log().Command(ch.Txn(), e.DB, &e.UUID, table.CreateEntry(e), nil)
}

// logDrop logs that a collection or view was dropped. It skips a time-series collection, whose
// buckets are logged, and system.views, whose views are logged.
func logDrop(s *table.Store, ch *table.CatalogChange, c *table.Collection) error {
	if c.Kind == catalog.KindTimeseries || c.Name == catalog.Views {
		return nil
	}
	counter, err := s.Count(c)
	if err != nil {
		return err
	}
	return s.Log().Command(ch.Txn(), c.DB, &c.UUID, bsonx.NewDoc("drop", c.Name),
		bsonx.NewDoc("numRecords", counter.Count))
}

// logRename logs that a collection was renamed, and which collection it replaced, if any.
func logRename(s *table.Store, ch *table.CatalogChange, from, to, replaced *table.Entry, stayTemp bool) error {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("renameCollection", from.Namespace())
	b.String("to", to.Namespace())
	b.Bool("stayTemp", stayTemp)
	if replaced != nil {
		b.Value("dropTarget", bsonx.Binary(4, replaced.UUID[:]))
	}
	b.End()
	return s.Log().Command(ch.Txn(), from.DB, &from.UUID, b.Bytes(), nil)
}

// logCreateIndexes logs indexes that have become ready.
func logCreateIndexes(s *table.Store, ch *table.CatalogChange, c *table.Entry, ids []uint32) error {
	var complete []*catalog.Index
	for _, ix := range c.Indexes {
		if slices.Contains(ids, ix.ID) {
			complete = append(complete, ix)
		}
	}
	return logIndexes(s, ch, c, complete)
}

func logIndexes(s *table.Store, ch *table.CatalogChange, c *table.Entry, indexes []*catalog.Index) error {
	for _, ix := range indexes {
		if err := s.Log().Command(ch.Txn(), c.DB, &c.UUID, table.CreateIndexEntry(c, ix), nil); err != nil {
			return err
		}
	}
	return nil
}

// logDropIndex logs that an index was dropped, if it was ready.
func logDropIndex(s *table.Store, ch *table.CatalogChange, c *table.Entry, ix *table.Index) error {
	if !ix.Ready {
		return nil
	}
	return s.Log().Command(ch.Txn(), c.DB, &c.UUID, bsonx.NewDoc("dropIndexes", c.Name, "index", ix.Name), ix.Spec)
}

// logCollMod logs new options, as the fields of a collMod command with the same effect.
func logCollMod(s *table.Store, ch *table.CatalogChange, c *table.Entry, old, options bsonx.Doc) error {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.String("collMod", c.Name)
	for it := options.Iter(); it.Next(); {
		if key := string(it.Key()); !old.Lookup(key).Identical(it.Value()) {
			b.Value(modifier(key), it.Value())
		}
	}
	for it := old.Iter(); it.Next(); {
		if key := string(it.Key()); options.Lookup(key).IsMissing() {
			b.Value(modifier(key), removal(key))
		}
	}
	b.End()
	return s.Log().Command(ch.Txn(), c.DB, &c.UUID, b.Bytes(), bsonx.NewDoc("collectionOptions_old", old))
}

// modifier returns the field of collMod that sets an option.
func modifier(option string) string {
	switch option {
	case "size":
		return "cappedSize"
	case "max":
		return "cappedMax"
	default:
		return option
	}
}

// removal returns the value by which collMod removes an option.
func removal(option string) bsonx.Value {
	switch option {
	case "expireAfterSeconds":
		return bsonx.String("off")
	case "changeStreamPreAndPostImages":
		return bsonx.Document(bsonx.NewDoc("enabled", false))
	case "validator":
		return bsonx.Document(bsonx.Empty)
	default:
		return bsonx.False
	}
}

// logIndexMod logs the options that differ in a new specification of an index.
func logIndexMod(s *table.Store, ch *table.CatalogChange, c *table.Entry, name string, old, spec bsonx.Doc) error {
	index, before := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	index.StartDoc()
	index.String("name", name)
	before.StartDoc()
	for it := spec.Iter(); it.Next(); {
		key := string(it.Key())
		if was := old.Lookup(key); !was.Identical(it.Value()) {
			index.Value(key, it.Value())
			before.Value(key, was)
		}
	}
	for it := old.Iter(); it.Next(); {
		if spec.Lookup(string(it.Key())).IsMissing() {
			index.ValueBytes(it.Key(), bsonx.False)
			before.ValueBytes(it.Key(), it.Value())
		}
	}
	index.End()
	before.End()
	o := bsonx.NewDoc("collMod", c.Name, "index", bsonx.Doc(index.Bytes()))
	return s.Log().Command(ch.Txn(), c.DB, &c.UUID, o, bsonx.NewDoc("indexOptions_old", bsonx.Doc(before.Bytes())))
}
