package write_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/update"
	"github.com/sheafdb/sheaf/internal/write"
)

// TestStatementsLook runs small statements in operations that have ended. A command may have
// 100,000 such statements, each too short to notice the end by itself.
func TestStatementsLook(t *testing.T) {
	t.Parallel()
	store, err := schema.Open(mem.New(), ddl.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	c, err := schema.Create(store, "db", "c", "collection", bsonx.NewDoc())
	if err != nil {
		t.Fatal(err)
	}
	series, err := schema.CreateTimeseries(store, "db", "s", bsonx.NewDoc("timeseries", bsonx.NewDoc("timeField", "t")))
	if err != nil {
		t.Fatal(err)
	}
	writes := write.New(store, plan.New(plan.Options{}))
	f, err := filter.Parse(bsonx.NewDoc("_id", 1), filter.Options{Vars: expressions.Scope()})
	if err != nil {
		t.Fatal(err)
	}
	u, err := update.Parse(bsonx.Document(bsonx.NewDoc("x", 1)), update.Options{})
	if err != nil {
		t.Fatal(err)
	}
	query := write.Query{Coll: c, Filter: f, One: true}
	opts := write.Options{View: store.Newest()}
	docs := []bsonx.Doc{bsonx.NewDoc("_id", 1), bsonx.NewDoc("_id", 1), bsonx.NewDoc("_id", 2), bsonx.NewDoc("_id", 3)}
	// The second document is refused, so the documents are inserted one by one.
	insert := func(ctx context.Context) error {
		_, err := writes.Insert(ctx, writes.Only(c), docs, opts, func(int, error) {})
		return err
	}
	for _, st := range []struct {
		name  string
		looks int
		run   func(ctx context.Context) error
	}{
		{"upsert", 0, func(ctx context.Context) error {
			st := &write.UpdateStatement{Query: query, RawFilter: f.Spec(), Update: u, Upsert: true}
			_, err := writes.Update(ctx, st, opts)
			return err
		}},
		{"delete", 0, func(ctx context.Context) error {
			_, err := writes.Delete(ctx, &write.DeleteStatement{Query: query}, opts)
			return err
		}},
		{"delete of measurements", 0, func(ctx context.Context) error {
			st := &write.MeasurementDelete{Buckets: write.Query{Coll: series, Filter: f}, Filter: f}
			_, err := writes.DeleteMeasurements(ctx, st, opts)
			return err
		}},
		{"insert", len(docs), insert},
	} {
		if err := st.run(interrupttest.EndAfter(t.Context(), st.looks)); !errors.Is(err, interrupttest.ErrEnded) {
			t.Errorf("%s: %v", st.name, err)
		}
		if err := st.run(t.Context()); err != nil {
			t.Errorf("%s: %v", st.name, err)
		}
	}
}
