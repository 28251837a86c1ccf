package pipeline_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/errortext"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/torture"
)

var record = flag.String("record", "", "URI of a MongoDB server whose errors -rewrite writes")

// TestStages runs the files in testdata/stage, testdata/accumulator and testdata/window. Their
// commands are: docs sets the input documents, one per line; collection sets the documents of a
// named foreign collection; run runs one pipeline per line; update applies one update pipeline per
// line to each document.
func TestStages(t *testing.T) {
	t.Parallel()
	server := errortext.Dial(t, *record,
		`(?s:error processing query: .* planner returned error :: caused by :: )`,
		`Failed to determine whether query system can provide a DISTINCT_SCAN grouping :: caused by :: `)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		var docs []bsonx.Doc
		colls := fakeCollections{}
		server.Fill(t, "c")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "docs":
				docs = nil
				for line := range strings.Lines(d.Input) {
					docs = append(docs, bsonxtest.Parse(t, line))
				}
				server.Fill(t, "c", docs...)
			case "collection":
				name := d.CmdArgs[0].Key
				colls[name] = nil
				for line := range strings.Lines(d.Input) {
					colls[name] = append(colls[name], bsonxtest.Parse(t, line))
				}
				server.Fill(t, name, colls[name]...)
			case "run":
				for line := range strings.Lines(d.Input) {
					out.WriteString(strings.TrimSpace(line) + "\n" +
						run(t, server, bsonxtest.Parse(t, `{"v":`+line+`}`).Lookup("v"), docs, colls))
				}
			case "update":
				for line := range strings.Lines(d.Input) {
					out.WriteString(strings.TrimSpace(line) + "\n" +
						update(t, server, bsonxtest.Parse(t, `{"v":`+line+`}`).Lookup("v"), docs))
				}
			default:
				t.Fatalf("unknown command %q", d.Cmd)
			}
			return out.String()
		})
	})
}

func run(t *testing.T, server *errortext.Server, stages bsonx.Value, docs []bsonx.Doc, colls fakeCollections) string {
	aggregate := bson.D{
		{"aggregate", "c"},
		{"pipeline", rawValue(stages)},
		{"cursor", bson.D{}},
	}
	if strings.HasPrefix(bsonx.FormatShell(stages), "[ { $documents:") {
		aggregate[0].Value = 1
	}
	p, err := pipeline.Parse(stages, parsing.Options{Vars: expressions.Scope(), DB: "db"})
	if err != nil {
		return "  " + server.Of(t, err, aggregate) + "\n"
	}
	if torture.Sample(len(stages.Data), 3) {
		checkMatrix(t, stages, docs)
	}
	out := ""
	err = source.Drain(context.Background(), p.Run(&source.Slice{Docs: docs}, colls.env()), func(d bsonx.Doc) error {
		out += "  " + print(t, d) + "\n"
		return nil
	})
	if err != nil {
		return "  " + server.Of(t, err, aggregate) + "\n"
	}
	return out
}

func rawValue(v bsonx.Value) bson.RawValue {
	return bson.RawValue{Type: bson.Type(v.Type), Value: v.Data}
}

func update(t *testing.T, server *errortext.Server, stages bsonx.Value, docs []bsonx.Doc) string {
	statement := bson.D{{"q", bson.D{}}, {"u", rawValue(stages)}}
	command := bson.D{{"update", "c"}, {"updates", bson.A{statement}}}
	p, err := pipeline.ParseUpdate(stages, parsing.Options{Vars: expressions.Scope()})
	if err != nil {
		return "  " + server.Of(t, err, command) + "\n"
	}
	out := ""
	for _, d := range docs {
		got, err := p.Apply(d)
		if err != nil {
			statement[0].Value = bson.D{{"_id", rawValue(d.Lookup("_id"))}}
			out += "  " + server.Of(t, err, command) + "\n"
			continue
		}
		out += "  " + print(t, got) + "\n"
	}
	return out
}

func print(t *testing.T, d bsonx.Doc) string {
	raw, err := bson.MarshalExtJSON(bson.Raw(d), false, false)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func mustParse(t testing.TB, stages string, opts parsing.Options) *pipeline.Pipeline {
	t.Helper()
	p, err := pipeline.Parse(bsonxtest.Parse(t, `{"v":`+stages+`}`).Lookup("v"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// drain runs a pipeline to its end and discards the results. It does not call tb.Helper, which
// would cost time in a benchmark.
func drain(tb testing.TB, p *pipeline.Pipeline, docs []bsonx.Doc, env *source.Env) {
	if err := source.Drain(context.Background(), p.Run(&source.Slice{Docs: docs}, env),
		func(bsonx.Doc) error { return nil }); err != nil {
		tb.Fatal(err)
	}
}

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	docs := make([]bsonx.Doc, 2000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "s", strings.Repeat("x", 100))
	}
	for _, stages := range []string{
		`[{"$sort": {"s": 1}}]`, `[{"$group": {"_id": "$_id"}}]`, `[{"$group": {"_id": null, "l": {"$push": "$s"}}}]`,
	} {
		p := mustParse(t, stages, parsing.Options{Vars: expressions.Scope()})
		_, err := batch(p.Run(&source.Slice{Docs: docs}, &source.Env{MemoryLimit: 50_000}))
		if mongoerr.CodeOf(err) != mongoerr.QueryExceededMemoryLimitNoDiskUseAllowed {
			t.Errorf("%s: %v", stages, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := mustParse(t, `[{"$sort": {"a": 1}}]`, parsing.Options{Vars: expressions.Scope()})
	if _, err := p.Run(&source.Slice{Docs: []bsonx.Doc{bsonx.Empty}}, nil).
		Next(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		stages, filter, sort, rest string
		skip, limit                int64
	}{
		{
			`[{"$match": {"a": 1}}, {"$match": {"b": 2}}, {"$sort": {"c": -1}}, {"$skip": 2}, {"$limit": 3}, {"$project": {"a": 1}}]`,
			`{"$and":[{"a":1},{"b":2}]}`, `{"c":-1}`, "$project", 2, 3,
		},
		{`[{"$match": {"a": 1}}, {"$project": {"a": 1}}, {"$match": {"b": 1}}]`, `{"a":1}`, "", "$project,$match", 0, 0},
		{`[{"$limit": 5}, {"$match": {"a": 1}}]`, "", "", "$match", 0, 5},
		{`[{"$limit": 5}, {"$skip": 1}]`, "", "", "", 1, 4},
		{`[{"$skip": 3}, {"$limit": 5}, {"$skip": 1}, {"$limit": 2}, {"$count": "n"}]`, "", "", "$count", 4, 2},
		{`[{"$limit": 5}, {"$skip": 5}]`, "", "", "$skip", 0, 5},
		{`[{"$limit": 2}, {"$skip": 1}, {"$limit": 9}]`, "", "", "", 1, 1},
	} {
		lead, rest := mustParse(t, c.stages, parsing.Options{Vars: expressions.Scope()}).Split()
		filter, sort := "", ""
		if lead.Filter != nil {
			filter = print(t, lead.Filter)
		}
		if lead.Sort != nil {
			sort = print(t, lead.Sort)
		}
		if filter != c.filter || sort != c.sort || strings.Join(rest.Stages(), ",") != c.rest ||
			lead.Skip != c.skip || lead.Limit != c.limit {
			t.Errorf("%s: %s %s %v, skip %d, limit %d", c.stages, filter, sort, rest.Stages(), lead.Skip, lead.Limit)
		}
	}
}

func TestTooManyStages(t *testing.T) {
	t.Parallel()
	stages := strings.Repeat(`{"$skip": 1},`, 1000)
	mustParse(t, "["+strings.TrimSuffix(stages, ",")+"]", parsing.Options{Vars: expressions.Scope()})
	_, err := pipeline.Parse(bsonxtest.Parse(t, `{"v":[`+stages+`{"$skip":1}]}`).Lookup("v"),
		parsing.Options{Vars: expressions.Scope()})
	if mongoerr.CodeOf(err) != 7749501 {
		t.Error(err)
	}
}

// FuzzParse states that every accepted pipeline turns a document into well-formed documents.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"v": [{"$match": {"a": 1}}]}`, `{"v": [{"$group": {"_id": "$a", "n": {"$sum": 1}}}]}`, `{"v": [{"$unwind": {"path": "$a", "includeArrayIndex": "i.j"}}]}`,
		`{"v": [{"$sort": {"a.b": -1}}, {"$replaceWith": "$a"}]}`,
	} {
		f.Add([]byte(bsonxtest.Parse(f, seed)))
	}
	doc := bsonxtest.Parse(f, `{"_id": 1, "a": [{"b": 1}, 2], "b": {"c": 1}}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		if bsonx.Validate(data, bsonx.Limits{}) != nil {
			t.Skip()
		}
		p, err := pipeline.Parse(bsonx.Doc(data).First().Value, parsing.Options{Vars: expressions.Scope()})
		if err != nil {
			return
		}
		err = source.Drain(context.Background(),
			p.Run(&source.Slice{Docs: []bsonx.Doc{doc, doc}}, nil), func(d bsonx.Doc) error {
				return bsonx.Validate(d, bsonx.Limits{})
			})
		if code := mongoerr.CodeOf(err); code == mongoerr.InvalidBSON {
			t.Error(err)
		}
	})
}

func BenchmarkGroup(b *testing.B) {
	docs := make([]bsonx.Doc, 10_000)
	for i := range docs {
		docs[i] = bsonx.NewDoc("_id", i, "customer", i%1000, "amount", float64(i), "status", strings.Repeat("s", i%20))
	}
	p := mustParse(b, `[{"$group": {"_id": "$customer", "n": {"$sum": 1}, "total": {"$sum": "$amount"}, "avg": {"$avg": "$amount"}}}]`, parsing.Options{Vars: expressions.Scope()})
	b.ReportAllocs()
	for b.Loop() {
		drain(b, p, docs, nil)
	}
	b.ReportMetric(float64(len(docs)*b.N)/b.Elapsed().Seconds(), "docs/s")
}

func batch(src source.Source) (bsonx.Doc, error) {
	docs := []bsonx.Doc{}
	err := source.Drain(context.Background(), src, func(d bsonx.Doc) error {
		docs = append(docs, d.Clone())
		return nil
	})
	return bsonx.NewDoc("batch", docs), err
}
