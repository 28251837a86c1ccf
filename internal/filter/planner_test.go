package filter

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func parseFilter(t testing.TB, text string, opts Options) *Filter {
	t.Helper()
	doc, err := bsonxtest.TryParse(text)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(doc, opts)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func TestSubsetOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1}`, `{"a":1}`, true},
		{`{"a":{"$gt":5}}`, `{"a":{"$gt":3}}`, true},
		{`{"a":{"$gt":3}}`, `{"a":{"$gt":5}}`, false},
		{`{"a":{"$gte":5}}`, `{"a":{"$gt":5}}`, false},
		{`{"a":{"$gt":5}}`, `{"a":{"$gte":5}}`, true},
		{`{"a":{"$lt":5}}`, `{"a":{"$lte":5}}`, true},
		{`{"a":{"$lte":5}}`, `{"a":{"$lt":5}}`, false},
		{`{"a":4}`, `{"a":{"$lt":5}}`, true},
		{`{"a":"x"}`, `{"a":{"$lt":5}}`, false},
		{`{"a":{"$numberDouble":"NaN"}}`, `{"a":{"$gt":5}}`, false},
		{`{"a":{"$numberDouble":"NaN"}}`, `{"a":{"$gte":{"$numberDouble":"NaN"}}}`, true},
		{`{"b":4}`, `{"a":{"$lt":5}}`, false},
		{`{"a":4,"b":1}`, `{"a":{"$lt":5}}`, true},
		{`{"a":4}`, `{"a":{"$lt":5},"b":1}`, false},
		{`{"a":4,"b":1}`, `{"a":{"$lt":5},"b":1}`, true},
		{`{"$or":[{"a":1},{"a":{"$lt":0}}]}`, `{"a":{"$lt":5}}`, true},
		{`{"$or":[{"a":1},{"b":2}]}`, `{"a":{"$lt":5}}`, false},
		{`{"a":1}`, `{"$or":[{"a":1},{"b":2}]}`, true},
		{`{"a":{"$in":[1,2]}}`, `{"a":{"$lt":5}}`, true},
		{`{"a":{"$in":[1,7]}}`, `{"a":{"$lt":5}}`, false},
		{`{"a":{"$in":[1,2]}}`, `{"a":{"$in":[1,2,3]}}`, true},
		{`{"a":1}`, `{"a":{"$in":[1,2,3]}}`, true},
		{`{"a":1}`, `{"a":{"$exists":true}}`, true},
		{`{"a":null}`, `{"a":{"$exists":true}}`, false},
		{`{"a":{"$gt":{"$minKey":1}}}`, `{"a":{"$exists":true}}`, false},
		{`{"a":{"$ne":null}}`, `{"a":{"$exists":true}}`, true},
		{`{"a":{"$ne":1}}`, `{"a":{"$exists":true}}`, false},
		{`{"a":{"$regex":"x"}}`, `{"a":{"$exists":true}}`, true},
		{`{"a":{"$in":[1,null]}}`, `{"a":{"$exists":true}}`, false},
		{`{"a":{"$type":"int"}}`, `{"a":{"$type":"number"}}`, true},
		{`{"a":{"$type":"number"}}`, `{"a":{"$type":"int"}}`, false},
		{`{"a":1}`, `{}`, true},
	} {
		a, b := parseFilter(t, c.a, Options{Vars: expressions.Scope()}).
			Normalize(), parseFilter(t, c.b, Options{Vars: expressions.Scope()}).Normalize()
		if got := SubsetOf(a.Root, b.Root); got != c.want {
			t.Errorf("%s in %s: %v", c.a, c.b, got)
		}
	}
}

func TestShapeKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`{"a":1,"b":2}`, `{"b":5,"a":7}`, true},
		{`{"a":1}`, `{"a":null}`, false},
		{`{"a":1}`, `{"a":{"$gt":1}}`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":{"$in":[1,2]}}`, `{"a":{"$in":[4,5,6]}}`, true},
		{`{"a":{"$in":[1,2]}}`, `{"a":{"$in":[4,null]}}`, false},
		{`{"a":{"$regex":"^x"}}`, `{"a":{"$regex":"^yz"}}`, true},
		{`{"a":{"$regex":"^x"}}`, `{"a":{"$regex":"x"}}`, false},
		{`{"$or":[{"a":1},{"b":1}]}`, `{"$or":[{"b":3},{"a":2}]}`, true},
		{`{"$or":[{"a":1},{"b":1}]}`, `{"a":1,"b":1}`, false},
	} {
		opts := Options{Vars: expressions.Scope()}
		same := bytes.Equal(shapeKey(parseFilter(t, c.a, opts)), shapeKey(parseFilter(t, c.b, opts)))
		if same != c.same {
			t.Errorf("%s and %s: %v", c.a, c.b, same)
		}
	}
}

func TestRegexPrefix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, options, prefix string
		exact                    bool
	}{
		{"^abc", "", "abc", true},
		{"^abc.*", "", "abc", false},
		{"^ab*", "", "a", false},
		{"^ab?c", "", "a", false},
		{"^ab{2}", "", "a", false},
		{"^abc", "i", "", false},
		{"^abc", "m", "", false},
		{`\Aabc`, "m", "abc", true},
		{"abc", "", "", false},
		{"^a|b", "", "", false},
		{`^a\.b`, "", "a.b", true},
		{`^a\d`, "", "a", false},
		{`^\Qa.b\E`, "", "a.b", true},
		{"^a b", "x", "ab", true},
		{"^abc", "s", "abc", true},
		{"^", "", "", false},
		{"^é*", "", "", false},
		{`^ab\E*`, "", "a", false},
		{`^\Qab\E\E*`, "", "a", false},
		{`^\Qab*`, "", "ab*", true},
		{`^ab\Ec`, "", "abc", true},
		{"^ab(?#x)*", "", "a", false},
		{"^ab(?#x)c", "", "abc", true},
		{"^ab#x\n*", "x", "a", false},
		{"^ab #x\n c", "x", "abc", true},
		{"^ab#x", "x", "ab", true},
		{"^ab#x", "", "ab#x", true},
		{"^ab\u0085*", "x", "a", false},
		{"^ab\u200e\u200f\u2028\u2029c", "x", "abc", true},
		{"^ab\u00a0", "x", "ab\u00a0", true},
	} {
		re, err := newRegex("a", c.pattern, c.options)
		if err != nil {
			t.Fatal(err)
		}
		if prefix, exact := re.Prefix(); prefix != c.prefix || exact != c.exact {
			t.Errorf("%s %s: %q, %v", c.pattern, c.options, prefix, exact)
		}
	}
}

func TestCollation(t *testing.T) {
	t.Parallel()
	fold, err := collation.Parse(bsonx.NewDoc("locale", "en", "strength", 2))
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Vars: expressions.Scope(), Collation: fold}
	doc := bsonx.NewDoc("a", "Abc", "b", bsonx.NewArray("X", bsonx.NewDoc("k", "Y")))
	for text, want := range map[string]bool{
		`{"a":"aBC"}`: true, `{"a":{"$in":["ABC"]}}`: true, `{"a":{"$gt":"abb"}}`: true, `{"b":{"k":"y"}}`: true,
		`{"b":{"K":"y"}}`: false, `{"a":{"$regex":"^abc"}}`: false,
		`{"b":["x",{"k":"y"}]}`: true, `{"a":{"$ne":"abc"}}`: false,
	} {
		if ok, _ := parseFilter(t, text, opts).Match(doc); ok != want {
			t.Errorf("%s: %v", text, ok)
		}
	}
	plain := parseFilter(t, `{"a":"abc"}`, Options{Vars: expressions.Scope()})
	if SubsetOf(parseFilter(t, `{"a":"abc"}`, opts).Root, plain.Root) {
		t.Error("collations differ")
	}
}

func TestDepthLimit(t *testing.T) {
	t.Parallel()
	nested := func(n int) bsonx.Doc {
		doc := bsonx.NewDoc("a", 1)
		for range n {
			doc = bsonx.NewDoc("$and", []bsonx.Doc{doc})
		}
		return doc
	}
	if _, err := Parse(nested(limits.FilterDepth), Options{Vars: expressions.Scope()}); err != nil {
		t.Error(err)
	}
	if _, err := Parse(nested(limits.FilterDepth+1),
		Options{Vars: expressions.Scope()}); mongoerr.CodeOf(err) != mongoerr.BadValue {
		t.Error(err)
	}
	deep := bsonx.NewDoc("$gt", 1)
	schema := bsonx.NewDoc("type", "object")
	for range limits.FilterDepth + 5 {
		deep = bsonx.NewDoc("$not", deep)
		schema = bsonx.NewDoc("not", schema)
	}
	for _, doc := range []bsonx.Doc{bsonx.NewDoc("a", deep), bsonx.NewDoc("$jsonSchema", schema)} {
		if _, err := Parse(doc, Options{Vars: expressions.Scope()}); mongoerr.CodeOf(err) != mongoerr.BadValue {
			t.Error(err)
		}
	}
}

func TestContexts(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]mongoerr.Code{
		`{"$where":"1"}`: mongoerr.BadValue, `{"$expr":true}`: mongoerr.QueryFeatureNotAllowed,
		`{"$text":{"$search":"x"}}`: mongoerr.BadValue,
		`{"a":{"$near":[1,1]}}`:     5626500, `{"a":{"$geoWithin":{}}}`: mongoerr.BadValue,
	} {
		doc, _ := bsonxtest.TryParse(text)
		if _, err := Parse(doc, Options{Vars: expressions.Scope()}); mongoerr.CodeOf(err) != code {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, code := range map[string]mongoerr.Code{
		`{"$expr":{"$lt":[{"$rand":{}},1]}}`: 3040500, `{"$expr":{"$function":{}}}`: 4660800,
		`{"$expr":{"$literal":{"$rand":{}}}}`: 0, `{"$expr":{"$const":{"$rand":{}}}}`: 0,
	} {
		doc, _ := bsonxtest.TryParse(text)
		if _, err := Parse(doc,
			Options{Vars: expressions.Scope(), AllowExpr: true, Validator: true}); mongoerr.CodeOf(err) != code {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSampleRateUsesGenerator(t *testing.T) {
	t.Parallel()
	next := 0.0
	f := parseFilter(t, `{"$sampleRate":0.5}`,
		Options{Vars: expressions.Scope(), Random: func() float64 { return next }})
	for value, want := range map[float64]bool{0.1: true, 0.9: false} {
		next = value
		if ok, _ := f.Match(bsonx.Empty); ok != want {
			t.Error(value, ok)
		}
	}
}

func TestRegexTimeLimitIsAnError(t *testing.T) {
	t.Parallel()
	f := parseFilter(t, `{"a":{"$not":{"$regex":"(?=(a+)+$)(a+)+\\1b"}}}`, Options{Vars: expressions.Scope()})
	if _, err := f.Match(bsonx.NewDoc("a", strings.Repeat("a", 5000)+"!")); err == nil {
		t.Fatal("no error")
	}
}

func TestFilterOwnsItsBytes(t *testing.T) {
	t.Parallel()
	spec := bsonx.NewDoc("a", "value")
	f := mustParse(t, spec)
	clear(spec[4:])
	if ok, _ := f.Match(bsonx.NewDoc("a", "value")); !ok {
		t.Fatal("the filter changed with its document")
	}
}

func shapeKey(f *Filter) []byte {
	// This cannot fail, because the operation is never interrupted.
	key, _ := f.AppendShapeKey(context.Background(), nil)
	return key
}
