package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// JSONSchema is $jsonSchema: it matches the documents that are valid according to a schema.
type JSONSchema struct {
	// Spec is the schema as the client wrote it.
	Spec bsonx.Doc

	schema *schema
}

// Kind returns KindJSONSchema.
func (*JSONSchema) Kind() Kind { return KindJSONSchema }

func (n *JSONSchema) matchDoc(doc bsonx.Doc, st *state) bool {
	return n.schema.match(bsonx.Document(doc), st)
}

func (n *JSONSchema) matchElem(v bsonx.Value, st *state) bool { return n.schema.match(v, st) }

func (n *JSONSchema) serialize(b *serializer) { b.Doc("$jsonSchema", n.Spec) }

func parseJSONSchema(p *parser, _ string, v bsonx.Value, _ level, depth int) (Node, error) {
	if p.opts.RefuseSchema {
		return nil, mongoerr.New(mongoerr.QueryFeatureNotAllowed, "$jsonSchema is not allowed in this context")
	}
	if v.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$jsonSchema must be an object")
	}
	s, err := p.schema(v.Doc(), true, depth)
	if err != nil {
		return nil, err
	}
	return &JSONSchema{Spec: v.Doc(), schema: s}, nil
}

// schema is a compiled schema: a list of rules for a value. A rule for another type than the
// value's accepts the value.
type schema struct {
	spec               bsonx.Doc
	title, description bsonx.Value // bsonx.Missing if the schema does not have them
	rules              []schemaRule
	// never reports that the schema applies to the whole document but requires another type than
	// object, so no document is valid.
	never bool
}

// schemaRule is the rule of one keyword. If the evaluation was interrupted, the result of match is
// not valid.
type schemaRule interface {
	match(v bsonx.Value, st *state) bool
	// explain appends fields to the open document that tell why v does not match.
	explain(b *details, v bsonx.Value)
}

func (s *schema) match(v bsonx.Value, st *state) bool {
	if s.never {
		return false
	}
	for _, rule := range s.rules {
		if st.stopped(interrupt.Step) || !rule.match(v, st) {
			return false
		}
	}
	return true
}

// explain appends the rules that v violates, under key.
func (s *schema) explain(b *details, key string, v bsonx.Value) {
	if s.never {
		b.StartDocField(key)
		s.explainNever(b)
		b.End()
		return
	}
	b.StartArrayField(key)
	for _, rule := range s.rules {
		if b.full() {
			break
		}
		if !rule.match(v, nil) && (!v.IsMissing() || aboutMissing(rule)) {
			b.StartDocElem()
			rule.explain(b, v)
			b.End()
		}
	}
	b.End()
}

func (s *schema) explainNever(b *details) {
	b.String("operatorName", "$jsonSchema")
	if !b.brief {
		b.StartDocField("specifiedAs")
		b.Doc("$jsonSchema", s.spec)
		b.End()
	}
	b.String("reason", reasonNever)
}

// rejectsMissing reports whether the absence of a required property also violates a rule of its
// schema.
func (s *schema) rejectsMissing() bool {
	return slices.ContainsFunc(s.rules,
		func(rule schemaRule) bool { return aboutMissing(rule) && !rule.match(bsonx.Missing, nil) })
}

// aboutMissing reports whether violations of a rule are also reported for an absent value. That
// applies to rules that combine schemas.
func aboutMissing(rule schemaRule) bool {
	_, negates := rule.(*notRule)
	_, combines := rule.(*combinedRule)
	return negates || combines
}

// annotate appends the title and description of the schema.
func (s *schema) annotate(b *details) {
	if s.never {
		return
	}
	b.Value("title", s.title)
	b.Value("description", s.description)
}

// schemaKeyword is an entry in the table of keywords. Its parser adds rules. A keyword without a
// parser is handled by another keyword, or has no effect.
type schemaKeyword struct {
	name  string
	parse func(sp *schemaParser, kw keyword) error
}

// schemaKeywords returns the keywords in the order in which failures are reported. The type is an
// exception: its failure comes last.
func schemaKeywords() []schemaKeyword {
	return []schemaKeyword{
		{"title", parseSchemaText},
		{"description", parseSchemaText},
		{"bsonType", parseSchemaType},
		{"type", parseSchemaType},
		{"pattern", parseSchemaPattern},
		{"maxLength", parseSchemaLength},
		{"minLength", parseSchemaLength},
		{"multipleOf", parseSchemaMultipleOf},
		{"maximum", parseSchemaLimit},
		{"exclusiveMaximum", parseSchemaExclusive},
		{"minimum", parseSchemaLimit},
		{"exclusiveMinimum", parseSchemaExclusive},
		{"minItems", parseSchemaItemCount},
		{"maxItems", parseSchemaItemCount},
		{"uniqueItems", parseSchemaUniqueItems},
		{"items", parseSchemaItems},
		{"additionalItems", parseSchemaAdditionalItems},
		{"encryptMetadata", parseSchemaEncryptMetadata},
		{"properties", parseSchemaProperties},
		{"additionalProperties", parseSchemaAdditional},
		{"patternProperties", parseSchemaPatterns},
		{"required", parseSchemaRequired},
		{"minProperties", parseSchemaPropertyCount},
		{"maxProperties", parseSchemaPropertyCount},
		{"dependencies", parseSchemaDependencies},
		{"allOf", parseSchemaAllOf},
		{"anyOf", parseSchemaAnyOf},
		{"oneOf", parseSchemaOneOf},
		{"not", parseSchemaNot},
		{"enum", parseSchemaEnum},
		{"encrypt", nil},
	}
}

// unsupportedKeywords lists keywords of JSON Schema that MongoDB does not support either.
var unsupportedKeywords = []string{"$ref", "$schema", "default", "definitions", "format", "id"}

// keyword is a keyword and its value.
type keyword struct {
	name  string
	value bsonx.Value
}

// spec returns the document { keyword: value }.
func (kw keyword) spec() bsonx.Doc { return bsonx.NewDoc(kw.name, kw.value) }

func (kw keyword) mismatch(what string) error {
	return mongoerr.New(mongoerr.TypeMismatch, "$jsonSchema keyword '%s' must be %s", kw.name, what)
}

func (kw keyword) invalid(what string) error {
	return mongoerr.New(mongoerr.FailedToParse, "$jsonSchema keyword '%s' %s", kw.name, what)
}

// nonNegative parses the value as a count.
func (kw keyword) nonNegative() (int64, error) {
	return nonNegativeInt(kw.name, kw.value)
}

// schemaParser compiles one schema. Each nested schema has its own parser.
type schemaParser struct {
	p        *parser
	doc      bsonx.Doc
	keywords []schemaKeyword
	out      *schema
	// root reports that the schema applies to the whole document and not to a property.
	root  bool
	depth int
	// declared contains the types that the schema allows; it is empty if all are allowed.
	declared TypeSet
	// typeRule is the rule for declared. Its failures are reported last.
	typeRule schemaRule
}

func (p *parser) schema(doc bsonx.Doc, root bool, depth int) (*schema, error) {
	if depth > limits.FilterDepth {
		return nil, errTooDeep()
	}
	if err := p.node(); err != nil {
		return nil, err
	}
	sp := &schemaParser{p: p, doc: doc, keywords: schemaKeywords(), root: root, depth: depth, out: &schema{spec: doc}}
	if err := sp.checkNames(); err != nil {
		return nil, err
	}
	if encrypt := doc.Lookup("encrypt"); !encrypt.IsMissing() {
		return sp.out, sp.parseEncrypt(keyword{"encrypt", encrypt})
	}
	for _, def := range sp.keywords {
		v := doc.Lookup(def.name)
		if v.IsMissing() || def.parse == nil {
			continue
		}
		if err := def.parse(sp, keyword{def.name, v}); err != nil {
			return nil, err
		}
	}
	if sp.typeRule != nil {
		sp.add(sp.typeRule)
	}
	return sp.out, nil
}

func (sp *schemaParser) checkNames() error {
	seen := map[string]bool{}
	for it := sp.doc.Iter(); it.Next(); {
		name := string(it.Key())
		known := slices.ContainsFunc(sp.keywords, func(def schemaKeyword) bool { return def.name == name })
		switch {
		case slices.Contains(unsupportedKeywords, name):
			return keyword{name: name}.invalid("is not currently supported")
		case !known:
			return mongoerr.New(mongoerr.FailedToParse, "Unknown $jsonSchema keyword: %s", name)
		case seen[name]:
			return mongoerr.New(mongoerr.FailedToParse, "Duplicate $jsonSchema keyword: %s", name)
		}
		seen[name] = true
	}
	return nil
}

func (sp *schemaParser) add(rule schemaRule) { sp.out.rules = append(sp.out.rules, rule) }

// addAbout adds a rule for values of type t. It omits the rule if the schema allows only another
// type, because the rule can never apply.
func (sp *schemaParser) addAbout(t bsonx.Type, rule schemaRule) {
	if !sp.declared.isSingle() || sp.declared.Has(t) || t == aNumber && sp.declared.hasNumber() {
		sp.add(rule)
	}
}

// aNumber stands for all numeric types in addAbout.
const aNumber = bsonx.TypeInt32

// sub compiles a nested schema. root reports that it applies to the same document as this schema.
func (sp *schemaParser) sub(v bsonx.Value, root bool) (*schema, error) {
	return sp.p.schema(v.Doc(), root, sp.depth+1)
}

// subs compiles the schemas in an array.
func (sp *schemaParser) subs(kw keyword, root bool) ([]*schema, error) {
	var out []*schema
	for it := kw.value.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"$jsonSchema keyword '%s' must be an array of objects, but found an element of type %s", kw.name, it.Value().Type)
		}
		s, err := sp.sub(it.Value(), root)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func parseSchemaText(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeString {
		return kw.mismatch("of type string")
	}
	if kw.name == "title" {
		sp.out.title = kw.value
	} else {
		sp.out.description = kw.value
	}
	return nil
}
