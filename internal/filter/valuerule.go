package filter

import (
	"slices"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
	"github.com/sheafdb/sheaf/internal/pcre"
)

// valueRule is a rule about the value itself. Its explanation contains the value and a reason.
type valueRule struct {
	keyword string
	spec    bsonx.Doc
	reason  string
	test    func(v bsonx.Value, st *state) bool
	// withoutValue omits the value from the explanation, and keepsValue keeps it even in a brief
	// explanation.
	withoutValue, keepsValue bool

	// detail adds fields to the explanation. It may be nil.
	detail func(b *details, v bsonx.Value)
}

func (r *valueRule) match(v bsonx.Value, st *state) bool { return r.test(v, st) }

func (r *valueRule) explain(b *details, v bsonx.Value) {
	b.String("operatorName", r.keyword)
	b.specifiedAs(r.spec)
	b.String("reason", r.reason)
	if !r.withoutValue && (!b.brief || r.keepsValue) {
		b.Value("consideredValue", v)
	}
	if r.detail != nil {
		r.detail(b, v)
	}
}

const (
	reasonType       = "type did not match"
	reasonComparison = "comparison failed"
	reasonNever      = "expression always evaluates to false"
)

// parseSchemaType compiles the keyword type, which has the type names of JSON, or bsonType, which
// has the type names of $type.
func parseSchemaType(sp *schemaParser, kw keyword) error {
	if kw.name == "type" && !sp.doc.Lookup("bsonType").IsMissing() {
		return mongoerr.New(mongoerr.FailedToParse, "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'")
	}
	set, err := schemaTypeSet(kw)
	if err != nil {
		return err
	}
	sp.declared = set
	if sp.root {
		sp.out.never = !set.Has(bsonx.TypeDocument)
		return nil
	}
	sp.typeRule = &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: reasonType,
		test:   func(v bsonx.Value, st *state) bool { return set.Has(v.Type) },
		detail: func(b *details, v bsonx.Value) { b.String("consideredType", v.Type.String()) },
	}
	return nil
}

func schemaTypeSet(kw keyword) (TypeSet, error) {
	var set TypeSet
	names := []bsonx.Value{kw.value}
	if kw.value.Type == bsonx.TypeArray {
		names = kw.value.Doc().Values()
		if len(names) == 0 {
			return set, kw.invalid("must name at least one type")
		}
	} else if kw.value.Type != bsonx.TypeString {
		return set, kw.mismatch("either a string or an array of strings")
	}
	var seen []string
	for _, v := range names {
		if v.Type != bsonx.TypeString {
			return set, mongoerr.New(mongoerr.TypeMismatch,
				"$jsonSchema keyword '%s' array elements must be strings", kw.name)
		}
		name := v.Str()
		if slices.Contains(seen, name) {
			return set, kw.invalid("has duplicate value: " + name)
		}
		seen = append(seen, name)
		if name == "integer" {
			return set, mongoerr.New(mongoerr.FailedToParse, "$jsonSchema type 'integer' is not currently supported.")
		}
		if !addSchemaType(&set, name, kw.name == "type") {
			return set, mongoerr.New(mongoerr.BadValue, "Unknown type name alias: %s", name)
		}
	}
	return set, nil
}

func addSchemaType(set *TypeSet, name string, json bool) bool {
	if !json {
		return set.addAlias(name)
	}
	switch name {
	case "array", "number", "null", "object", "string":
		return set.addAlias(name)
	case "boolean":
		return set.addAlias("bool")
	default:
		return false
	}
}

func parseSchemaPattern(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeString {
		return kw.mismatch("a string")
	}
	// The value is a document and not a string. As in MongoDB, an invalid pattern is not an error
	// here.
	if sp.root {
		return nil
	}
	re, err := pcre.Compile(kw.value.Str(), "")
	if err != nil {
		return err
	}
	sp.addAbout(bsonx.TypeString, &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "regular expression did not match",
		test: func(v bsonx.Value, st *state) bool {
			if v.Type != bsonx.TypeString {
				return true
			}
			return covered(re, v.StrBytes(), st)
		},
	})
	return nil
}

// covered reports whether a pattern matches text. It returns false if matching fails with an error,
// which it records in st.
func covered(re *pcre.Regexp, text []byte, st *state) bool {
	ok, err := re.Match(text, st.operation())
	if err == nil {
		return ok
	}
	if ended := st.operation().Err(); ended != nil {
		st.fail(ended)
	}
	return false
}

func parseSchemaLength(sp *schemaParser, kw keyword) error {
	limit, err := kw.nonNegative()
	if err != nil {
		return err
	}
	maximum := kw.name == "maxLength"
	sp.addAbout(bsonx.TypeString, &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "specified string length was not satisfied",
		test: func(v bsonx.Value, st *state) bool {
			return v.Type != bsonx.TypeString || within(utf8.RuneCount(v.StrBytes()), limit, maximum)
		},
	})
	return nil
}

// within reports whether a count is within a limit, which is the largest count if maximum is true
// and otherwise the smallest.
func within(n int, limit int64, maximum bool) bool {
	if maximum {
		return int64(n) <= limit
	}
	return int64(n) >= limit
}

func parseSchemaMultipleOf(sp *schemaParser, kw keyword) error {
	if !kw.value.Type.IsNumber() {
		return kw.mismatch("a number")
	}
	if bsonx.CompareValues(kw.value, bsonx.Int32(0)) <= 0 && !isNaN(kw.value) {
		return kw.invalid("must have a positive value")
	}
	divisor, err := numeric.ToDecimal(kw.value)
	if err != nil {
		return err
	}
	sp.addAbout(aNumber, &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "considered value is not a multiple of the specified value",
		test: func(v bsonx.Value, st *state) bool {
			if !v.Type.IsNumber() {
				return true
			}
			dividend, err := numeric.ToDecimal(v)
			if err != nil {
				return false
			}
			rest, err := numeric.Mod(dividend, divisor)
			return err == nil && numeric.IsZero(rest)
		},
	})
	return nil
}

// parseSchemaLimit compiles minimum or maximum with exclusiveMinimum or exclusiveMaximum, which are
// booleans in draft 4 of JSON Schema.
func parseSchemaLimit(sp *schemaParser, kw keyword) error {
	if !kw.value.Type.IsNumber() {
		return kw.mismatch("a number")
	}
	exclusive := sp.doc.Lookup(exclusiveName(kw.name))
	if !exclusive.IsMissing() && exclusive.Type != bsonx.TypeBool {
		return keyword{name: exclusiveName(kw.name)}.mismatch("a boolean")
	}
	op, spec := Gte, kw.spec()
	if kw.name == "maximum" {
		op = Lte
	}
	if !exclusive.IsMissing() && exclusive.Bool() {
		op = map[CompareOp]CompareOp{Gte: Gt, Lte: Lt}[op]
		spec = bsonx.NewDoc(kw.name, kw.value, exclusiveName(kw.name), true)
	}
	compare := NewCompare("", op, kw.value, nil)
	sp.addAbout(aNumber, &valueRule{
		keyword: kw.name, spec: spec, reason: reasonComparison,
		test: func(v bsonx.Value, st *state) bool { return !v.Type.IsNumber() || compare.matchElem(v, st) },
	})
	return nil
}

func exclusiveName(limit string) string {
	if limit == "maximum" {
		return "exclusiveMaximum"
	}
	return "exclusiveMinimum"
}

// parseSchemaExclusive returns an error if the keyword occurs without the limit that it modifies.
// parseSchemaLimit reads the keyword.
func parseSchemaExclusive(sp *schemaParser, kw keyword) error {
	limit := "minimum"
	if kw.name == "exclusiveMaximum" {
		limit = "maximum"
	}
	if sp.doc.Lookup(limit).IsMissing() {
		return keyword{name: limit}.invalid("must be a present if " + kw.name + " is present")
	}
	return nil
}

// parseSchemaEnum compiles the keyword enum. Like the rest of a schema, it ignores the order of
// fields.
func parseSchemaEnum(sp *schemaParser, kw keyword) error {
	if kw.value.Type != bsonx.TypeArray {
		return kw.mismatch("an array, but found an element of type " + kw.value.Type.String())
	}
	values := kw.value.Doc().Values()
	if len(values) == 0 {
		return kw.invalid("cannot be an empty array")
	}
	for i, v := range values {
		if err := sp.p.meter.Did(compareWork*i, sp.p.running); err != nil {
			return err
		}
		if containsUnordered(values[:i], v, nil) {
			return kw.invalid("array cannot contain duplicate values.")
		}
	}
	rule := &valueRule{
		keyword: kw.name, spec: kw.spec(), reason: "value was not found in enum",
		test: func(v bsonx.Value, st *state) bool { return containsUnordered(values, v, st) },
	}
	if isDoc := func(v bsonx.Value) bool { return v.Type == bsonx.TypeDocument }; sp.root &&
		!slices.ContainsFunc(values, isDoc) {
		rule.reason, rule.withoutValue = reasonNever, true
	}
	sp.add(rule)
	return nil
}

// compareWork is the work of comparing two short values, in the units of interrupt.Meter.
const compareWork = interrupt.Step / 4

func containsUnordered(values []bsonx.Value, v bsonx.Value, st *state) bool {
	if st.stopped(compareWork * len(values)) {
		return false
	}
	return slices.ContainsFunc(values, func(other bsonx.Value) bool { return equalUnordered(v, other) })
}

// equalUnordered reports whether two values are equal, ignoring the order of fields in documents.
func equalUnordered(a, b bsonx.Value) bool {
	if a.Type != b.Type {
		// The values are numbers of different types, or a string and a symbol.
		return a.Type.Class() == b.Type.Class() && bsonx.CompareValues(a, b) == 0
	}
	switch a.Type {
	case bsonx.TypeArray:
		ia, ib := a.Doc().Iter(), b.Doc().Iter()
		for {
			na, nb := ia.Next(), ib.Next()
			if !na || !nb {
				return na == nb
			}
			if !equalUnordered(ia.Value(), ib.Value()) {
				return false
			}
		}
	case bsonx.TypeDocument:
		if a.Doc().Len() != b.Doc().Len() {
			return false
		}
		for it := a.Doc().Iter(); it.Next(); {
			other := b.Doc().Lookup(string(it.Key()))
			if other.IsMissing() || !equalUnordered(it.Value(), other) {
				return false
			}
		}
		return true
	default:
		return bsonx.CompareValues(a, b) == 0
	}
}
