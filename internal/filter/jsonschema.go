package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// JSONSchema is $jsonSchema: a document obeys a schema.
type JSONSchema struct {
	// Spec is the schema as it was written.
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

// schema is a compiled schema: the rules that a value has to obey. A rule about another type than
// the value's is obeyed.
type schema struct {
	spec               bsonx.Doc
	title, description bsonx.Value // missing where the schema has none
	rules              []schemaRule
	// never says that the schema is about the whole document and asks for another type than an
	// object.
	never bool
}

// schemaRule is what one keyword demands. Where its state has stopped, what match returns means
// nothing.
type schemaRule interface {
	match(v bsonx.Value, st *state) bool
	// explain appends the fields that tell why a value does not match to the open document.
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

// explain appends the rules that a value breaks.
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

// rejectsMissing reports whether a required property that is absent breaks more than that
// requirement.
func (s *schema) rejectsMissing() bool {
	return slices.ContainsFunc(s.rules,
		func(rule schemaRule) bool { return aboutMissing(rule) && !rule.match(bsonx.Missing, nil) })
}

// aboutMissing reports whether a rule is reported for an absent value: those that combine schemas
// are.
func aboutMissing(rule schemaRule) bool {
	switch rule.(type) {
	case *notRule, *combinedRule:
		return true
	default:
		return false
	}
}

// annotate appends title and description, by which the author of a schema explains it.
func (s *schema) annotate(b *details) {
	if s.never {
		return
	}
	b.Value("title", s.title)
	b.Value("description", s.description)
}

// schemaKeyword is an entry of the table of keywords. Its parser adds rules; one without a parser
// is read by another keyword, or means nothing here.
type schemaKeyword struct {
	name  string
	parse func(sp *schemaParser, kw keyword) error
}

// schemaKeywords are in the order in which failures are reported.
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

// unsupportedKeywords are those of JSON Schema that MongoDB refuses too.
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

// nonNegative reads a count.
func (kw keyword) nonNegative() (int64, error) {
	return nonNegativeInt(kw.name, kw.value)
}

// schemaParser compiles one schema; those within it have parsers of their own.
type schemaParser struct {
	p        *parser
	doc      bsonx.Doc
	keywords []schemaKeyword
	out      *schema
	// root is set for a schema about the whole document rather than a property.
	root  bool
	depth int
	// declared are the types that the schema allows; empty where it does not say. typeRule is
	// reported last.
	declared TypeSet
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

// addAbout adds a rule about values of one type. Where the schema allows one other type only, the
// type is all there is to say.
func (sp *schemaParser) addAbout(t bsonx.Type, rule schemaRule) {
	if !sp.declared.isSingle() || sp.declared.Has(t) || t == aNumber && sp.declared.hasNumber() {
		sp.add(rule)
	}
}

// aNumber stands for the numeric types.
const aNumber = bsonx.TypeInt32

// sub compiles a schema within this one; root says that it is about the same document.
func (sp *schemaParser) sub(v bsonx.Value, root bool) (*schema, error) {
	return sp.p.schema(v.Doc(), root, sp.depth+1)
}

// subs compiles the schemas of an array.
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
