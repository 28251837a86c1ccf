package plan_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// parallelRecords is more than the number of records after which a scan starts other workers.
const parallelRecords = 20_000

// countFixtures returns one collection with two planners: the scans of serial run on one processor,
// the scans of parallel on four.
func countFixtures(t *testing.T) (serial, parallel *fixture) {
	t.Helper()
	f := newFixture(t)
	docs := make([]bsonx.Doc, parallelRecords)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "a", i%100, "b",
			[]bsonx.Value{bsonx.Int32(int32(i % 7)), bsonx.Int32(int32(i % 11))},
			"c", bsonx.NewDoc("d", fmt.Sprint("text", i%50)))
	}
	f.insert(docs...)
	one, four := *f, *f
	one.planner = plan.New(plan.Options{Processors: 1})
	four.planner = plan.New(plan.Options{Processors: 4})
	return &one, &four
}

func (f *fixture) countUntil(ctx context.Context, q *query.Query) (int64, error) {
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	return f.planner.Count(ctx, q, r, nil)
}

func TestParallelCount(t *testing.T) {
	t.Parallel()
	serial, parallel := countFixtures(t)
	ctx := context.Background()
	random := rand.New(rand.NewPCG(5, 6))
	predicates := []func() string{
		func() string { return fmt.Sprintf(`{"a": {"$lt": %d}}`, random.IntN(110)) },
		func() string { return fmt.Sprintf(`{"b": %d}`, random.IntN(12)) },
		func() string {
			return fmt.Sprintf(`{"b": {"$elemMatch": {"$gt": %d, "$lt": %d}}}`, random.IntN(11), random.IntN(11))
		},
		func() string { return fmt.Sprintf(`{"c.d": {"$regex": "%d$"}}`, random.IntN(60)) },
		func() string { return fmt.Sprintf(`{"_id": {"$gte": %d}}`, random.IntN(parallelRecords)) },
		func() string { return fmt.Sprintf(`{"$expr": {"$eq": [{"$mod": ["$_id", 10]}, %d]}}`, random.IntN(12)) },
	}
	for range 60 {
		a, b := predicates[random.IntN(len(predicates))](), predicates[random.IntN(len(predicates))]()
		query := []string{
			a, fmt.Sprintf(`{"$and": [%s, %s]}`, a, b), fmt.Sprintf(`{"$or": [%s, %s]}`, a, b),
			fmt.Sprintf(`{"$nor": [%s]}`, b),
		}[random.IntN(4)]
		want, err := serial.countUntil(ctx, serial.query(query))
		if err != nil {
			t.Fatal(query, err)
		}
		if got, err := parallel.countUntil(ctx, parallel.query(query)); got != want || err != nil {
			t.Errorf("%s: %d, %v, want %d", query, got, err, want)
		}
	}
	q := parallel.query(`{"a": {"$lt": 50}}`)
	q.Skip, q.Limit = 10, 9000
	if got, err := parallel.countUntil(ctx, q); got != 9000 || err != nil {
		t.Errorf("with skip and limit: %d, %v", got, err)
	}
}

func TestParallelCountErrors(t *testing.T) {
	t.Parallel()
	serial, parallel := countFixtures(t)
	ctx := context.Background()
	// Two documents cause errors. Which error comes first depends on the order of the scan.
	query := `{"$expr": {"$cond": [{"$eq": ["$_id", 9000]}, {"$divide": ["$_id", 0]}, {"$cond": [{"$eq": ["$_id", 19000]}, {"$add": ["$c.d", 1]}, true]}]}}`
	_, want := serial.countUntil(ctx, serial.query(query))
	if want == nil {
		t.Fatal("no error")
	}
	for range 10 {
		if _, err := parallel.countUntil(ctx, parallel.query(query)); err == nil || err.Error() != want.Error() {
			t.Errorf("error %v, want %v", err, want)
		}
	}
	options := filter.FindOptions(expressions.Scope(), time.Time{})
	options.JSTimeout = 20 * time.Millisecond
	slow, err := filter.Parse(bsonxtest.MustParse(`{"_id": {"$gte": 15000}, "$where": "while (true) {}"}`), options)
	if err != nil {
		t.Fatal(err)
	}
	q := parallel.query(`{}`)
	q.Filter = slow
	if _, err := parallel.countUntil(ctx, q); err == nil {
		t.Error("an endless $where was counted")
	}
}

func TestParallelCountInterrupt(t *testing.T) {
	t.Parallel()
	_, parallel := countFixtures(t)
	expired := mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
	ctx, cancel := context.WithTimeoutCause(context.Background(), 5*time.Millisecond, expired)
	defer cancel()
	q := parallel.query(`{"$expr": {"$gt": [{"$reduce": {"input": {"$range": [0, 1000]}, "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}, 1]}}`)
	if _, err := parallel.countUntil(ctx, q); !errors.Is(err, expired) {
		t.Errorf("error %v, want %v", err, expired)
	}
}

// TestParallelCountExplain checks that explain runs a count with one goroutine, so that its
// counters are the counters of the plan.
func TestParallelCountExplain(t *testing.T) {
	t.Parallel()
	_, parallel := countFixtures(t)
	r := exec.NewReader(parallel.store.Newest())
	defer func() { _ = r.Close() }()
	e, err := parallel.planner.Explain(context.Background(), &explain.Request{
		Query: parallel.query(`{"a": 5}`), Command: explain.Count, Verbosity: explain.ExecutionStats,
	}, r)
	if err != nil {
		t.Fatal(err)
	}
	stage := e.ExecutionStats.LookupPath("executionStages")
	if n := stage.Doc().Lookup("nCounted"); n.Int32() != parallelRecords/100 {
		t.Errorf("stats %s", bsonx.FormatShell(stage))
	}
	if n := e.ExecutionStats.Lookup("totalDocsExamined"); n.Int32() != parallelRecords {
		t.Errorf("examined %s", bsonx.FormatShell(n))
	}
}
