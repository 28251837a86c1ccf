package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// lookedAt is an operation that counts how often its end is checked.
type lookedAt struct {
	context.Context
	times int
}

func (o *lookedAt) Err() error {
	o.times++
	return nil
}

// TestExplainLooks counts how often an explain command checks whether its operation has ended while
// it shows a large $in: as the query, as the filter of a stage, or as the bounds of an index.
func TestExplainLooks(t *testing.T) {
	t.Parallel()
	const n = 1 << 16
	list := strings.Repeat("%d,", n)
	numbers := make([]any, n)
	for i := range numbers {
		numbers[i] = i
	}
	list = strings.TrimSuffix(fmt.Sprintf(list, numbers...), ",")
	f := largeFixture(t)
	for field, want := range map[string]int{"a": 9, "x": 2} {
		parsed, err := filter.Parse(bsonxtest.MustParse(fmt.Sprintf(`{"%s": {"$in": [%s]}}`, field, list)),
			filter.FindOptions(expressions.Scope(), time.Time{}))
		if err != nil {
			t.Fatal(err)
		}
		r := exec.NewReader(f.store.Newest())
		op := &lookedAt{Context: t.Context()}
		q := &query.Query{DB: "db", Name: "c", Coll: f.store.Current(f.coll), Filter: parsed}
		if _, err := f.planner.Explain(op, &explain.Request{Query: q, Verbosity: explain.QueryPlanner}, r); err != nil {
			t.Fatal(err)
		}
		if looks := want * n * interrupt.Step / interrupt.Interval; op.times < looks {
			t.Errorf("%s: %d looks at the operation, want %d", field, op.times, looks)
		}
		_ = r.Close()
	}
}
