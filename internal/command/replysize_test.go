package command_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/internal/wire"
)

// maxReply is the largest reply that every client accepts: a document of the maximum size and the
// fields that the server adds.
const maxReply = 16<<20 + 16<<10

// ask runs a command that may fail, and returns a copy of its reply.
func (h *hotPath) ask(body bsonx.Doc) bsonx.Doc {
	h.msg = wire.Message{Body: body}
	h.out = dispatch.Handle(context.Background(), h.svc, h.conn, &h.msg, h.out[:0]).Out
	return bsonx.Doc(h.out[21:]).Clone()
}

// bigSet returns {$in: [...]} with n strings of size bytes.
func bigSet(n, size int) bsonx.Doc {
	var values []bsonx.Value
	for i := range n {
		values = append(values, bsonx.String(fmt.Sprintf("%0*d", size, i)))
	}
	return bsonx.NewDoc("$in", values)
}

// TestExplainFits explains queries that are larger than a reply can be. The plan in the reply must
// be shortened.
func TestExplainFits(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	h := newHotPath(t, 0)
	for _, cmd := range []bsonx.Doc{
		bsonx.NewDoc("insert", "c", "documents", []bsonx.Doc{bsonx.NewDoc("_id", 1, "a", "x", "b", 1)}),
		bsonx.NewDoc("createIndexes", "c", "indexes",
			[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1), "name", "a")}),
		bsonx.NewDoc("createIndexes", "c", "indexes",
			[]bsonx.Doc{bsonx.NewDoc("key", bsonx.NewDoc("a", 1, "b", 1), "name", "ab")}),
		bsonx.NewDoc("create", "v", "viewOn", "c", "pipeline", []bsonx.Doc{}),
		bsonx.NewDoc("create", "k", "clusteredIndex", bsonx.NewDoc("key", bsonx.NewDoc("_id", 1), "unique", true)),
	} {
		h.run(with(cmd, "$db", "db"))
	}
	large, huge := bigSet(4000, 1000), bigSet(2500, 8000)
	for name, query := range map[string]bsonx.Doc{
		"indexed":       bsonx.NewDoc("a", huge),
		"scanned twice": bsonx.NewDoc("x", large, "y", large),
	} {
		for command, cmd := range Explained(query) {
			t.Run(name+" "+command, func(t *testing.T) {
				h.tb = t
				reply := h.run(bsonx.NewDoc("explain", cmd, "verbosity", "allPlansExecution", "$db", "db"))
				if len(reply) > maxReply {
					t.Errorf("%d bytes", len(reply))
				}
				if reply.Lookup("queryPlanner").IsMissing() && reply.Lookup("stages").IsMissing() {
					t.Error("no plan")
				}
			})
		}
	}
}

// Explained returns a command of each kind that can be explained.
func Explained(query bsonx.Doc) map[string]bsonx.Doc {
	change := bsonx.NewDoc("$set", bsonx.NewDoc("b", 1))
	match := bsonx.NewDoc("$match", query)
	group := bsonx.NewDoc("$group", bsonx.NewDoc("_id", "$b", "a", bsonx.NewDoc("$first", "$a")))
	return map[string]bsonx.Doc{
		"find":         bsonx.NewDoc("find", "c", "filter", query, "sort", bsonx.NewDoc("b", 1)),
		"find on view": bsonx.NewDoc("find", "v", "filter", query),
		"clustered": bsonx.NewDoc("find", "k", "filter",
			bsonx.NewDoc("_id", bsonx.NewDoc("$gt", strings.Repeat("x", 7<<20)))),
		"count":         bsonx.NewDoc("count", "c", "query", query),
		"count of one":  bsonx.NewDoc("count", "c", "query", bsonx.NewDoc("a", strings.Repeat("x", 7<<20))),
		"distinct":      bsonx.NewDoc("distinct", "c", "key", "a", "query", query),
		"update":        bsonx.NewDoc("update", "c", "updates", []bsonx.Doc{bsonx.NewDoc("q", query, "u", change)}),
		"delete":        bsonx.NewDoc("delete", "c", "deletes", []bsonx.Doc{bsonx.NewDoc("q", query, "limit", 0)}),
		"findAndModify": bsonx.NewDoc("findAndModify", "c", "query", query, "update", change),
		"aggregate":     bsonx.NewDoc("aggregate", "c", "pipeline", []bsonx.Doc{match}, "cursor", bsonx.Empty),
		"stages":        bsonx.NewDoc("aggregate", "c", "pipeline", []bsonx.Doc{group, match}, "cursor", bsonx.Empty),
	}
}

// TestRepliesAtTheLimit runs commands whose replies would be larger than a document. The reply must
// be shortened as in MongoDB, or be an error. The reply to a completed write may be larger, because
// clients can still read it.
func TestRepliesAtTheLimit(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	h := newSetPath(t)
	half := func(c string) string { return strings.Repeat(c, 8<<20) }
	send := func(cmd bsonx.Doc) bsonx.Doc {
		t.Helper()
		reply := h.ask(with(cmd, "$db", "db"))
		if len(reply) > 48_000_000-21 {
			t.Fatalf("a reply of %d bytes", len(reply))
		}
		return reply
	}
	for _, c := range []string{"x", "y"} {
		h.run(insertOne(bsonx.NewDoc("_id", half(c))))
	}
	if got := send(bsonx.NewDoc("distinct", "c", "key", "_id")); got.Lookup("code").IsMissing() ||
		got.Lookup("code").Int32() != 17217 {
		t.Errorf("distinct: %d bytes", len(got))
	}
	upsert := bsonx.NewDoc("findAndModify", "c", "query", bsonx.NewDoc("_id", half("z")), "new", true, "upsert", true,
		"update", bsonx.NewDoc("$set", bsonx.NewDoc("a", half("z")[:8<<20-100])))
	if got := send(upsert); got.Lookup("value").Doc().Lookup("a").IsMissing() || got.Lookup("lastErrorObject").Doc().
		Lookup("upserted").IsMissing() {
		t.Errorf("findAndModify: %d bytes", len(got))
	}

	var duplicates []bsonx.Doc
	for range 5 {
		duplicates = append(duplicates, bsonx.NewDoc("_id", half("x")))
	}
	got := send(bsonx.NewDoc("insert", "c", "documents", duplicates, "ordered", false))
	errs := got.Lookup("writeErrors").Doc().Values()
	if len(errs) != 5 || errs[0].Doc().Lookup("keyValue").IsMissing() || !errs[4].Doc().Lookup("keyValue").
		IsMissing() || errs[4].Doc().Lookup("code").Int32() != 11000 {
		t.Errorf("writeErrors: %d of %d bytes", len(errs), len(got))
	}
}

// TestWriteErrorTexts checks write errors with more than 1 MiB of text in total: except for the
// first two, their messages must be empty.
func TestWriteErrorTexts(t *testing.T) {
	t.Parallel()
	h := newHotPath(t, 0)
	var updates []bsonx.Doc
	name := strings.Repeat("n", 600<<10)
	h.run(insertOne(bsonx.NewDoc("_id", 1, name, 1)))
	for range 4 {
		updates = append(updates, bsonx.NewDoc("q", bsonx.Empty, "u", bsonx.NewDoc("$push", bsonx.NewDoc(name, 1))))
	}
	h.send(bsonx.NewDoc("update", "c", "updates", updates, "ordered", false, "$db", "db"))
	for i, v := range bsonx.Doc(h.out[21:]).Lookup("writeErrors").Doc().Values() {
		text := v.Doc().Lookup("errmsg").Str()
		if empty := text == ""; empty != (i > 1) {
			t.Errorf("error %d has %d bytes of text", i, len(text))
		}
	}
}
