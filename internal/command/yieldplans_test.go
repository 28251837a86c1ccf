package command_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/torture"
)

// yieldCase is a query whose plan contains a certain node.
type yieldCase struct {
	// node is the type in package plan/node. stage is its name in explain.
	node, stage string
	find        bsonx.Doc
	// snapshot allows later batches to return documents as they were at the first batch, because a
	// sort has read them all by then.
	snapshot bool
	// tried is true if a trial chooses the plan. The trial has then read rows that the client has
	// not got yet.
	tried bool
	// misses allows the plan to miss a document that moves forward in the sort order.
	misses bool
}

// neverHeld are the nodes that keep no data between two batches, with the reason.
var neverHeld = map[string]string{
	"IDHack":       "yields one record",
	"Express":      "yields one record",
	"EOF":          "yields nothing",
	"Count":        "runs to its end in one command",
	"CountScan":    "runs to its end in one command",
	"FastCount":    "reads no records",
	"DistinctScan": "feeds a distinct or a $group, which read it to its end before their first batch",
}

func yieldCases() []yieldCase {
	two := bsonx.NewDoc("$in", []bsonx.Value{bsonx.Int32(1), bsonx.Int32(2)})
	inA, byB := bsonx.NewDoc("a", two), bsonx.NewDoc("b", 1)
	or := bsonx.NewDoc("$or", []bsonx.Doc{bsonx.NewDoc("a", 1), bsonx.NewDoc("a", 2)})
	unlike := bsonx.NewDoc("$or", []bsonx.Doc{bsonx.NewDoc("a", 1), bsonx.NewDoc("b", bsonx.NewDoc("$gte", 6))})
	rest := bsonx.NewDoc("$or",
		[]bsonx.Doc{bsonx.NewDoc("a", 1, "k", 1), bsonx.NewDoc("a", 2, "k", bsonx.NewDoc("$gte", 1))})
	ab := bsonx.NewDoc("_id", 0, "a", 1, "b", 1)
	point := bsonx.NewDoc("$geometry", bsonx.NewDoc("type", "Point", "coordinates", bsonx.NewArray(0, 0)))
	near := bsonx.NewDoc("loc", bsonx.NewDoc("$near", point), "a", two)
	flat := bsonx.NewDoc("xy", bsonx.NewDoc("$near", bsonx.NewArray(0, 0)), "a", two)
	text := bsonx.NewDoc("$text", bsonx.NewDoc("$search", "word other"))
	phrase := bsonx.NewDoc("$text", bsonx.NewDoc("$search", `"word" other`))
	score := bsonx.NewDoc("s", bsonx.NewDoc("$meta", "textScore"))
	both := bsonx.NewDoc("a", two, "b", bsonx.NewDoc("$gte", 0))
	natural := bsonx.NewDoc("$natural", 1)
	find := bsonx.NewDoc
	return []yieldCase{
		{node: "CollScan", stage: "COLLSCAN", find: find("filter", inA, "hint", natural)},
		{node: "IndexScan", stage: "IXSCAN", find: find("filter", inA, "hint", "ab", "projection", ab)},
		{node: "Fetch", stage: "FETCH", find: find("filter", inA, "hint", "ab")},
		{node: "GeoNear", stage: "GEO_NEAR_2DSPHERE", find: find("filter", near, "hint", "loc")},
		{node: "GeoNear", stage: "GEO_NEAR_2DSPHERE", find: find("filter", near, "hint", "loc_a")},
		{node: "GeoNear", stage: "GEO_NEAR_2DSPHERE", find: find("filter", near), tried: true},
		{node: "GeoNear", stage: "GEO_NEAR_2DSPHERE", find: find("filter", near, "limit", 9), tried: true},
		{node: "GeoNear", stage: "GEO_NEAR_2D", find: find("filter", flat)},
		{node: "Or", stage: "OR", find: find("filter", unlike)},
		{node: "Or", stage: "OR", find: find("filter", rest)},
		{node: "Subplan", stage: "SUBPLAN", find: find("filter", rest)},
		{node: "SortMerge", stage: "SORT_MERGE", find: find("filter", inA, "sort", byB, "hint", "ab")},
		{
			node: "SortMerge", stage: "SORT_MERGE",
			find: find("filter", inA, "sort", byB, "hint", "ab", "projection", ab),
		},
		{node: "SortMerge", stage: "SORT_MERGE", find: find("filter", or, "sort", byB)},
		{node: "SortMerge", stage: "SORT_MERGE", find: find("filter", rest, "sort", byB)},
		// misses: each scan has already passed the record
		{
			node: "SortMerge", stage: "SORT_MERGE",
			find: find("filter", bsonx.NewDoc("m", two), "sort", byB, "hint", "mb"), misses: true,
		},
		{node: "Sort", stage: "SORT", find: find("filter", inA, "sort", bsonx.NewDoc("c", 1)), snapshot: true},
		{node: "Limit", stage: "LIMIT", find: find("filter", both, "limit", 9), tried: true},
		{node: "Skip", stage: "SKIP", find: find("filter", both, "skip", 1), tried: true},
		{
			node: "Project", stage: "PROJECTION_SIMPLE",
			find: find("filter", both, "projection", bsonx.NewDoc("b", 1, "c", 1)), tried: true,
		},
		{
			node: "Project", stage: "PROJECTION_DEFAULT",
			find: find("filter", both, "projection", bsonx.NewDoc("x", "$b")), tried: true,
		},
		// misses: the plan reads only the index entry, not the changed record
		{
			node: "Project", stage: "PROJECTION_COVERED",
			find: find("filter", both, "projection", ab), tried: true, misses: true,
		},
		{
			node: "ReturnKey", stage: "RETURN_KEY",
			find: find("filter", both, "returnKey", true), tried: true, misses: true,
		},
		{node: "RecordID", find: find("filter", both, "showRecordId", true), tried: true},
		{node: "TextOr", stage: "TEXT_OR", find: find("filter", text, "projection", score)},
		{
			node: "TextOr", stage: "TEXT_OR",
			find: find("filter", text, "projection", score, "sort", score), snapshot: true,
		},
		{node: "TextMatch", stage: "TEXT_MATCH", find: find("filter", phrase)},
	}
}

// TestEachPlanAfterAWrite changes, deletes and moves documents between two batches of each plan. As
// with a plain scan, documents in later batches must match the query and be up to date.
func TestEachPlanAfterAWrite(t *testing.T) {
	t.Parallel()
	rest := func(read []bsonx.Value) bsonx.Doc { return bsonx.NewDoc("_id", bsonx.NewDoc("$nin", read)) }
	gone := bsonx.NewDoc("$set", bsonx.NewDoc("a", 9, "m", 9, "w", "else"))
	later := bsonx.NewDoc("$inc", bsonx.NewDoc("b", 100, "c", 100, "loc.coordinates.0", 20, "xy.0", 20),
		"$set", bsonx.NewDoc("w", "word"))
	writes := map[string]func(read []bsonx.Value) bsonx.Doc{
		"left the query": func(read []bsonx.Value) bsonx.Doc {
			return bsonx.NewDoc("update", "c", "updates",
				[]bsonx.Doc{bsonx.NewDoc("q", rest(read), "u", gone, "multi", true)}, "$db", "db")
		},
		"deleted": func(read []bsonx.Value) bsonx.Doc {
			return bsonx.NewDoc("delete", "c", "deletes",
				[]bsonx.Doc{bsonx.NewDoc("q", rest(read), "limit", 0)}, "$db", "db")
		},
		"sorted elsewhere": func(read []bsonx.Value) bsonx.Doc {
			return bsonx.NewDoc("update", "c", "updates",
				[]bsonx.Doc{bsonx.NewDoc("q", rest(read), "u", later, "multi", true)}, "$db", "db")
		},
	}
	for i, c := range yieldCases() {
		if !torture.Sample(i, 2) {
			continue
		}
		for what, write := range writes {
			t.Run(fmt.Sprint(i, " ", c.node, " ", what), func(t *testing.T) {
				t.Parallel()
				y := &yieldRun{t: t, h: newHotPath(t, 0), yieldCase: c}
				y.check(what == "sorted elsewhere", write)
			})
		}
	}
}

type yieldRun struct {
	yieldCase
	t *testing.T
	h *hotPath
}

func (y *yieldRun) fill() {
	var indexes []bsonx.Doc
	add := func(name string, key bsonx.Doc) { indexes = append(indexes, bsonx.NewDoc("key", key, "name", name)) }
	add("ab", bsonx.NewDoc("a", 1, "b", 1))
	add("b", bsonx.NewDoc("b", 1, "a", 1))
	add("mb", bsonx.NewDoc("m", 1, "b", 1))
	add("loc", bsonx.NewDoc("loc", "2dsphere"))
	add("loc_a", bsonx.NewDoc("loc", "2dsphere", "a", 1))
	add("xy", bsonx.NewDoc("xy", "2d"))
	add("text", bsonx.NewDoc("w", "text"))
	y.h.run(bsonx.NewDoc("createIndexes", "c", "indexes", indexes, "$db", "db"))
	for i := range 12 {
		a := 1 + i%2
		loc := bsonx.NewDoc("type", "Point", "coordinates", bsonx.NewArray(float64(i)/10, 0))
		y.h.run(insertOne(bsonx.NewDoc("_id", i, "a", a, "b", i, "c", i, "k", 1, "m",
			bsonx.NewArray(a, 10+i), "loc", loc,
			"xy", bsonx.NewArray(float64(i)/10, 0), "w", strings.Repeat("word ", i%3+1)+"other")))
	}
}

// answer runs the query with a batch size and returns the cursor of the reply.
func (y *yieldRun) answer(batchSize int) bsonx.Doc {
	return y.h.run(with(y.command(), "batchSize", batchSize, "$db", "db")).Lookup("cursor").Doc()
}

func (y *yieldRun) command() bsonx.Doc {
	cmd := bsonx.NewDoc("find", "c")
	for it := y.find.Iter(); it.Next(); {
		cmd = with(cmd, string(it.Key()), it.Value())
	}
	return cmd
}

func textsOf(batch bsonx.Value) (texts []string) {
	for _, v := range batch.Doc().Values() {
		texts = append(texts, bsonx.FormatShell(v))
	}
	return texts
}

func (y *yieldRun) check(stays bool, write func(read []bsonx.Value) bsonx.Doc) {
	y.fill()
	explained := y.h.run(bsonx.NewDoc("explain", y.command(), "verbosity", "queryPlanner", "$db", "db"))
	if !strings.Contains(bsonx.FormatShell(bsonx.Document(explained)), `"`+y.stage+`"`) && y.stage != "" {
		y.t.Fatalf("the plan has no %s: %s", y.stage, bsonx.FormatShell(bsonx.Document(explained)))
	}
	rejected := explained.LookupPath("queryPlanner", "rejectedPlans").Doc()
	if y.tried != !rejected.IsEmpty() {
		y.t.Fatalf("a trial: %t", !y.tried)
	}
	before := textsOf(y.answer(100).Lookup("firstBatch"))
	cursor := y.answer(2)
	id, read := cursor.Lookup("id").Int64(), textsOf(cursor.Lookup("firstBatch"))
	y.h.run(write(readIDs(cursor.Lookup("firstBatch"))))
	whole := *y // the first documents of the query may be different now
	whole.find = with(bsonx.NewDoc(), "filter", y.find.Lookup("filter"))
	for _, option := range []string{"projection", "hint", "returnKey", "showRecordId", "sort"} {
		if v := y.find.Lookup(option); !v.IsMissing() {
			whole.find = with(whole.find, option, v)
		}
	}
	now := textsOf(whole.answer(100).Lookup("firstBatch"))
	more := y.h.run(bsonx.NewDoc("getMore", id, "collection", "c", "$db", "db")).Lookup("cursor").Doc()
	rest := textsOf(more.Lookup("nextBatch"))
	for _, doc := range rest {
		if slices.Contains(read, doc) {
			y.t.Errorf("%s came twice", doc)
		}
		if !slices.Contains(now, doc) && (!y.snapshot || !slices.Contains(before, doc)) {
			y.t.Errorf("%s is not in the query any more", doc)
		}
	}
	if stays && !y.misses && len(read)+len(rest) < len(before) {
		y.t.Errorf("%d documents of %d: %v", len(read)+len(rest), len(before), rest)
	}
}

// readIDs returns the _ids of documents. If _id is not shown, it uses another field that was equal
// to it at first.
func readIDs(batch bsonx.Value) (ids []bsonx.Value) {
	for _, v := range batch.Doc().Values() {
		for _, field := range []string{"_id", "b", "x"} {
			if id := v.Doc().Lookup(field); !id.IsMissing() {
				ids = append(ids, id.Clone())
				break
			}
		}
	}
	return ids
}

// TestEachPlanNodeHasAYieldCase checks that each node of package plan/node has a case above or is
// in neverHeld.
func TestEachPlanNodeHasAYieldCase(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for node := range neverHeld {
		known[node] = true
	}
	for _, c := range yieldCases() {
		known[c.node] = true
	}
	files, err := filepath.Glob("../plan/node/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	found := 0
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || fn.Name.Name != "stage" {
				continue
			}
			found++
			if name := fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name; !known[name] {
				t.Errorf("the plan's node %s has no case, and is not in neverHeld", name)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d nodes found", found)
	}
}
