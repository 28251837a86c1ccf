package projection_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/errortext"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/projection"
)

var record = flag.String("record", "", "URI of a MongoDB server whose errors -rewrite writes")

// TestProjections runs testdata. The command docs sets the documents, one per line. filter sets the
// query. find, stage, addFields and unset compile their first line and print the result for each
// document that the query matches.
func TestProjections(t *testing.T) {
	t.Parallel()
	server := errortext.Dial(t, *record, `Invalid \$[a-zA-Z]+ :: caused by :: `)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			return
		}
		var docs []bsonx.Doc
		query := bsonx.Empty
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "docs":
				docs = nil
				for line := range strings.Lines(d.Input) {
					docs = append(docs, bsonxtest.Parse(t, line))
				}
				server.Fill(t, "c", docs...)
				return ""
			case "filter":
				query = bsonxtest.Parse(t, d.Input)
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				out.WriteString(project(t, server, d.Cmd, strings.TrimSpace(line), query, docs))
			}
			return out.String()
		})
	})
}

func project(t *testing.T, server *errortext.Server, kind, line string, query bsonx.Doc, docs []bsonx.Doc) string {
	f, err := filter.Parse(query, filter.Options{Vars: expressions.Scope()})
	if err != nil {
		t.Fatal(err)
	}
	spec := bsonxtest.Parse(t, `{"v":`+line+`}`).Lookup("v")
	var p *projection.Projection
	switch kind {
	case "find":
		p, err = projection.Parse(spec.Doc(), projection.Options{Vars: expressions.Scope(), Filter: f})
	case "stage":
		p, err = projection.ParseStage(spec.Doc(), projection.Options{Vars: expressions.Scope()})
	case "addFields":
		p, err = projection.ParseAddFields(spec.Doc(), projection.Options{Vars: expressions.Scope()})
	case "unset":
		var paths []string
		if paths, err = projection.UnsetPaths(spec); err == nil {
			p, err = projection.ParseUnset(paths, projection.Options{Vars: expressions.Scope()})
		}
	default:
		t.Fatalf("unknown command %q", kind)
	}
	out := line + "\n"
	if err != nil {
		return out + "  " + server.Of(t, err, asCommand(kind, spec, query)) + "\n"
	}
	for _, doc := range docs {
		if ok, err := f.Match(doc); !ok || err != nil {
			continue
		}
		got, err := p.Apply(nil, doc, nil)
		if err != nil {
			out += "  " + server.Of(t, err, asCommand(kind, spec, query)) + "\n"
			continue
		}
		raw, err := bson.MarshalExtJSON(bson.Raw(got), false, false)
		if err != nil {
			t.Fatal(err)
		}
		out += "  " + string(raw) + "\n"
	}
	return out
}

// asCommand returns the command for the projection of a case.
func asCommand(kind string, spec bsonx.Value, query bsonx.Doc) bson.D {
	value := bson.RawValue{Type: bson.Type(spec.Type), Value: spec.Data}
	if kind == "find" {
		return bson.D{
			{"find", "c"},
			{"filter", bson.Raw(query)},
			{"projection", value},
		}
	}
	stages := map[string]string{"stage": "$project", "addFields": "$addFields", "unset": "$unset"}
	match := bson.D{{"$match", bson.Raw(query)}}
	return bson.D{
		{"aggregate", "c"},
		{"pipeline", bson.A{match, bson.D{{stages[kind], value}}}},
		{"cursor", bson.D{}},
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec   string
		paths  string
		simple bool
	}{
		{`{"a": 1, "b.c": 1}`, "a,b.c,_id", true},
		{`{"a": 1, "_id": 0}`, "a", true},
		{`{"_id": 1}`, "_id", true},
		{`{"a": 0}`, "", false},
		{`{"a": 1, "x": "$b"}`, "", false},
		{`{"a": {"$slice": 1}}`, "", false},
		{`{}`, "", false},
	} {
		p, err := projection.Parse(bsonxtest.Parse(t, c.spec), projection.Options{Vars: expressions.Scope()})
		if err != nil {
			t.Fatal(err)
		}
		if paths, simple := p.Fields(); strings.Join(paths, ",") != c.paths || simple != c.simple {
			t.Errorf("%s: %v %v", c.spec, paths, simple)
		}
	}
}

// TestReads checks which fields a plan must read to answer from index entries.
func TestReads(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		`{"a": 1}`:                        "_id,a",
		`{"_id": 0, "x": "$a.b"}`:         "a.b",
		`{"_id": 0, "x": "$a", "b.c": 1}`: "a,b.c",
		`{"o.x": "$_id"}`:                 "_id,o",
		`{"_id": 0, "o": {"x": "$a"}}`:    "a,o",
		`{"_id": 0, "o.p.x": "$a"}`:       "a,o",
		`{"x": "$$ROOT"}`:                 "",
		`{"a": 0}`:                        "",
		`{"a": 1, "s": {"$slice": 1}}`:    "",
	} {
		p, err := projection.Parse(bsonxtest.Parse(t, spec), projection.Options{Vars: expressions.Scope()})
		if err != nil {
			t.Fatal(err)
		}
		paths, ok := p.Reads()
		slices.Sort(paths)
		if got := strings.Join(slices.Compact(paths), ","); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s, %v, want %s", spec, got, ok, want)
		}
	}
}

func TestMetaAndDetails(t *testing.T) {
	t.Parallel()
	f, err := filter.Parse(bsonxtest.Parse(t, `{"a": 2}`), filter.Options{Vars: expressions.Scope()})
	if err != nil {
		t.Fatal(err)
	}
	p, err := projection.Parse(bsonxtest.Parse(t, `{"a.$": 1}`),
		projection.Options{Vars: expressions.Scope(), Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	if !p.NeedsDetails() || !p.Dependencies().WholeDocument {
		t.Error("the positional operator needs the query")
	}
	got, err := p.Apply(nil, bsonxtest.Parse(t, `{"a": [1, 2]}`), &projection.Meta{ArrayIndex: 0, HasArrayIndex: true})
	if err != nil || bsonx.Doc(got).Lookup("a").Doc().Index(0).Int32() != 1 {
		t.Errorf("%v %v", got, err)
	}
	p, err = projection.Parse(bsonxtest.Parse(t, `{"r": {"$meta": "recordId"}}`),
		projection.Options{Vars: expressions.Scope()})
	if err != nil {
		t.Fatal(err)
	}
	got, err = p.Apply(nil, bsonxtest.Parse(t, `{"a": 1}`), &projection.Meta{Meta: expr.Meta{RecordID: bsonx.Int64(7)}})
	if err != nil || len(p.MetaKinds()) == 0 || bsonx.Doc(got).Lookup("r").Int64() != 7 ||
		bsonx.Doc(got).Lookup("a").IsMissing() {
		t.Errorf("%v %v", got, err)
	}
}

// TestPlainAllocatesNothing checks that a projection of plain names allocates nothing: invariant 4
// of the package.
func TestPlainAllocatesNothing(t *testing.T) {
	doc := bsonxtest.Parse(t, `{"_id": 1, "a": 1, "b": "x", "c": [1, {"d": 1}], "e": {"f": 1, "g": 2}}`)
	for _, spec := range []string{`{"a": 1}`, `{"b": 0}`, `{"e.f": 1, "c.d": 1}`, `{"_id": 0}`} {
		p, err := projection.Parse(bsonxtest.Parse(t, spec), projection.Options{Vars: expressions.Scope()})
		if err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 0, 1024)
		if n := testing.AllocsPerRun(100, func() { buf, _ = p.Apply(buf[:0], doc, nil) }); n > 0 {
			t.Errorf("%s: %v allocations", spec, n)
		}
	}
}

// FuzzParse states that an accepted specification gives a well-formed document for any document.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"a": 1}`, `{"a.b": 0, "_id": 1}`, `{"a": {"$slice": [1, 2]}}`,
		`{"a": {"$elemMatch": {"b": 1}}}`, `{"a": {"b": {"c": "$x"}}}`,
	} {
		f.Add([]byte(bsonxtest.Parse(f, seed)),
			[]byte(bsonxtest.Parse(f, `{"_id": 1, "a": [{"b": 1}, [2], {"b": {"c": [1, 2]}}]}`)))
	}
	f.Fuzz(func(t *testing.T, spec, doc []byte) {
		if bsonx.Validate(spec, bsonx.Limits{}) != nil || bsonx.Validate(doc, bsonx.Limits{}) != nil {
			t.Skip()
		}
		for _, parse := range []func(bsonx.Doc, projection.Options) (*projection.Projection, error){
			projection.Parse, projection.ParseStage, projection.ParseAddFields,
		} {
			p, err := parse(spec, projection.Options{Vars: expressions.Scope()})
			if err != nil {
				continue
			}
			out, err := p.Apply(nil, doc, nil)
			if err != nil {
				continue
			}
			if err := bsonx.Validate(out, bsonx.Limits{}); err != nil && mongoerr.CodeOf(err) != mongoerr.Overflow {
				t.Errorf("%v", err)
			}
		}
	})
}

func benchmark(b *testing.B, spec string) {
	doc := bsonx.NewDoc("_id", 1, "a", 5, "b", strings.Repeat("x", 400), "c", bsonx.NewDoc("d", 1, "e", 2), "f",
		strings.Repeat("y", 400), "g", 9)
	p, err := projection.Parse(bsonxtest.Parse(b, spec), projection.Options{Vars: expressions.Scope()})
	if err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 0, 2048)
	b.ReportAllocs()
	for b.Loop() {
		if buf, err = p.Apply(buf[:0], doc, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInclude(b *testing.B)  { benchmark(b, `{"a": 1, "g": 1}`) }
func BenchmarkExclude(b *testing.B)  { benchmark(b, `{"b": 0}`) }
func BenchmarkDotted(b *testing.B)   { benchmark(b, `{"c.d": 1}`) }
func BenchmarkComputed(b *testing.B) { benchmark(b, `{"x": {"$add": ["$a", 1]}}`) }
