package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/plan/explain"
)

// TestExplodedScans checks that an index scan is replaced by a merge of at most
// limits.ExplodedScans scans.
func TestExplodedScans(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("ab", bsonx.NewDoc("a", 1, "b", 1))
	for beyond := range 2 {
		values := make([]string, limits.ExplodedScans+beyond)
		for i := range values {
			values[i] = fmt.Sprint(i)
		}
		q := f.query(fmt.Sprintf(`{"a": {"$in": [%s]}}`, strings.Join(values, ",")), `{"b": 1}`)
		e := f.explain(q, explain.Find, explain.QueryPlanner)
		merged := strings.Contains(bsonx.FormatShell(bsonx.Document(e.QueryPlanner)), "SORT_MERGE")
		if merged != (beyond == 0) {
			t.Errorf("%d scans: merged %v", len(values), merged)
		}
	}
}

// TestTrialEnds checks that a trial ends after limits.TrialResults rows of a candidate, or after
// limits.TrialWorks works.
func TestTrialEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("a", bsonx.NewDoc("a", 1))
	f.index("b", bsonx.NewDoc("b", 1))
	docs := make([]bsonx.Doc, limits.TrialWorks+100)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "a", 1, "b", 1, "c", i%2)
	}
	f.insert(docs...)
	for _, c := range []struct {
		filter string
		field  string
		want   int64
	}{
		{`{"a": 1, "b": 1}`, "nReturned", limits.TrialResults},
		{`{"a": 1, "b": 1, "c": 2}`, "totalKeysExamined", limits.TrialWorks},
	} {
		e := f.explain(f.query(c.filter), explain.Find, explain.AllPlansExecution)
		var most int64
		for _, v := range e.ExecutionStats.Lookup("allPlansExecution").Doc().Values() {
			n, _ := v.Doc().Lookup(c.field).AsInt64()
			most = max(most, n)
		}
		if most != c.want {
			t.Errorf("%s: %s is %d, want %d", c.filter, c.field, most, c.want)
		}
	}
}

// TestReplanFactor checks that a cached plan is given up after limits.ReplanFactor times the works
// of its trial.
func TestReplanFactor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.index("a", bsonx.NewDoc("a", 1))
	f.index("b", bsonx.NewDoc("b", 1))
	id := 0
	insert := func(n, a, b int) {
		for range n {
			id++
			f.insert(bsonx.NewDoc("_id", id, "a", a, "b", b))
		}
	}
	find := func(a int) {
		if _, err := f.find(f.query(fmt.Sprintf(`{"a": %d, "b": 1}`, a)), 0); err != nil {
			t.Fatal(err)
		}
	}
	// The index b has so many entries that a plan with the index a always wins. It finds nothing,
	// so its works are the number of its entries and a constant.
	insert(1000, 0, 1)
	insert(4, 1, 0)
	find(1)
	find(1) // the second trial activates the plan
	works := int(f.planner.CachedPlans(f.coll.ID)[0].Works)
	limit := works*limits.ReplanFactor - (works - 4)
	insert(limit, 2, 0)
	insert(limit+1, 3, 0)
	find(2)
	if n := f.planner.CacheStats().Replans; n != 0 {
		t.Errorf("%d replans after %d times the works", n, limits.ReplanFactor)
	}
	find(3)
	if n := f.planner.CacheStats().Replans; n != 1 {
		t.Errorf("%d replans after a work more", n)
	}
}
