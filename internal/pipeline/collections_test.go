package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// fakeCollections is a database in memory: documents by collection name. A collection whose name
// begins with "indexed" claims to have an index on every field.
type fakeCollections map[string][]bsonx.Doc

func (c fakeCollections) env() *source.Env { return &source.Env{Collections: c, Writer: c} }

// Open implements source.Collections.
func (c fakeCollections) Open(_ context.Context, db, name string, stages []bsonx.Value,
	vars *expr.Vars,
) (source.Source, error) {
	p, err := pipeline.Parse(bsonx.ValueOf(stages), parsing.Options{Vars: vars, DB: db})
	if err != nil {
		return nil, err
	}
	return p.Run(&source.Slice{Docs: c[name]}, c.env()), nil
}

// Indexed implements source.Collections.
func (c fakeCollections) Indexed(_, name, _ string, _ bool) bool {
	return strings.HasPrefix(name, "indexed")
}

// Out implements source.Writer.
func (c fakeCollections) Out(ctx context.Context, target *source.Out, src source.Source) error {
	c[target.Coll] = nil
	return source.Drain(ctx, src, func(doc bsonx.Doc) error {
		c[target.Coll] = append(c[target.Coll], doc.Clone())
		return nil
	})
}

// Merge implements source.Writer. It appends each document together with the merge modes, and
// merges nothing.
func (c fakeCollections) Merge(ctx context.Context, target *source.Merge, src source.Source) error {
	return source.Drain(ctx, src, func(doc bsonx.Doc) error {
		if _, err := target.Vars(doc); err != nil {
			return err
		}
		modes := fmt.Sprint(target.On, target.WhenMatched, target.WhenNotMatched)
		c[target.Coll] = append(c[target.Coll], bsonx.NewDoc("modes", modes, "doc", doc.Clone()))
		return nil
	})
}

// TestLookupPlansAgree checks that $lookup gives the same result with a nested search, a hash
// table and an index, for values of many types.
func TestLookupPlansAgree(t *testing.T) {
	t.Parallel()
	var docs []bsonx.Doc
	values := `1|2.0|null|[]|[1,2]|[[1,2]]|[null]|{"b":1}|[{"b":1},{"c":2}]|"a"|[[]]|{"$numberLong":"1"}|{"$numberDecimal":"2"}|{"b":[1,2]}|true`
	for i, v := range strings.Split(values, "|") {
		docs = append(docs, bsonxtest.Parse(t, fmt.Sprintf(`{"_id": %d, "k": %s}`, i, v)))
	}
	docs = append(docs, bsonxtest.Parse(t, `{"_id": 99}`))
	for _, paths := range [][2]string{
		{"k", "k"},
		{"k.b", "k"},
		{"k", "k.b"},
		{"k.b", "k.b"},
		{"k.0", "k"},
		{"k", "k.0"},
	} {
		stages := fmt.Sprintf(`[{"$lookup": {"from": "%%s", "localField": %q, "foreignField": %q, "as": "r"}}, {"$project": {"r._id": 1}}]`, paths[0], paths[1])
		colls := fakeCollections{"f": docs, "indexedF": docs}
		table := results(t, fmt.Sprintf(stages, "f"), docs, colls.env())
		index := results(t, fmt.Sprintf(stages, "indexedF"), docs, colls.env())
		little := colls.env()
		little.MemoryLimit = 100
		scans := results(t, fmt.Sprintf(stages, "f"), docs, little)
		little.AllowDiskUse, little.TempDir = true, t.TempDir()
		file := results(t, fmt.Sprintf(stages, "f"), docs, little)
		if table != index || table != scans || table != file {
			t.Errorf("%s:\n%s\n%s\n%s\n%s", paths, table, index, scans, file)
		}
		if left, err := os.ReadDir(little.TempDir); err != nil || len(left) > 0 {
			t.Errorf("files are left: %v, %v", left, err)
		}
	}
}

// TestLookupFile runs $lookup with a hash table on disk. There are more documents of one value, and
// more values, than one block of the file holds.
func TestLookupFile(t *testing.T) {
	t.Parallel()
	var foreign, docs []bsonx.Doc
	for i := range 6000 {
		foreign = append(foreign,
			bsonx.NewDoc("_id", i, "k",
				[]bsonx.Value{bsonx.Int32(int32(i)), bsonx.String([]string{"many", "few"}[min(i%3, 1)*min(i%100, 1)])}))
	}
	for i := range 300 {
		docs = append(docs, bsonx.NewDoc("_id", i, "k", i*21))
	}
	docs = append(docs, bsonx.NewDoc("_id", "a", "k", "few"), bsonx.NewDoc("_id", "b", "k", "many"),
		bsonx.NewDoc("_id", "c", "k", "none"), bsonx.NewDoc("_id", "d"))
	stages := `[{"$lookup": {"from": "f", "localField": "k", "foreignField": "k", "as": "r"}}, {"$project": {"r._id": 1}}]`
	env := fakeCollections{"f": foreign}.env()
	want := results(t, stages, docs, env)
	env.MemoryLimit, env.AllowDiskUse, env.TempDir = 40_000, true, t.TempDir()
	if got := results(t, stages, docs, env); got != want {
		t.Error("the answers of the table on the disk differ from those of the one in memory")
	}
}

func results(t *testing.T, stages string, docs []bsonx.Doc, env *source.Env) string {
	t.Helper()
	var out strings.Builder
	src := mustParse(t, stages, parsing.Options{Vars: expressions.Scope(), DB: "db"}).
		Run(&source.Slice{Docs: docs}, env)
	defer src.Close()
	err := source.Drain(context.Background(), src, func(d bsonx.Doc) error {
		out.WriteString(print(t, d) + "\n")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestGraphLookupMemory(t *testing.T) {
	t.Parallel()
	var docs []bsonx.Doc
	for i := range 1000 {
		docs = append(docs, bsonx.NewDoc("_id", i, "next", i+1))
	}
	env := fakeCollections{"c": docs}.env()
	env.MemoryLimit = 20_000
	p := mustParse(t, `[{"$graphLookup": {"from": "c", "startWith": 0, "connectFromField": "next", "connectToField": "_id", "as": "r"}}]`, parsing.Options{Vars: expressions.Scope(), DB: "db"})
	_, err := p.Run(&source.Slice{Docs: docs[:1]}, env).Next(context.Background())
	if mongoerr.CodeOf(err) != 40099 {
		t.Error(err)
	}
}

// TestFacetStreams checks that the pipelines of a $facet read the input once together, and that
// an error in one of them ends all.
func TestFacetStreams(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 10_000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "m", i%7)
	}
	p := mustParse(t, `[{"$facet": {"n": [{"$count": "n"}], "one": [{"$limit": 1}], "none": [{"$match": {"m": 9}}], "last": [{"$skip": 9999}]}}]`, parsing.Options{Vars: expressions.Scope()})
	src := p.Run(&source.Slice{Docs: docs}, nil)
	defer src.Close()
	doc, err := src.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := print(t, doc); got != `{"n":[{"n":10000}],"one":[{"_id":0,"m":0}],"none":[],"last":[{"_id":9999,"m":3}]}` {
		t.Error(got)
	}
	p = mustParse(t, `[{"$facet": {"n": [{"$count": "n"}], "bad": [{"$skip": 5000}, {"$project": {"x": {"$divide": [1, {"$subtract": ["$m", "$m"]}]}}}]}}]`, parsing.Options{Vars: expressions.Scope()})
	if _, err := p.Run(&source.Slice{Docs: docs}, nil).Next(context.Background()); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p = mustParse(t, `[{"$facet": {"n": [{"$count": "n"}]}}]`, parsing.Options{Vars: expressions.Scope()})
	if _, err := p.Run(&source.Slice{Docs: docs}, nil).Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNestedSubPipelines(t *testing.T) {
	t.Parallel()
	nest := func(n int) bsonx.Value {
		stages := `[]`
		for range n {
			stages = `[{"$lookup": {"from": "c", "pipeline": ` + stages + `, "as": "r"}}]`
		}
		return bsonxtest.Parse(t, `{"v":`+stages+`}`).Lookup("v")
	}
	if _, err := pipeline.Parse(nest(20), parsing.Options{Vars: expressions.Scope()}); err != nil {
		t.Error(err)
	}
	if _, err := pipeline.Parse(nest(21),
		parsing.Options{Vars: expressions.Scope()}); mongoerr.CodeOf(err) != mongoerr.MaxSubPipelineDepthExceeded {
		t.Error(err)
	}
}

// BenchmarkLookup joins 10,000 documents with 1,000 documents by a field without an index. Each
// foreign document has ten matches.
func BenchmarkLookup(b *testing.B) {
	docs := make([]bsonx.Doc, 10_000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "customer", i%1000, "amount", float64(i))
	}
	customers := make([]bsonx.Doc, 1000)
	for i := range customers {
		customers[i] = bsonx.NewDoc("_id", i, "name", strings.Repeat("n", 50))
	}
	env := fakeCollections{"c": customers}.env()
	p := mustParse(b, `[{"$lookup": {"from": "c", "localField": "customer", "foreignField": "_id", "as": "c"}}]`, parsing.Options{Vars: expressions.Scope()})
	b.ReportAllocs()
	for b.Loop() {
		drain(b, p, docs, env)
	}
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}
