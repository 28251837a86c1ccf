package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pcre"
)

// property is a property with its schema. As everywhere in a filter, a name with dots is a path.
type property struct {
	name     string
	path     *Path
	schema   *schema
	required bool
}

// failing returns the value for which the property does not match; ok is false if it matches. A
// path through arrays matches if one of its values matches.
func (p *property) failing(doc bsonx.Doc, st *state) (v bsonx.Value, ok bool) {
	matched := false
	if p.path.Len() == 1 {
		v = doc.Lookup(p.name)
		matched = !v.IsMissing() && p.schema.match(v, st)
	} else {
		matched = p.path.Walk(doc, Whole, func(found bsonx.Value) bool {
			if found.IsMissing() {
				return false
			}
			v = found
			return p.schema.match(found, st)
		})
	}
	if v.IsMissing() {
		return v, p.required && p.schema.rejectsMissing()
	}
	return v, !matched
}

// propertiesRule is the keyword properties.
type propertiesRule struct{ properties []property }

func (r *propertiesRule) match(v bsonx.Value, st *state) bool {
	if v.Type != bsonx.TypeDocument {
		return true
	}
	for i := range r.properties {
		if st.stopped(lookupWork(v.Doc())) {
			return false
		}
		if _, failing := r.properties[i].failing(v.Doc(), st); failing {
			return false
		}
	}
	return true
}

func (r *propertiesRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "properties")
	b.StartArrayField("propertiesNotSatisfied")
	for _, p := range r.properties {
		value, failing := p.failing(v.Doc(), nil)
		if !failing {
			continue
		}
		b.StartDocElem()
		b.String("propertyName", p.name)
		p.schema.annotate(b)
		p.schema.explain(b, "details", value)
		b.End()
	}
	b.End()
}

func parseSchemaProperties(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeDocument {
		return kw.mismatch("an object")
	}
	rule, needed := &propertiesRule{}, stringsOf(sp.doc.Lookup("required"))
	for it := kw.value.Doc().Iter(); it.Next(); {
		name := string(it.Key())
		if it.Value().Type != bsonx.TypeDocument {
			return mongoerr.New(mongoerr.TypeMismatch, "Nested schema for $jsonSchema property '%s' must be an object", name)
		}
		s, err := sp.sub(it.Value(), false)
		if err != nil {
			return err
		}
		rule.properties = append(rule.properties, property{name, NewPath(name), s, needed[name]})
	}
	sp.addAbout(bsonx.TypeDocument, rule)
	return nil
}

// stringsOf returns the set of strings in an array.
func stringsOf(v bsonx.Value) map[string]bool {
	out := map[string]bool{}
	if v.Type != bsonx.TypeArray {
		return out
	}
	for it := v.Doc().Iter(); it.Next(); {
		if it.Value().Type == bsonx.TypeString {
			out[it.Value().Str()] = true
		}
	}
	return out
}

// patternProperty is the schema of the properties whose names match a pattern.
type patternProperty struct {
	pattern string
	re      *pcre.Regexp
	schema  *schema
}

func (p *patternProperty) covers(name []byte, st *state) bool {
	return covered(p.re, name, st)
}

// patternsRule is the keyword patternProperties.
type patternsRule struct{ patterns []patternProperty }

func (r *patternsRule) match(v bsonx.Value, st *state) bool {
	for i := range r.patterns {
		if !r.patterns[i].failing(v, st).Value.IsMissing() {
			return false
		}
	}
	return true
}

// failing returns the first field whose name matches the pattern and whose value the schema
// rejects.
func (p *patternProperty) failing(v bsonx.Value, st *state) bsonx.Elem {
	if v.Type != bsonx.TypeDocument {
		return bsonx.Elem{}
	}
	for it := v.Doc().Iter(); it.Next(); {
		if st.stopped(regexWeight * (1 + len(it.Key()))) {
			return bsonx.Elem{}
		}
		if p.covers(it.Key(), st) && !p.schema.match(it.Value(), st) {
			return it.Elem()
		}
	}
	return bsonx.Elem{}
}

func (r *patternsRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "patternProperties")
	b.StartArrayField("details")
	for i := range r.patterns {
		p := &r.patterns[i]
		field := p.failing(v, nil)
		if field.Value.IsMissing() {
			continue
		}
		b.StartDocElem()
		b.String("propertyName", string(field.Key))
		p.schema.annotate(b)
		b.String("regexMatched", p.pattern)
		p.schema.explain(b, "details", field.Value)
		b.End()
	}
	b.End()
}

func parseSchemaPatterns(sp *schemaParser, kw keyword) error {
	patterns, err := sp.patterns(kw)
	if err != nil {
		return err
	}
	sp.addAbout(bsonx.TypeDocument, &patternsRule{patterns})
	return nil
}

func (sp *schemaParser) patterns(kw keyword) ([]patternProperty, error) {
	if kw.value.Type != bsonx.TypeDocument {
		return nil, kw.mismatch("an object")
	}
	var patterns []patternProperty
	for it := kw.value.Doc().Iter(); it.Next(); {
		pattern := string(it.Key())
		if it.Value().Type != bsonx.TypeDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"$jsonSchema keyword 'patternProperties' has property '%s' which is not an object", pattern)
		}
		re, err := pcre.Compile(pattern, "")
		if err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "Invalid regular expression: %s", pcre.Reason(err))
		}
		s, err := sp.sub(it.Value(), false)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, patternProperty{pattern, re, s})
	}
	return patterns, nil
}

// additionalRule is the keyword additionalProperties: a schema for the fields that neither
// properties nor patternProperties cover. Without a schema, such fields are not allowed.
type additionalRule struct {
	spec     bsonx.Doc
	names    map[string]bool
	patterns []patternProperty
	schema   *schema
}

func (r *additionalRule) isAdditional(name []byte, st *state) bool {
	if r.names[string(name)] {
		return false
	}
	for i := range r.patterns {
		if r.patterns[i].covers(name, st) {
			return false
		}
	}
	return true
}

func (r *additionalRule) match(v bsonx.Value, st *state) bool {
	return r.failing(v, st).Value.IsMissing()
}

func (r *additionalRule) failing(v bsonx.Value, st *state) bsonx.Elem {
	if v.Type != bsonx.TypeDocument {
		return bsonx.Elem{}
	}
	for it := v.Doc().Iter(); it.Next(); {
		if st.stopped(interrupt.Step + regexWeight*len(it.Key())*len(r.patterns)) {
			return bsonx.Elem{}
		}
		if r.isAdditional(it.Key(), st) && (r.schema == nil || !r.schema.match(it.Value(), st)) {
			return it.Elem()
		}
	}
	return bsonx.Elem{}
}

func (r *additionalRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "additionalProperties")
	if r.schema != nil {
		field := r.failing(v, nil)
		r.schema.annotate(b)
		b.String("reason", "at least one additional property did not match the subschema")
		b.String("failingProperty", string(field.Key))
		r.schema.explain(b, "details", field.Value)
		return
	}
	b.specifiedAs(r.spec)
	b.StartArrayField("additionalProperties")
	for it := v.Doc().Iter(); it.Next(); {
		if r.isAdditional(it.Key(), nil) {
			b.Elem(bsonx.String(string(it.Key())))
		}
	}
	b.End()
}

func parseSchemaAdditional(sp *schemaParser, kw keyword) error {
	rule := &additionalRule{spec: kw.spec(), names: map[string]bool{}}
	switch kw.value.Type {
	case bsonx.TypeBool:
		if kw.value.Bool() {
			return nil
		}
	case bsonx.TypeDocument:
		s, err := sp.sub(kw.value, false)
		if err != nil {
			return err
		}
		rule.schema = s
	default:
		return kw.mismatch("an object or a boolean")
	}
	for it := sp.doc.Lookup("properties").Doc().Iter(); it.Next(); {
		rule.names[string(it.Key())] = true
	}
	if v := sp.doc.Lookup("patternProperties"); !v.IsMissing() {
		patterns, err := sp.patterns(keyword{"patternProperties", v})
		if err != nil {
			return err
		}
		rule.patterns = patterns
	}
	sp.addAbout(bsonx.TypeDocument, rule)
	return nil
}

// requiredRule is the keyword required.
type requiredRule struct {
	spec  bsonx.Doc
	paths []*Path // sorted by name
}

func (r *requiredRule) match(v bsonx.Value, st *state) bool {
	return v.Type != bsonx.TypeDocument || !anyMissing(r.paths, v.Doc(), st)
}

func (r *requiredRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", "required")
	b.specifiedAs(r.spec)
	appendNames(b, "missingProperties", missingPaths(r.paths, v.Doc()))
}

// anyMissing reports whether a document lacks a value at one of the paths.
func anyMissing(paths []*Path, doc bsonx.Doc, st *state) bool {
	for _, path := range paths {
		if st.stopped(lookupWork(doc)) || !path.Walk(doc, Whole, func(v bsonx.Value) bool { return !v.IsMissing() }) {
			return true
		}
	}
	return false
}

func missingPaths(paths []*Path, doc bsonx.Doc) []string {
	var missing []string
	for _, path := range paths {
		if !path.Walk(doc, Whole, func(v bsonx.Value) bool { return !v.IsMissing() }) {
			missing = append(missing, path.String())
		}
	}
	return missing
}

func appendNames(b *details, key string, names []string) {
	b.StartArrayField(key)
	for _, name := range names {
		b.Elem(bsonx.String(name))
	}
	b.End()
}

func parseSchemaRequired(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeArray {
		return kw.mismatch("an array, but found an element of type " + kw.value.Type.String())
	}
	var names []string
	seen := map[string]bool{}
	for it := kw.value.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeString {
			return mongoerr.New(mongoerr.TypeMismatch,
				"$jsonSchema keyword 'required' must be an array of strings, but found an element of type: %s", it.Value().Type)
		}
		name := it.Value().Str()
		if seen[name] {
			return kw.invalid("array cannot contain duplicate values")
		}
		seen[name] = true
		names = append(names, name)
	}
	if len(names) == 0 {
		return kw.invalid("cannot be an empty array")
	}
	slices.Sort(names)
	rule := &requiredRule{spec: kw.spec()}
	for _, name := range names {
		rule.paths = append(rule.paths, NewPath(name))
	}
	sp.addAbout(bsonx.TypeDocument, rule)
	return nil
}

func parseSchemaPropertyCount(sp *schemaParser, kw keyword) error {
	limit, err := kw.nonNegative()
	if err != nil {
		return err
	}
	maximum := kw.name == "maxProperties"
	sp.addAbout(bsonx.TypeDocument, &valueRule{
		keyword: kw.name, spec: kw.spec(),
		reason: "specified number of properties was not satisfied", withoutValue: true,
		test: func(v bsonx.Value, st *state) bool {
			return v.Type != bsonx.TypeDocument || within(v.Doc().Len(), limit, maximum)
		},
		detail: func(b *details, v bsonx.Value) { b.Int32("numberOfProperties", int32(v.Doc().Len())) },
	})
	return nil
}
