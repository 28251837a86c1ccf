package command_test

import (
	"log/slog"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// hookedEngine calls hook once, before its next snapshot.
type hookedEngine struct {
	storage.Engine
	hook func()
}

func (e *hookedEngine) NewSnapshot() storage.Snapshot {
	if hook := e.hook; hook != nil {
		e.hook = nil
		hook()
	}
	return e.Engine.NewSnapshot()
}

// TestSwappedCollations swaps two collections by renames while a write on one of them is being
// compiled. The swap happens when the $where of the write reads system.js. The write must use the
// collation of the collection that it changes.
func TestSwappedCollations(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(query bsonx.Doc) bsonx.Doc{
		"update": func(q bsonx.Doc) bsonx.Doc {
			return bsonx.NewDoc("update", "a", "updates",
				[]bsonx.Doc{bsonx.NewDoc("q", q, "u", bsonx.NewDoc("$set", bsonx.NewDoc("changed", true)))})
		},
		"multi": func(q bsonx.Doc) bsonx.Doc {
			return bsonx.NewDoc("update", "a", "updates",
				[]bsonx.Doc{bsonx.NewDoc("q", q, "u",
					bsonx.NewDoc("$set", bsonx.NewDoc("changed", true)), "multi", true)})
		},
		"delete": func(q bsonx.Doc) bsonx.Doc {
			return bsonx.NewDoc("delete", "a", "deletes", []bsonx.Doc{bsonx.NewDoc("q", q, "limit", 0)})
		},
		"modify": func(q bsonx.Doc) bsonx.Doc {
			return bsonx.NewDoc("findAndModify", "a", "query", q, "update",
				bsonx.NewDoc("$set", bsonx.NewDoc("changed", true)))
		},
		"remove": func(q bsonx.Doc) bsonx.Doc {
			return bsonx.NewDoc("findAndModify", "a", "query", q, "remove", true)
		},
	} {
		for _, becomesFolding := range []bool{false, true} {
			changed := changedBySwapped(t, write(bsonx.NewDoc("x", "a", "$where", "true")), becomesFolding)
			if changed != becomesFolding {
				t.Errorf("%s of what became folding (%v): a document was changed: %v", name, becomesFolding, changed)
			}
		}
	}
}

// changedBySwapped reports whether a write on the collection a changed its document. The document
// matches the query only if case is ignored. One of the collections a and b ignores case, and they
// are swapped while the write is being compiled.
func changedBySwapped(t *testing.T, write bsonx.Doc, becomesFolding bool) bool {
	t.Helper()
	inner := mem.New()
	engine := &hookedEngine{Engine: inner}
	log := slog.New(slog.DiscardHandler)
	store, err := schema.Open(engine, ddl.Compiler{}, log, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := &transactor{}
	x.t = t
	x.serve(store, log)
	defer func() {
		x.svc.Close()
		store.Close()
		if err := inner.Close(); err != nil {
			t.Error(err)
		}
	}()
	do := func(db string, pairs ...any) bsonx.Doc {
		t.Helper()
		reply := x.run(db, bsonx.NewDoc(pairs...))
		if !reply.Lookup("ok").Truthy() {
			t.Fatal(reply)
		}
		return reply
	}
	folding, exact := "a", "b"
	if becomesFolding {
		folding, exact = "b", "a"
	}
	do("db", "create", folding, "collation", bsonx.NewDoc("locale", "en", "strength", 2))
	do("db", "create", exact)
	for _, name := range []string{"a", "b"} {
		do("db", "insert", name, "documents", []bsonx.Doc{bsonx.NewDoc("_id", 1, "x", "A")})
	}
	do("db", "insert", "system.js", "documents", []bsonx.Doc{bsonx.NewDoc("_id", "f", "value", 1)})
	conn := x.conn
	engine.hook = func() {
		x.conn = x.svc.NewConn(2, "127.0.0.1:6", "127.0.0.1:27017", true)
		do("admin", "renameCollection", "db.a", "to", "db.c")
		do("admin", "renameCollection", "db.b", "to", "db.a")
		do("admin", "renameCollection", "db.c", "to", "db.b")
		x.conn = conn
	}
	reply := x.run("db", write)
	if engine.hook != nil || !reply.Lookup("ok").Truthy() || !reply.Lookup("writeErrors").IsMissing() {
		t.Fatalf("swapped: %v, %v", engine.hook == nil, reply)
	}
	n := do("db", "count", "a", "query", bsonx.NewDoc("changed", bsonx.NewDoc("$exists", false)))
	return n.Lookup("n").Int32() == 0
}
