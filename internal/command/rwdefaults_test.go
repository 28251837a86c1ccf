package command_test

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/crud"
)

// TestDefaultReadConcern reads with and without a read concern in the request, before and after a
// default is set and removed.
func TestDefaultReadConcern(t *testing.T) {
	tell := func(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
		reply.String("level", req.Generic.ReadConcern.Level)
		return crud.CheckConcerns(req, req.Get("pipeline"))
	}
	h := newMember(t,
		command.Definition{
			Name: "readIt", Read: true, Snapshot: true, Loose: true, Run: tell,
			Fields: []command.Field{{Name: "pipeline"}},
		},
		command.Definition{Name: "noRead", Loose: true, Run: tell, Fields: []command.Field{{Name: "pipeline"}}})
	doc := bsonx.NewDoc
	check := func(cmd bsonx.Doc, want string) {
		t.Helper()
		if got := h.run("test", cmd); code(got) != 0 || got.Lookup("level").Str() != want {
			t.Errorf("%s: %s", command.FormatDoc(cmd), command.FormatDoc(got))
		}
	}
	source := func(want string) {
		t.Helper()
		got := h.run("admin", doc("getDefaultRWConcern", 1, "inMemory", true))
		if got.Lookup("defaultReadConcernSource").Str() != want || !got.Lookup("inMemory").Bool() {
			t.Error(command.FormatDoc(got))
		}
	}
	plain := doc("readIt", 1)
	check(plain, "")
	source("implicit")
	h.run("admin", doc("setDefaultRWConcern", 1, "defaultReadConcern", doc("level", "majority")))
	source("global")
	check(plain, "majority")
	check(doc("noRead", 1), "")
	check(doc("readIt", 1, "readConcern", doc()), "majority")
	check(doc("readIt", 1, "readConcern", doc("level", "local")), "local")
	check(doc("readIt", 1, "readConcern", doc("afterClusterTime", bsonx.Timestamp(1, 1))), "")
	// A command that refuses a client's level ignores the default level.
	check(doc("readIt", 1, "pipeline", bsonx.NewArray(doc("$collStats", doc()))), "majority")
	if got := h.run("test", doc("readIt", 1, "readConcern", doc("level", "majority"),
		"pipeline", bsonx.NewArray(doc("$collStats", doc())))); code(got) != 72 {
		t.Error(command.FormatDoc(got))
	}
	for _, level := range []string{"snapshot", "linearizable"} {
		if got := h.run("admin",
			doc("setDefaultRWConcern", 1, "defaultReadConcern", doc("level", level))); code(got) != 2 {
			t.Error(command.FormatDoc(got))
		}
	}
	h.run("admin", doc("setDefaultRWConcern", 1, "defaultReadConcern", doc()))
	source("implicit")
	check(plain, "")
}
