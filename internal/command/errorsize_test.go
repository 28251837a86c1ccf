package command_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command/argtest"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
)

// largeValues returns large values that an error message may repeat: a text, a field name, an
// operator, and a list.
func largeValues() []argtest.Value {
	long := strings.Repeat("n", mongoerr.MaxMessage+1)
	many := make(bson.A, 200_000)
	for i := range many {
		many[i] = int32(7)
	}
	return []argtest.Value{
		{Type: "text", Value: long},
		{Type: "name", Value: bson.D{{long, 1}}},
		{Type: "operator", Value: bson.D{{"a", bson.D{{"$" + long, 1}}}}},
		{Type: "list", Value: bson.A{bson.D{{"$" + long, 1}}}},
		{Type: "numbers", Value: many},
	}
}

// TestErrorsOfLargeArguments gives every fourth argument of every command a value of more than 1
// MiB. The error that repeats the value must fit into a reply.
func TestErrorsOfLargeArguments(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	arguments, err := argtest.Arguments()
	if err != nil {
		t.Fatal(err)
	}
	s := &sweep{t: t, client: argumentsClient(t)}
	values, cut := largeValues(), 0
	for i := 0; i < len(arguments); i += 4 {
		a, v := arguments[i], values[i/4%len(values)]
		if !s.clean {
			s.reset()
		}
		raw, err := s.client.Database(a.Base.DB).RunCommand(t.Context(), a.With(v.Value)).Raw()
		s.data = true
		var refused mongo.CommandError
		if s.clean = errors.As(err, &refused); !s.clean {
			continue
		}
		if len(refused.Message) > mongoerr.MaxMessage || len(raw) > mongoerr.MaxMessage+1<<16 {
			t.Errorf("%s with %s: an error of %d bytes", a, v.Type, len(raw))
		}
		if len(refused.Message) > bsonx.MaxShown {
			cut++
		}
	}
	if cut < 5 {
		t.Errorf("%d messages were cut: the values are not repeated", cut)
	}
}

// TestErrorsOfLargeData runs commands whose errors repeat stored or computed values. Each error
// must fit into a reply, and so must all errors of one command together.
func TestErrorsOfLargeData(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	h := newSetPath(t)
	long, half := strings.Repeat("n", 7<<20), strings.Repeat("x", 8<<20)
	h.run(insertOne(bsonx.NewDoc("_id", bsonx.NewDoc(long, 1), "a", half)))
	h.run(bsonx.NewDoc("create", "v", "validator",
		bsonx.NewDoc("$or", []bsonx.Doc{
			bsonx.NewDoc("a", 1), bsonx.NewDoc("a", 2),
			bsonx.NewDoc("a", 3),
		}), "$db", "db"))
	h.run(bsonx.NewDoc("createIndexes", "c", "indexes",
		[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("b", 1), "name", "b", "unique", true)}, "$db", "db"))
	h.run(insertOne(bsonx.NewDoc("_id", 1, "b", bsonx.NewDoc(long, half))))
	list := bsonx.NewDoc("$map",
		bsonx.NewDoc("input", bsonx.NewDoc("$range", []bsonx.Value{bsonx.Int32(0), bsonx.Int32(5)}), "in", "$a"))
	project := func(e bsonx.Doc) bsonx.Doc {
		return bsonx.NewDoc("aggregate", "c", "cursor", bsonx.Empty, "pipeline",
			[]bsonx.Doc{bsonx.NewDoc("$project", bsonx.NewDoc("r", e))})
	}
	repeated := func(n int, doc bsonx.Doc) []bsonx.Doc { return slices.Repeat([]bsonx.Doc{doc}, n) }
	duplicate := bsonx.NewDoc("_id", bsonx.NewDoc(long, 1))
	failing := bsonx.NewDoc("q", bsonx.NewDoc("b", bsonx.NewDoc("$exists", false)), "u",
		bsonx.NewDoc("$push", bsonx.NewDoc("a", 1)))
	for name, cmd := range map[string]bsonx.Doc{
		"value of an expression": project(bsonx.NewDoc("$mergeObjects", []bsonx.Doc{list})),
		"document": bsonx.NewDoc("aggregate", "c", "cursor", bsonx.Empty, "pipeline",
			[]bsonx.Doc{bsonx.NewDoc("$replaceRoot", bsonx.NewDoc("newRoot", "$a"))}),
		"duplicate": bsonx.NewDoc("findAndModify", "c", "query", bsonx.NewDoc("_id", 2), "upsert", true, "update",
			bsonx.NewDoc("b", bsonx.NewDoc(long, half))),
		"duplicates":      bsonx.NewDoc("insert", "c", "ordered", false, "documents", repeated(6, duplicate)),
		"refused updates": bsonx.NewDoc("update", "c", "ordered", false, "updates", repeated(8, failing)),
		"refused by a validator": bsonx.NewDoc("findAndModify", "v", "query", bsonx.NewDoc("_id", 2), "upsert", true,
			"update", bsonx.NewDoc("a", half)),
		"refused by it, and more": bsonx.NewDoc("insert", "v", "ordered", false, "documents",
			repeated(5, bsonx.NewDoc("a", half))),
		"operations": bsonx.NewDoc("bulkWrite", 1, "ordered", false, "nsInfo", []bsonx.Doc{bsonx.NewDoc("ns", "db.c")},
			"ops", repeated(5, bsonx.NewDoc("insert", 0, "document", duplicate))),
	} {
		t.Run(name, func(t *testing.T) {
			db := "db"
			if name == "operations" {
				db = "admin"
			}
			reply := h.ask(with(cmd, "$db", db))
			most := maxReply
			if errs := reply.Lookup("writeErrors"); !errs.IsMissing() {
				most += mongoerr.MaxMessage * 4 // errors of a completed write are reported even in a larger reply
			} else if failed, _ := reply.Lookup("ok").AsFloat64(); failed != 0 && reply.Lookup("nErrors").IsMissing() {
				t.Errorf("no error: %.200s", bsonx.FormatShell(bsonx.Document(reply)))
			}
			if len(reply) > most {
				t.Errorf("%d bytes", len(reply))
			}
		})
	}
}
