package filter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
)

// fuzzDocs lists documents that are matched with every filter of the fuzzer.
var fuzzDocs = []string{
	`{"_id":1}`, `{"_id":2,"a":1,"b":"abc"}`, `{"_id":3,"a":[1,2.5,"x",null]}`,
	`{"_id":4,"a":{"b":[{"c":1},{"c":[2,3]}]}}`,
	`{"_id":5,"a":[{"b":1,"c":2},{"b":3}],"0":7}`, `{"_id":6,"a":[[1],[2,3]],"b":{"$numberDecimal":"1.5"}}`,
	`{"_id":7,"a":{"$date":"2020-01-01T00:00:00Z"},"b":{"$oid":"000000000000000000000001"}}`,
	`{"_id":8,"a":{"$minKey":1},"b":{"$maxKey":1},"c":{"$binary":{"base64":"BQ==","subType":"00"}}}`,
}

var fuzzFilters = []string{
	`{"a":1}`, `{"a":{"$gt":1,"$lt":5},"b":{"$ne":null}}`, `{"$or":[{"a.b":{"$in":[1,null,{"$regularExpression":{"pattern":"^a","options":"i"}}]}},{"$nor":[{"b":1}]}]}`,
	`{"a":{"$elemMatch":{"b":{"$gte":1},"$or":[{"c":2},{"c":{"$exists":false}}]}}}`, `{"a":{"$elemMatch":{"$gt":1,"$not":{"$gt":3}}}}`,
	`{"a":{"$all":[1,{"x":1}]},"b":{"$type":["number","minKey"]}}`, `{"a":{"$not":{"$mod":[2,1]}},"c":{"$bitsAllSet":[0,2]}}`,
	`{"a":{"$size":2},"b":{"$regex":"b","$options":"s"},"a.0":{"$lte":3}}`, `{"$jsonSchema":{"properties":{"a":{"type":"array","items":{"minimum":1}}}}}`,
	`{"$and":[{"$alwaysTrue":1},{"$nor":[{"a":{"$nin":[]}}]}]}`,
}

// FuzzParse states that parsing does not panic. A tree, its canonical form, and the tree parsed
// from its serialised form must match the same documents.
func FuzzParse(f *testing.F) {
	for _, text := range fuzzFilters {
		f.Add(text)
	}
	docs := parseDocs(f, fuzzDocs)
	f.Fuzz(func(t *testing.T, input string) {
		if !json.Valid([]byte(input)) {
			return // the driver's parser does not terminate for some malformed texts
		}
		data, err := bsonxtest.TryParse(input)
		if err != nil || bsonx.Validate(data, bsonx.Limits{}) != nil {
			return
		}
		opts := Options{Vars: expressions.Scope(), Now: time.Unix(0, 0)}
		filter, err := Parse(data, opts)
		if err != nil {
			return
		}
		canonical := filter.Normalize()
		text := Serialize(canonical.Root)
		again, err := reparse(canonical, opts)
		if err != nil {
			t.Fatal(err)
		}
		shapeKey(filter)
		if !SubsetOf(canonical.Root, canonical.Root) {
			t.Fatalf("%s is no subset of itself", toJSON(text))
		}
		for _, doc := range docs {
			want, wantErr := filter.Match(doc)
			got, gotErr := canonical.Match(doc)
			if got != want && wantErr == nil && gotErr == nil {
				t.Fatalf("%s on %s: %v; canonical %s: %v", toJSON(data), toJSON(doc), want, toJSON(text), got)
			}
			filter.Explain121(doc, false, 1<<20)
			if again == nil || wantErr != nil {
				continue
			}
			if got, err := again.Match(doc); got != want && err == nil {
				t.Fatalf("%s on %s: %v; parsed again from %s: %v", toJSON(data), toJSON(doc), want, toJSON(text), got)
			}
		}
	})
}

// reparse parses the serialised form of a canonical filter. It returns nil if the tree cannot be
// written as a filter.
func reparse(canonical *Filter, opts Options) (*Filter, error) {
	if hasDollarPath(canonical.Root) || hasKind(canonical.Root, KindSampleRate) {
		return nil, nil
	}
	text := Serialize(canonical.Root)
	again, err := Parse(text, opts)
	if err != nil {
		return nil, fmt.Errorf("parsed again from %s: %w", toJSON(text), err)
	}
	return again, nil
}

// hasDollarPath reports whether a tree cannot be written as a filter. That is the case for a path
// with a dollar sign (the fields of a DBRef), an empty path, and operators whose meaning depends on
// neighbouring operators.
func hasDollarPath(n Node) bool {
	found := false
	WalkNodes(n, func(n Node) bool {
		if match, ok := n.(*ElemMatchValue); ok {
			found = found || len(match.Children) > 1 && hasKind(n, KindRegex)
		} else if leaf, ok := n.(Leaf); ok {
			found = found || strings.HasPrefix(leaf.FieldPath().String(), "$")
		}
		return !found
	})
	return found
}

func parseDocs(t testing.TB, texts []string) []bsonx.Doc {
	t.Helper()
	var docs []bsonx.Doc
	for _, text := range texts {
		doc, err := bsonxtest.TryParse(text)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, doc)
	}
	return docs
}

// FuzzJSONSchema states that an accepted schema can be matched, and a failure can be explained. A
// document must never match both a schema and its negation.
func FuzzJSONSchema(f *testing.F) {
	for _, text := range []string{
		`{"required":["a"],"properties":{"a":{"bsonType":"int","minimum":1,"exclusiveMinimum":true}}}`,
		`{"patternProperties":{"^a":{"type":"array","items":[{"type":"number"}],"additionalItems":false}},"additionalProperties":{"enum":[1,{"x":1}]}}`,
		`{"anyOf":[{"minProperties":2},{"not":{"dependencies":{"a":["b"]}}}],"oneOf":[{"title":"t"},{"maxProperties":1}]}`,
		`{"properties":{"a":{"uniqueItems":true,"minItems":1,"maxItems":3,"pattern":"x","minLength":1,"multipleOf":0.5}}}`,
	} {
		f.Add(text)
	}
	docs := parseDocs(f, fuzzDocs)
	f.Fuzz(func(t *testing.T, input string) {
		if !json.Valid([]byte(input)) {
			return // the driver's parser does not terminate for some malformed texts
		}
		data, err := bsonxtest.TryParse(input)
		if err != nil || bsonx.Validate(data, bsonx.Limits{}) != nil {
			return
		}
		schema := bsonx.NewDoc("$jsonSchema", data)
		filter, err := Parse(schema, Options{Vars: expressions.Scope()})
		if err != nil {
			return
		}
		negated, err := Parse(bsonx.NewDoc("$nor", []bsonx.Doc{schema}), Options{Vars: expressions.Scope()})
		if err != nil {
			t.Fatal(err)
		}
		for _, doc := range docs {
			a, _ := filter.Match(doc)
			b, _ := negated.Match(doc)
			if a == b {
				t.Fatalf("%s and its negation agree on %s", toJSON(schema), toJSON(doc))
			}
			if !a && filter.Explain121(doc, false, 1<<20).IsEmpty() {
				t.Fatalf("%s: no details", toJSON(schema))
			}
		}
	})
}
