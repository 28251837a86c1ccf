package pipeline_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/torture"
)

// graphDocs returns n nodes that each refer to three nodes. The graph has cycles.
func graphDocs(n int) []bsonx.Doc {
	docs := make([]bsonx.Doc, n)
	for i := range docs {
		to := bsonx.NewArray(bsonx.Int32(int32((7*i+1)%n)), bsonx.Double(float64((3*i+5)%n)), bsonx.Int64(int64(i+1)))
		docs[i] = bsonx.NewDoc("_id", i, "to", to, "s", strings.Repeat("x", i%200))
	}
	return docs
}

// TestGraphLookupSpills checks that a $graphLookup beyond its memory limit finds the same
// documents in the same order.
func TestGraphLookupSpills(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	colls := fakeCollections{"f": graphDocs(1500)}
	docs := []bsonx.Doc{
		bsonx.NewDoc("_id", 1, "start", 0), bsonx.NewDoc("_id", 2, "start", 1499),
		bsonx.NewDoc("_id", 3, "start", "no such"),
	}
	graph := `{"$graphLookup": {"from": "f", "startWith": "$start", "connectFromField": "to", "connectToField": "_id", "as": "r", "depthField": "d"}}`
	for _, unwind := range []string{`"$r"`, `{"path": "$r", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i"}`} {
		stages := bsonxtest.Parse(t, `{"v": [`+graph+`, {"$unwind": `+unwind+`}]}`).Lookup("v")
		want := outcomeOf(stages, docs, parsing.AllRules, colls.env())
		if want.err != nil || len(want.docs) < 3000 {
			t.Fatal(len(want.docs), want.err)
		}
		env := colls.env()
		env.MemoryLimit, env.AllowDiskUse, env.TempDir = 30_000, true, t.TempDir()
		got := outcomeOf(stages, docs, 0, env)
		if got.err != nil || !slices.EqualFunc(got.docs, want.docs, equalDocs) {
			t.Errorf("%s: %d documents instead of %d, or others: %v", unwind, len(got.docs), len(want.docs), got.err)
		}
		if left, err := os.ReadDir(env.TempDir); err != nil || len(left) > 0 {
			t.Errorf("%v left behind, %v", left, err)
		}
		env.AllowDiskUse = false
		if got := outcomeOf(stages, docs, 0, env); mongoerr.CodeOf(got.err) != 40099 {
			t.Errorf("%s without the disk: %v", unwind, got.err)
		}
	}
	// The result array must fit into memory. The set of visited documents may still go to disk.
	env := colls.env()
	env.MemoryLimit, env.AllowDiskUse, env.TempDir = 30_000, true, t.TempDir()
	stages := bsonxtest.Parse(t, `{"v": [`+graph+`]}`).Lookup("v")
	if got := outcomeOf(stages, docs, 0, env); mongoerr.CodeOf(got.err) != 40099 {
		t.Error(got.err)
	}
	env.MemoryLimit = 340_000
	want := outcomeOf(stages, docs, 0, colls.env())
	if got := outcomeOf(stages, docs, 0, env); got.err != nil || !slices.EqualFunc(got.docs, want.docs, equalDocs) {
		t.Error(len(got.docs), got.err)
	}
}

// TestGraphLookupUnwind checks that a $graphLookup fused with the following $unwind gives the
// same results as the two stages.
func TestGraphLookupUnwind(t *testing.T) {
	t.Parallel()
	colls := fakeCollections{"f": graphDocs(20)}
	docs := []bsonx.Doc{
		bsonxtest.Parse(t, `{"_id": 1, "start": [3, 4], "r": "old", "o": {"a": 1, "r": 2, "b": 3}}`), bsonxtest.Parse(t, `{"_id": 2, "start": 77, "o": {"r": []}}`), bsonxtest.Parse(t, `{"_id": 3}`),
	}
	for _, as := range []string{"r", "n", "o.r", "o.x.y"} {
		for _, unwind := range []string{
			`"$%[1]s"`, `{"path": "$%[1]s", "preserveNullAndEmptyArrays": true}`,
			`{"path": "$%[1]s", "includeArrayIndex": "i"}`,
			`{"path": "$%[1]s", "includeArrayIndex": "%[1]s.i"}`, `{"path": "$%[1]s", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "o.i"}`,
		} {
			for _, rest := range []string{
				``, `, {"$match": {"%[1]s.d": {"$gt": 0}}}`, `, {"$limit": 3}`,
				`, {"$project": {"o": 1, "i": 1}}`, `, {"$sort": {"%[1]s._id": 1}}, {"$skip": 2}`,
			} {
				text := fmt.Sprintf(`{"v": [{"$graphLookup": {"from": "f", "startWith": "$start", "connectFromField": "to", "connectToField": "_id", "as": "%[1]s", "maxDepth": 2, "depthField": "d"}},
					{"$unwind": `+unwind+`}`+rest+`]}`, as)
				stages := bsonxtest.Parse(t, text).Lookup("v")
				want := outcomeOf(stages, docs, parsing.AllRules, colls.env())
				got := outcomeOf(stages, docs, 0, colls.env())
				if got.err != nil || want.err != nil || !slices.EqualFunc(got.docs, want.docs, equalDocs) {
					t.Fatalf("%s\n%v\n%s\nwithout rules: %v\n%s", bsonx.FormatShell(stages), got.err,
						show(t, got.docs), want.err, show(t, want.docs))
				}
			}
		}
	}
}
