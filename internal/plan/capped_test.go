package plan_test

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/schema"
)

// newCapped returns a fixture on a capped collection with the _ids 3, 1, 2 in insertion order.
func newCapped(t *testing.T) *fixture {
	f := newFixture(t)
	c, err := schema.Create(f.store, "db", "capped", "collection",
		bsonx.NewDoc("capped", true, "size", 1<<20, "max", 3))
	if err != nil {
		t.Fatal(err)
	}
	f.coll = c
	f.insert(bsonx.NewDoc("_id", 0, "a", 0), bsonx.NewDoc("_id", 3, "a", 1), bsonx.NewDoc("_id", 1.0, "a", 3),
		bsonx.NewDoc("_id", 2, "a", 2))
	return f
}

func TestCappedPlans(t *testing.T) {
	t.Parallel()
	f := newCapped(t)
	f.index("a_1", bsonx.NewDoc("a", 1))
	natural := func(n int) bsonx.Doc { return bsonx.NewDoc("$natural", n) }
	for name, c := range map[string]struct {
		query   query.Query
		filter  bsonx.Doc
		project bsonx.Doc
		summary string
		want    string
	}{
		"insertion order": {summary: "COLLSCAN", want: "3 1.0 2"},
		"backward":        {query: query.Query{Sort: natural(-1)}, summary: "COLLSCAN", want: "2 1.0 3"},
		"hinted backward": {
			query:   query.Query{Hint: bsonx.Document(natural(-1))},
			summary: "COLLSCAN", want: "2 1.0 3",
		},
		"by _id":       {filter: bsonx.NewDoc("_id", 1), summary: "IDHACK", want: "1.0"},
		"by _id, gone": {filter: bsonx.NewDoc("_id", 0), summary: "IDHACK", want: ""},
		"by _id, hinted": {
			query: query.Query{Hint: bsonx.String("_id_")}, filter: bsonx.NewDoc("_id", 1),
			summary: "IXSCAN { _id: 1 }", want: "1.0",
		},
		"range of _id": {
			filter:  bsonx.NewDoc("_id", bsonx.NewDoc("$gt", 0)),
			summary: "IXSCAN { _id: 1 }", want: "1.0 2 3",
		},
		"sort by _id": {
			query:   query.Query{Sort: bsonx.NewDoc("_id", -1)},
			summary: "IXSCAN { _id: 1 }", want: "3 2 1.0",
		},
		"covered by _id": {
			filter: bsonx.NewDoc("_id", bsonx.NewDoc("$lt", 3)), project: bsonx.NewDoc("_id", 1),
			summary: "IXSCAN { _id: 1 }", want: "1.0 2",
		},
		"another index": {
			filter:  bsonx.NewDoc("a", bsonx.NewDoc("$gte", 2)),
			summary: "IXSCAN { a: 1 }", want: "2 1.0",
		},
		"tailable": {
			query:  query.Query{Tailable: true, Hint: bsonx.String("a_1")},
			filter: bsonx.NewDoc("_id", bsonx.NewDoc("$gt", 1)), summary: "COLLSCAN", want: "3 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := c.query
			q.DB, q.Name, q.Coll = "db", "capped", f.coll
			q.Filter = mustFilter(t, c.filter)
			if c.project != nil {
				p, err := projection.Parse(c.project, projection.Options{Vars: expressions.Scope(), Filter: q.Filter})
				if err != nil {
					t.Fatal(err)
				}
				q.Projection, q.ProjectionSpec = p, c.project
			}
			r := exec.NewReader(f.store.Newest())
			defer r.Close()
			run, err := f.planner.Find(context.Background(), &q, r)
			if err != nil {
				t.Fatal(err)
			}
			defer run.Close()
			if got := run.Summary(); got != c.summary {
				t.Errorf("plan %s, want %s", got, c.summary)
			}
			if got := rest(t, run); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// TestCappedScanPosition saves and restores a scan. The scan must continue at its position, and
// fail if the record there was evicted.
func TestCappedScanPosition(t *testing.T) {
	t.Parallel()
	for _, tailable := range []bool{false, true} {
		f := newCapped(t)
		r := exec.NewReader(f.store.Newest())
		defer r.Close()
		run, err := f.planner.Find(context.Background(),
			&query.Query{DB: "db", Name: "capped", Coll: f.coll, Tailable: tailable}, r)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		pause := func(docs ...bsonx.Doc) {
			run.Save()
			r.Close()
			f.insert(docs...)
			run.Restore(r)
		}
		for i, want := range []string{"3", "1.0"} {
			row, err := run.Next(context.Background())
			if err != nil || row == nil || bsonx.FormatShell(row.Doc.Lookup("_id")) != want {
				t.Fatalf("got %v, %v, want %s", row, err, want)
			}
			if i == 1 {
				pause(bsonx.NewDoc("_id", 4)) // evicts 3
			} else {
				pause()
			}
		}
		if got := rest(t, run); got != "2 4" {
			t.Errorf("tailable %v: got %s", tailable, got)
		}
		pause(bsonx.NewDoc("_id", 5))
		want := ""
		if tailable {
			want = "5"
		}
		if got := rest(t, run); got != want {
			t.Errorf("tailable %v: got %s at the end", tailable, got)
		}
		pause()
		pause(bsonx.NewDoc("_id", 6), bsonx.NewDoc("_id", 7), bsonx.NewDoc("_id", 8))
		if _, err := run.Next(context.Background()); tailable && mongoerr.CodeOf(err) != mongoerr.CappedPositionLost {
			t.Errorf("a lost position: %v", err)
		}
	}
}

// rest returns the remaining _ids of an execution.
func rest(t *testing.T, run *plan.Execution) string {
	t.Helper()
	out := ""
	for {
		row, err := run.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if row == nil {
			return out
		}
		if out != "" {
			out += " "
		}
		out += bsonx.FormatShell(row.Doc.Lookup("_id"))
	}
}
