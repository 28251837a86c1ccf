package plan_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
	"github.com/sheafdb/sheaf/internal/projection"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// compiler compiles catalog entries as the server does.
type compiler struct{}

func (compiler) Partial(doc bsonx.Doc, co *collation.Collator) (table.Predicate, error) {
	return filter.Parse(doc, filter.Options{Vars: expressions.Scope(), Collation: co})
}

func (compiler) Validator(bsonx.Doc, *collation.Collator) (table.Validator, error) { return nil, nil }

// fixture is a store with one collection and a planner.
type fixture struct {
	t       testing.TB
	engine  storage.Engine
	store   *table.Store
	coll    *table.Collection
	planner *plan.Planner
}

func newFixture(t testing.TB) *fixture { return newFixtureOn(t, mem.New()) }

func newFixtureOn(t testing.TB, engine storage.Engine) *fixture {
	t.Helper()
	s, err := schema.Open(engine, compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := schema.Create(s, "db", "c", "collection", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t: t, engine: engine, store: s, coll: c, planner: plan.New(plan.Options{})}
}

func (f *fixture) insert(docs ...bsonx.Doc) {
	f.t.Helper()
	w, err := f.store.BeginWrite(f.coll)
	if err != nil {
		f.t.Fatal(err)
	}
	defer w.Close()
	for _, doc := range docs {
		if err := w.Insert(context.Background(), doc); err != nil {
			f.t.Fatal(err)
		}
	}
	if err := w.Commit(storage.Buffered); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) index(name string, key bsonx.Doc, options ...any) {
	f.t.Helper()
	spec := bsonx.NewDoc(append([]any{"v", 2, "key", key, "name", name}, options...)...)
	if err := schema.CreateIndexes(context.Background(), f.store, f.coll, []bsonx.Doc{spec}); err != nil {
		f.t.Fatal(err)
	}
	f.coll = f.store.Current(f.coll)
}

// query parses a query given as extended JSON: a filter, and optionally a sort and a projection.
func (f *fixture) query(filterJSON string, more ...string) *query.Query {
	f.t.Helper()
	q := &query.Query{DB: "db", Name: "c", Coll: f.store.Current(f.coll), AllowDiskUse: true}
	q.Filter = mustFilter(f.t, bsonxtest.MustParse(filterJSON))
	if len(more) > 0 && more[0] != "" {
		q.Sort = bsonxtest.MustParse(more[0])
	}
	if len(more) > 1 && more[1] != "" {
		q.ProjectionSpec = bsonxtest.MustParse(more[1])
		p, err := projection.Parse(q.ProjectionSpec, projection.Options{Vars: expressions.Scope()})
		if err != nil {
			f.t.Fatal(err)
		}
		q.Projection = p
	}
	return q
}

func mustFilter(t testing.TB, d bsonx.Doc) *filter.Filter {
	t.Helper()
	parsed, err := filter.Parse(d, filter.FindOptions(expressions.Scope(), time.Time{}))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// find runs a query. It saves and restores the execution every few rows.
func (f *fixture) find(q *query.Query, every int) ([]bsonx.Doc, error) {
	ctx := context.Background()
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	e, err := f.planner.Find(ctx, q, r)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var out []bsonx.Doc
	for {
		row, err := e.Next(ctx)
		if err != nil || row == nil {
			return out, err
		}
		out = append(out, row.Doc.Clone())
		if every > 0 && len(out)%every == 0 {
			e.Save()
			if err := r.Close(); err != nil {
				return nil, err
			}
			e.Restore(r)
		}
	}
}

func (f *fixture) explain(q *query.Query, cmd explain.Command, v explain.Verbosity) *explain.Explanation {
	f.t.Helper()
	req := &explain.Request{Query: q, Command: cmd, Verbosity: v, Multi: true, Records: f.records}
	e, err := f.tryExplain(req)
	if err != nil {
		f.t.Fatal(err)
	}
	return e
}

func (f *fixture) tryExplain(req *explain.Request) (*explain.Explanation, error) {
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	return f.planner.Explain(context.Background(), req, r)
}

func (f *fixture) records() (int64, error) {
	n, err := f.store.Count(f.coll)
	return n.Count, err
}

// text prints a document as extended JSON.
func text(d bsonx.Doc) string {
	b, err := bson.MarshalExtJSON(bson.Raw(d), false, false)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (f *fixture) count(q *query.Query) (int64, error) {
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	return f.planner.Count(context.Background(), q, r, f.records)
}

func (f *fixture) distinct(q *query.Query, field string) (bsonx.Value, error) {
	r := exec.NewReader(f.store.Newest())
	defer func() { _ = r.Close() }()
	return f.planner.Distinct(context.Background(), q, field, r)
}

// insertValid inserts the documents that no index refuses (for parallel arrays) and returns them.
func (f *fixture) insertValid(docs []bsonx.Doc, _ int) []bsonx.Doc {
	var out []bsonx.Doc
	for _, d := range docs {
		w, err := f.store.BeginWrite(f.coll)
		if err != nil {
			f.t.Fatal(err)
		}
		if w.Insert(context.Background(), d) == nil && w.Commit(storage.Buffered) == nil {
			out = append(out, d)
		}
		w.Close()
	}
	return out
}
