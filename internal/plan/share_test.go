package plan_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/exec"
)

// TestShare checks that several goroutines together get each document of a collection scan, or of
// an index scan with its records, exactly once.
func TestShare(t *testing.T) {
	t.Parallel()
	_, f := countFixtures(t)
	f.index("a", bsonx.NewDoc("a", 1))
	f.index("b", bsonx.NewDoc("b", 1))
	ctx := context.Background()
	for _, c := range []struct {
		filter string
		shared bool
	}{
		{`{"c.d": {"$ne": "text7"}}`, true},
		{`{"a": {"$lt": 60}}`, true},
		{`{"a": {"$in": [3, 8, 70]}, "c.d": {"$gt": "text3"}}`, true},
		{`{"b": {"$gte": 2}}`, true}, // multikey: each record once
		{`{"_id": 7}`, false},
	} {
		want, err := f.find(f.query(c.filter), 0)
		if err != nil {
			t.Fatal(err)
		}
		got, workers := f.shared(ctx, c.filter)
		if (workers > 0) != c.shared || c.shared && workers < 2 {
			t.Errorf("%s: %d workers", c.filter, workers)
		}
		if c.shared && !slices.Equal(sortedDocs(got), sortedDocs(want)) {
			t.Errorf("%s: %d documents, want %d", c.filter, len(got), len(want))
		}
	}
}

// shared reads a query's documents with several goroutines. The first goroutine waits for a second
// one if the plan can be shared.
func (f *fixture) shared(ctx context.Context, filter string) (docs []bsonx.Doc, workers int) {
	f.t.Helper()
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	run, err := f.planner.Find(ctx, f.query(filter), r)
	if err != nil {
		f.t.Fatal(err)
	}
	defer run.Close()
	var mu sync.Mutex
	var here atomic.Int32
	second := make(chan struct{})
	workers, err = run.Share(ctx, func(ctx context.Context, in exec.Node) error {
		if here.Add(1) == 2 {
			close(second)
		}
		for n := 0; ; n++ {
			row, err := in.Next(ctx)
			if err != nil || row == nil {
				return err
			}
			mu.Lock()
			docs = append(docs, row.Doc.Clone())
			mu.Unlock()
			if n == 9000 {
				select {
				case <-second:
				case <-time.After(10 * time.Second):
					return errors.New("no second worker came")
				}
			}
		}
	})
	if err != nil {
		f.t.Errorf("%s: %v", filter, err)
	}
	return docs, workers
}

func sortedDocs(docs []bsonx.Doc) []string {
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = string(d)
	}
	slices.Sort(out)
	return out
}

// TestShareErrors checks that the first error, and the end of the operation, end all goroutines.
func TestShareErrors(t *testing.T) {
	t.Parallel()
	_, f := countFixtures(t)
	f.index("a", bsonx.NewDoc("a", 1))
	for _, filter := range []string{`{"c.d": {"$ne": "text7"}}`, `{"a": {"$lt": 60}}`} {
		for _, cancelled := range []bool{false, true} {
			ctx, cancel := context.WithCancel(context.Background())
			r := exec.NewReader(f.store.Newest())
			run, err := f.planner.Find(ctx, f.query(filter), r)
			if err != nil {
				t.Fatal(err)
			}
			failure := errors.New("failed")
			_, err = run.Share(ctx, func(ctx context.Context, in exec.Node) error {
				for n := 0; ; n++ {
					row, err := in.Next(ctx)
					if err != nil || row == nil {
						return err
					}
					if n == 2000 && cancelled {
						cancel()
					} else if n == 2000 {
						return failure
					}
				}
			})
			want := failure
			if cancelled {
				want = context.Canceled
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", filter, err, want)
			}
			run.Close()
			_ = r.Close()
			cancel()
		}
	}
}
