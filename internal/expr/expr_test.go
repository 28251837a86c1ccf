package expr_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/errortext"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var record = flag.String("record", "", "URI of a MongoDB server whose errors -rewrite writes")

// TestOperators runs testdata/<family>/<operator>. The command doc sets the document. The command
// eval evaluates one expression per line and prints its value, "missing", or its error.
func TestOperators(t *testing.T) {
	t.Parallel()
	server := errortext.Dial(t, *record, `Failed to optimize (expression|pipeline) :: caused by :: `)
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") || strings.Contains(path, "serialize") {
			return
		}
		doc := bsonx.Empty
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "doc":
				doc = bsonxtest.Parse(t, d.Input)
				server.Fill(t, "c", doc)
				return ""
			case "eval":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					v := bsonxtest.Parse(t, `{"v":`+strings.TrimSpace(line)+`}`).Lookup("v")
					got, err := eval(t, v, doc)
					if err != nil {
						got = server.Of(t, err, asCommand(v))
					}
					out.WriteString(got + "\n")
				}
				return out.String()
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

// asCommand returns an aggregate command that evaluates the expression v for each document of a
// collection.
func asCommand(v bsonx.Value) bson.D {
	stage := bson.D{{"$replaceWith", bson.Raw(bsonx.NewDoc("v", v))}}
	return bson.D{
		{"aggregate", "c"},
		{"pipeline", bson.A{stage}},
		{"cursor", bson.D{}},
	}
}

// evaluate returns the printed value of an expression, or the name of its error code.
func evaluate(t *testing.T, v bsonx.Value, doc bsonx.Doc) string {
	got, err := eval(t, v, doc)
	if err != nil {
		return "error " + mongoerr.CodeOf(err).Name()
	}
	return got
}

func eval(t *testing.T, v bsonx.Value, doc bsonx.Doc) (string, error) {
	vars, err := expressions.Scope().WithLet(nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	failures := &expr.Failures{}
	e, err := expr.Parse(v, vars.WithFailures(failures))
	if err == nil {
		err = failures.Err()
	}
	if err != nil {
		return "", err
	}
	got, err := e.Eval(&expr.Context{Root: bsonx.Document(doc), Now: time.Unix(0, 0)})
	if err != nil && !isTooLarge(err) && expr.CannotFail(e) {
		t.Errorf("%s cannot fail, and does: %v", bsonx.FormatShell(v), err)
	}
	if err != nil {
		return "", err
	}
	if got.IsMissing() {
		return "missing", nil
	}
	raw, err := bson.MarshalExtJSON(bson.Raw(bsonx.NewDoc("v", got)), true, false)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(raw), `{"v":`), "}"), nil
}

// isTooLarge reports whether an error says that a result is too large or nested too deeply. Even an
// expression that cannot fail may end so.
func isTooLarge(err error) bool {
	return slices.Contains([]mongoerr.Code{
		mongoerr.ExceededMemoryLimit, mongoerr.BSONObjectTooLarge, mongoerr.Overflow,
	}, mongoerr.CodeOf(err))
}

func TestUnknownOperators(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]mongoerr.Code{
		"$dinosaur": mongoerr.InvalidPipelineOperator,
	} {
		_, err := expr.Parse(bsonx.Document(bsonx.NewDoc(name, 1)), expressions.Scope())
		if mongoerr.CodeOf(err) != code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLet(t *testing.T) {
	t.Parallel()
	vars, err := expressions.Scope().WithLet(bsonxtest.Parse(t, `{"a": {"$add": [1, 2]}, "b": {"c": 5}}`), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	e, err := expr.Parse(bsonx.Document(bsonxtest.Parse(t, `{"$add": ["$$a", "$$b.c"]}`)), vars)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := expr.ConstValue(e); !ok || v.Int32() != 8 {
		t.Errorf("let variables were not folded: %v", v)
	}
	if _, err := expressions.Scope().
		WithLet(bsonxtest.Parse(t, `{"a": "$x"}`), time.Now()); mongoerr.CodeOf(err) != 4890500 {
		t.Errorf("a field path in let: %v", err)
	}
	if _, err := expressions.Scope().
		WithLet(bsonxtest.Parse(t, `{"A": 1}`), time.Now()); mongoerr.CodeOf(err) != mongoerr.FailedToParse {
		t.Errorf("a bad name in let: %v", err)
	}
}

// TestNestedLet checks that inner bindings do not overwrite outer variables that are read later.
func TestNestedLet(t *testing.T) {
	t.Parallel()
	v := bsonxtest.Parse(t, `{"v": {"$let": {"vars": {"a": 1, "b": {"$let": {"vars": {"z": 7}, "in": {"$add": ["$$z", "$x"]}}}},
		"in": {"$map": {"input": [1, 2], "in": {"$add": ["$$this", "$$a", "$$b"]}}}}}}`).Lookup("v")
	if got := evaluate(t, v, bsonxtest.Parse(t, `{"x": 10}`)); got != `[{"$numberInt":"19"},{"$numberInt":"20"}]` {
		t.Error(got)
	}
}

// TestLetComparesByCollation checks that the values of $let variables use the collation of the
// scope, also after a variable that is not constant.
func TestLetComparesByCollation(t *testing.T) {
	t.Parallel()
	fold, err := collation.Parse(bsonx.NewDoc("locale", "en", "strength", 2))
	if err != nil {
		t.Fatal(err)
	}
	vars := expressions.Scope().WithCollation(fold)
	for _, text := range []string{
		`{"$let": {"vars": {"b": {"$eq": ["$s", "FOO"]}}, "in": "$$b"}}`,
		`{"$let": {"vars": {"a": "$s", "b": {"$eq": ["$s", "FOO"]}}, "in": {"$and": ["$$a", "$$b"]}}}`,
		`{"$let": {"vars": {"a": "$s", "b": {"$in": ["FOO", ["$s"]]}}, "in": {"$and": ["$$a", "$$b"]}}}`,
	} {
		e, err := expr.Parse(bsonx.Document(bsonxtest.Parse(t, text)), vars)
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Eval(&expr.Context{Root: bsonx.Document(bsonx.NewDoc("s", "Foo"))})
		if err != nil || !got.Truthy() {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	t.Parallel()
	v := bsonx.Int32(1)
	for range 300 {
		v = bsonx.Document(bsonx.NewDoc("$not", bsonx.NewArray(v)))
	}
	if _, err := expr.Parse(v, expressions.Scope()); mongoerr.CodeOf(err) != mongoerr.Overflow {
		t.Error(err)
	}
}

func TestDependencies(t *testing.T) {
	t.Parallel()
	e, err := expr.Parse(bsonxtest.Parse(t, `{"v": {"$map": {"input": "$a.b", "in": {"$add": ["$$this.x", "$c"]}}}}`).Lookup("v"), expressions.Scope())
	if err != nil {
		t.Fatal(err)
	}
	var deps expr.Dependencies
	deps.Depend(e)
	if strings.Join(deps.Paths, ",") != "a.b,c" || deps.WholeDocument {
		t.Errorf("%+v", deps)
	}
}

// FuzzParse states that every BSON value can be parsed and evaluated without a panic, and that a
// second evaluation gives the same result.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"v": "$a.b"}`, `{"v": {"$add": [1, "$x", {"$size": "$y"}]}}`,
		`{"v": {"$let": {"vars": {"a": 1}, "in": "$$a"}}}`,
		`{"v": {"$reduce": {"input": [1], "initialValue": 0, "in": {"$add": ["$$value", "$$this"]}}}}`,
		`{"v": {"$switch": {"branches": [{"case": true, "then": 1}]}}}`, `{"v": {"$substrCP": ["é", 0, 1]}}`,
	} {
		f.Add([]byte(bsonxtest.Parse(f, seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bsonx.Validate(data, bsonx.Limits{}) != nil {
			t.Skip()
		}
		doc := bsonx.Doc(data)
		e, err := expr.Parse(doc.First().Value, expressions.Scope())
		if err != nil {
			return
		}
		random := false
		expr.Walk(e, func(e expr.Expr) bool { _, c := expr.ConstValue(e); random = random || !c; return true })
		a, errA := e.Eval(&expr.Context{Root: bsonx.Document(doc)})
		b, errB := e.Eval(&expr.Context{Root: bsonx.Document(doc)})
		if (errA == nil) != (errB == nil) || errA == nil && !random && string(a.Data) != string(b.Data) {
			t.Errorf("%v %v, then %v %v", a, errA, b, errB)
		}
	})
}

func BenchmarkAddFields(b *testing.B) {
	doc := bsonxtest.Parse(b, `{"_id": 1, "price": 12.5, "qty": 3, "name": "x"}`)
	e, err := expr.Parse(bsonxtest.Parse(b, `{"v": {"$multiply": ["$price", "$qty"]}}`).
		Lookup("v"), expressions.Scope())
	if err != nil {
		b.Fatal(err)
	}
	ctx := &expr.Context{Root: bsonx.Document(doc)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkComparison(b *testing.B) {
	doc := bsonxtest.Parse(b, `{"_id": 1, "price": 12.5, "qty": 3, "name": "x"}`)
	e, err := expr.Parse(bsonxtest.Parse(b, `{"v": {"$and": [{"$gt": ["$price", 10]}, {"$lt": ["$qty", 5]}]}}`).Lookup("v"), expressions.Scope())
	if err != nil {
		b.Fatal(err)
	}
	ctx := &expr.Context{Root: bsonx.Document(doc)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Eval(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
