package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// combinedRule is the keyword allOf, anyOf or oneOf. accept decides by the number of schemas that
// the value matches.
type combinedRule struct {
	keyword string
	schemas []*schema
	accept  func(matched, total int) bool
}

func (r *combinedRule) match(v bsonx.Value, st *state) bool {
	return r.accept(len(r.matching(v, st)), len(r.schemas))
}

func (r *combinedRule) matching(v bsonx.Value, st *state) []int {
	var indexes []int
	for i, s := range r.schemas {
		if s.match(v, st) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

func (r *combinedRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", r.keyword)
	if matching := r.matching(v, nil); r.keyword == "oneOf" && len(matching) > 0 {
		b.String("reason", "more than one subschema matched")
		b.StartArrayField("matchingSchemaIndexes")
		for _, i := range matching {
			b.Elem(bsonx.Int32(int32(i)))
		}
		b.End()
		return
	}
	b.StartArrayField("schemasNotSatisfied")
	for i, s := range r.schemas {
		if s.match(v, nil) {
			continue
		}
		b.StartDocElem()
		b.Int32("index", int32(i))
		s.annotate(b)
		s.explain(b, "details", v)
		b.End()
	}
	b.End()
}

func parseSchemaAllOf(sp *schemaParser, kw keyword) error {
	return sp.combined(kw, func(matched, total int) bool { return matched == total })
}

func parseSchemaAnyOf(sp *schemaParser, kw keyword) error {
	return sp.combined(kw, func(matched, _ int) bool { return matched > 0 })
}

func parseSchemaOneOf(sp *schemaParser, kw keyword) error {
	return sp.combined(kw, func(matched, _ int) bool { return matched == 1 })
}

func (sp *schemaParser) combined(kw keyword, accept func(matched, total int) bool) error {
	if kw.value.Type != bsonx.TypeArray {
		return kw.mismatch("an array")
	}
	if kw.value.Doc().IsEmpty() {
		return mongoerr.New(mongoerr.BadValue, "$jsonSchema keyword '%s' must be a non-empty array", kw.name)
	}
	schemas, err := sp.subs(kw, sp.root)
	if err != nil {
		return err
	}
	sp.add(&combinedRule{kw.name, schemas, accept})
	return nil
}

// notRule is the keyword not. Its explanation does not tell why the value matches the schema.
type notRule struct{ schema *schema }

func (r *notRule) match(v bsonx.Value, st *state) bool { return !r.schema.match(v, st) }

func (r *notRule) explain(b *details, _ bsonx.Value) {
	b.String("operatorName", "not")
	b.String("reason", "child expression matched")
}

func parseSchemaNot(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeDocument {
		return kw.mismatch("an object, but found an element of type " + kw.value.Type.String())
	}
	s, err := sp.sub(kw.value, sp.root)
	if err != nil {
		return err
	}
	sp.add(&notRule{s})
	return nil
}
