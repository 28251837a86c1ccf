package command_test

import (
	"sync"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// manyDocs is a number of documents that an update changes in more than one transaction.
const manyDocs = 150

// fillMany inserts documents with _id i, a counter n, a unique value u(i), and a and b, which order
// the documents in opposite directions.
func fillMany(h *hotPath, u func(i int) int) {
	unique := bsonx.NewDoc("key", bsonx.NewDoc("u", 1), "name", "u_1", "unique", true)
	rising := bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", "a_1")
	falling := bsonx.NewDoc("key", bsonx.NewDoc("b", 1), "name", "b_1")
	h.run(bsonx.NewDoc("createIndexes", "c", "indexes", []bsonx.Doc{unique, rising, falling}, "$db", "db"))
	docs := make([]bsonx.Doc, manyDocs)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "n", 0, "u", u(i), "a", i, "b", -i)
	}
	h.run(bsonx.NewDoc("insert", "c", "documents", docs, "$db", "db"))
}

// increment returns an update that adds 1 to a field of all documents, in the order of an index.
func increment(name, hint string) bsonx.Doc {
	change := bsonx.NewDoc("q", bsonx.NewDoc(), "u", bsonx.NewDoc("$inc", bsonx.NewDoc(name, 1)), "multi", true,
		"hint", bsonx.NewDoc(hint, 1))
	return bsonx.NewDoc("update", "c", "updates", []bsonx.Doc{change}, "$db", "db")
}

// firstBatch runs a find and returns the documents of its first batch.
func firstBatch(t *testing.T, h *hotPath, db, coll string, filter bsonx.Doc) []bsonx.Doc {
	t.Helper()
	reply := h.run(bsonx.NewDoc("find", coll, "filter", filter, "batchSize", 10_000, "$db", db))
	var docs []bsonx.Doc
	for it := reply.LookupPath("cursor", "firstBatch").Doc().Iter(); it.Next(); {
		docs = append(docs, it.Value().Doc().Clone())
	}
	return docs
}

// updatesLogged checks that the oplog has an entry for each of the first n documents, in order and
// with increasing stamps.
func updatesLogged(t *testing.T, h *hotPath, n int) {
	t.Helper()
	entries := firstBatch(t, h, "local", "oplog.rs", bsonx.NewDoc("op", "u"))
	if len(entries) != n {
		t.Fatalf("%d entries, not %d", len(entries), n)
	}
	for i, e := range entries {
		if id, _ := e.LookupPath("o2", "_id").AsInt64(); id != int64(i) {
			t.Errorf("entry %d is about %v", i, e)
		}
		if i > 0 && bsonx.CompareValues(e.Lookup("ts"), entries[i-1].Lookup("ts")) <= 0 {
			t.Errorf("entry %d is not later than the one before", i)
		}
	}
}

// TestUpdateManyLog updates more documents than one transaction changes. The oplog must have an
// entry for each document.
func TestUpdateManyLog(t *testing.T) {
	t.Parallel()
	h := newSetPath(t)
	fillMany(h, func(i int) int { return i })
	reply := h.run(increment("n", "a"))
	if n, _ := reply.Lookup("nModified").AsInt64(); n != manyDocs {
		t.Errorf("%d modified, not %d", n, manyDocs)
	}
	updatesLogged(t, h, manyDocs)
	for _, doc := range firstBatch(t, h, "db", "c", bsonx.NewDoc()) {
		if n, _ := doc.Lookup("n").AsInt64(); n != 1 {
			t.Errorf("changed %d times: %v", n, doc)
		}
	}
}

// TestUpdateManyError updates documents of which one fails. The documents before it must stay
// changed, and the documents after it unchanged.
func TestUpdateManyError(t *testing.T) {
	t.Parallel()
	const bad = 100
	h := newSetPath(t)
	fillMany(h, func(i int) int {
		if i == bad+1 {
			return bad*10 + 1
		}
		return i * 10
	})
	h.send(increment("u", "a"))
	reply := bsonx.Doc(h.out[21:])
	if code, _ := reply.Lookup("writeErrors").Doc().Lookup("0").Doc().Lookup("code").AsInt64(); code != 11000 {
		t.Error(bsonx.FormatShell(bsonx.Document(reply)))
	}
	updatesLogged(t, h, bad)
	for i, doc := range firstBatch(t, h, "db", "c", bsonx.NewDoc()) {
		u, _ := doc.Lookup("u").AsInt64()
		if changed := u%10 == 1; changed != (i < bad || i == bad+1) {
			t.Errorf("document %d has %d", i, u)
		}
	}
}

// TestUpdateManyCrossing updates the same documents in opposite orders at the same time. In spite
// of write conflicts, each of the two updates must change all documents.
func TestUpdateManyCrossing(t *testing.T) {
	t.Parallel()
	const rounds = 20
	h := newSetPath(t)
	fillMany(h, func(i int) int { return i })
	var wg sync.WaitGroup
	for i, hint := range []string{"a", "b"} {
		wg.Go(func() {
			own := &hotPath{tb: t, engine: h.engine, svc: h.svc, conn: h.svc.NewConn(int64(i+2), "", "", true)}
			for range rounds {
				own.send(increment("n", hint))
			}
		})
	}
	wg.Wait()
	for _, doc := range firstBatch(t, h, "db", "c", bsonx.NewDoc()) {
		if n, _ := doc.Lookup("n").AsInt64(); n != 2*rounds {
			t.Errorf("changed %d times: %v", n, doc)
		}
	}
}
