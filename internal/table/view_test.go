package table_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// TestViews inserts a document and drops the collection. The newest state must show both changes,
// and the fixed Views must show neither.
func TestViews(t *testing.T) {
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	schematest.NoError(t, s.AddVirtual("d", "virtual", bsonx.Empty))
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 1)))
	schematest.NoError(t, s.History().Take()) // otherwise the Past would have to recreate the collection

	txn, snap := s.BeginTxn(table.TxnOptions{}), s.Snapshot()
	defer txn.Abort()
	defer snap.Close()
	past, err := s.BeginPast(t.Context(), s.Engine().Order().Visible(), pastLimit)
	schematest.NoError(t, err)
	defer past.Abort()
	views := map[string]table.View{"newest": s.Newest(), "txn": txn, "snapshot": snap, "past": past}

	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 2)))
	for name, view := range views {
		newest := name == "newest"
		if found, err := view.Lookup("d", "c"); err != nil || found != c || view.Current(c) != c {
			t.Errorf("%s: the collection is %v, %v", name, found, err)
		}
		if found, err := view.Lookup("d", "virtual"); err != nil || found == nil {
			t.Errorf("%s: the virtual collection is %v, %v", name, found, err)
		}
		if !has(view, c, 1) || has(view, c, 2) != newest {
			t.Errorf("%s: 1 is there: %v, 2: %v", name, has(view, c, 1), has(view, c, 2))
		}
		pinned := view.Pin()
		if (pinned.Own != nil) != newest {
			t.Errorf("%s: it takes a snapshot: %v", name, pinned.Own != nil)
		}
		schematest.NoError(t, pinned.Close())
		if counter := view.Counter(c); (counter != nil) != newest {
			t.Errorf("%s: it has a counter: %v", name, counter != nil)
		} else if newest {
			if n, err := counter(); n != 2 || err != nil {
				t.Errorf("%s: it counts %d, %v", name, n, err)
			}
		}
	}

	schematest.NoError(t, schema.Drop(s, c))
	for name, view := range views {
		if name == "newest" {
			if found, err := view.Lookup("d", "c"); found != nil || err != nil || view.Current(c) != nil {
				t.Errorf("after the drop: %v, %v", found, err)
			}
			continue
		}
		_, err := view.Lookup("d", "c")
		if mongoerr.CodeOf(err) != mongoerr.SnapshotUnavailable || view.Current(c) != c {
			t.Errorf("%s after the drop: %v", name, err)
		}
	}
}

// has reports whether a View has the document with an _id.
func has(view table.View, c *table.Collection, id int32) bool {
	_, closer, err := view.Get(c.RecordKey(nil, bsonx.Int32(id)))
	return err == nil && closer.Close() == nil
}

// TestPastRefusesWrites checks that the writing methods of a Past fail.
func TestPastRefusesWrites(t *testing.T) {
	s := schematest.OpenLogged(t, mem.New(), table.Options{})
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	past, err := s.BeginPast(t.Context(), s.Engine().Order().Visible(), pastLimit)
	schematest.NoError(t, err)
	var txn table.Transaction = past
	if found, err := txn.Ensure("d", "c"); err != nil || found != c {
		t.Errorf("Ensure of a collection: %v, %v", found, err)
	}
	_, ensureErr := txn.Ensure("d", "new")
	_, createErr := txn.Create("d", "new", bsonx.Empty)
	_, writeErr := txn.BeginWrite(c)
	for _, err := range []error{ensureErr, createErr, writeErr, txn.CreateIndexes(c, nil)} {
		if mongoerr.CodeOf(err) != mongoerr.OperationNotSupportedInTransaction {
			t.Errorf("a write in the past: %v", err)
		}
	}
	schematest.NoError(t, txn.Remember([]byte("k"), nil))
	schematest.NoError(t, txn.Commit(storage.Buffered))
	txn.Abort() // as callers do after every commit
	if txn.Stamp() != 0 {
		t.Errorf("the commit has the stamp %v", txn.Stamp())
	}
}
