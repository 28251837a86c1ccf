package collation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// icuVersion is the version of ICU whose order the collations follow. It is part of every
// normalised specification.
const icuVersion = "57.1"

// strength is the number of levels that are compared.
type strength int

const (
	primary strength = 1 + iota
	secondary
	tertiary
	quaternary
	identical
)

// options contains the fields of a specification.
type options struct {
	locale        string
	caseLevel     bool
	caseFirst     string
	strength      strength
	numeric       bool
	alternate     string
	maxVariable   string
	normalization bool
	backwards     bool
}

// parser is the state of parsing a specification.
type parser struct {
	doc bsonx.Doc
	// within is the name of the specification in error messages.
	within  string
	opts    options
	version string
	// backwards is nil if it is not specified. Its default depends on the locale.
	backwards *bool
}

// parseOptions checks a specification and sets defaults.
func parseOptions(doc bsonx.Doc) (options, error) {
	p := newParser(doc, "collation")
	if err := p.fields(); err != nil {
		return options{}, err
	}
	if err := p.locale(); err != nil {
		return options{}, err
	}
	return p.opts, p.check()
}

func newParser(doc bsonx.Doc, within string) *parser {
	return &parser{doc: doc, within: within, opts: options{
		caseFirst: "off", strength: tertiary, alternate: "non-ignorable", maxVariable: "punct",
	}}
}

// Complete checks the types of a specification's fields. It returns the specification with defaults
// for all fields that do not depend on the locale. within is the name of the specification in error
// messages, such as "create.collation".
func Complete(doc bsonx.Doc, within string) (bsonx.Doc, error) {
	p := newParser(doc, within)
	if err := p.fields(); err != nil {
		return nil, err
	}
	o := &p.opts
	out := bsonx.NewDoc("locale", o.locale, "caseLevel", o.caseLevel, "caseFirst",
		o.caseFirst, "strength", int(o.strength),
		"numericOrdering", o.numeric, "alternate", o.alternate, "maxVariable", o.maxVariable,
		"normalization", o.normalization)
	if p.backwards != nil {
		out = out.With("backwards", bsonx.Bool(*p.backwards))
	}
	if p.version != "" {
		out = out.With("version", bsonx.String(p.version))
	}
	return out, nil
}

func (p *parser) fields() error {
	seen := map[string]bool{}
	for it := p.doc.Iter(); it.Next(); {
		name, v := string(it.Key()), it.Value()
		if seen[name] {
			return mongoerr.New(mongoerr.IDLDuplicateField, "BSON field '%s.%s' is a duplicate field", p.within, name)
		}
		seen[name] = true
		if absent(v) && name != "backwards" {
			continue
		}
		if err := p.field(name, v); err != nil {
			return err
		}
	}
	if p.opts.locale == "" && (!seen["locale"] || absent(p.doc.Lookup("locale"))) {
		return mongoerr.New(mongoerr.IDLFailedToParse,
			"BSON field '%s.locale' is missing but a required field", p.within)
	}
	return nil
}

// absent reports whether MongoDB's IDL parser treats a value as absent: it is missing, null or
// undefined.
func absent(v bsonx.Value) bool { return v.IsNull() || v.Type == bsonx.TypeUndefined }

func (p *parser) field(name string, v bsonx.Value) (err error) {
	o := &p.opts
	switch name {
	case "locale":
		o.locale, err = p.text(name, v)
	case "caseLevel":
		o.caseLevel, err = p.boolean(name, v)
	case "caseFirst":
		o.caseFirst, err = p.oneOf(name, v, "upper", "lower", "off")
	case "strength":
		o.strength, err = p.strength(v)
	case "numericOrdering":
		o.numeric, err = p.boolean(name, v)
	case "alternate":
		o.alternate, err = p.oneOf(name, v, "non-ignorable", "shifted")
	case "maxVariable":
		o.maxVariable, err = p.oneOf(name, v, "punct", "space")
	case "normalization":
		o.normalization, err = p.boolean(name, v)
	case "backwards":
		if v.Type != bsonx.TypeBool {
			return mongoerr.New(mongoerr.TypeMismatch, "Field 'backwards' should be a boolean value, but found: %s", v.Type)
		}
		b := v.Bool()
		p.backwards = &b
	case "version":
		p.version, err = p.text(name, v)
	default:
		return mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", p.within, name)
	}
	return err
}

func (p *parser) text(name string, v bsonx.Value) (string, error) {
	if v.Type != bsonx.TypeString {
		return "", p.wrongType(name, v.Type, "type 'string'")
	}
	return v.Str(), nil
}

func (p *parser) boolean(name string, v bsonx.Value) (bool, error) {
	if v.Type != bsonx.TypeBool {
		return false, p.wrongType(name, v.Type, "type 'bool'")
	}
	return v.Bool(), nil
}

func (p *parser) oneOf(name string, v bsonx.Value, allowed ...string) (string, error) {
	s, err := p.text(name, v)
	if err == nil && !slices.Contains(allowed, s) {
		err = p.notAValue(name, s)
	}
	return s, err
}

func (p *parser) strength(v bsonx.Value) (strength, error) {
	if !v.Type.IsNumber() {
		return 0, p.wrongType("strength", v.Type, "types '[decimal, double, long, int]'")
	}
	n := v.SaturatingInt32()
	switch {
	case n > int32(identical):
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'strength' value must be <= 5, actual value '%d'", n)
	case n < 0:
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'strength' value must be >= 0, actual value '%d'", n)
	case n == 0:
		return 0, p.notAValue("strength", "0")
	}
	return strength(n), nil
}

func (p *parser) wrongType(name string, got bsonx.Type, want string) error {
	return mongoerr.New(mongoerr.TypeMismatch,
		"BSON field '%s.%s' is the wrong type '%s', expected %s", p.within, name, got, want)
}

func (p *parser) notAValue(name, value string) error {
	return mongoerr.New(mongoerr.BadValue, "Enumeration value '%s' for field '%s.%s' is not a valid value.", value, p.within, name)
}

// locale returns an error if MongoDB does not know the locale, or if this package does not support
// its order.
func (p *parser) locale() error {
	name := p.opts.locale
	switch {
	case name == "":
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' cannot be the empty string in: %s", p.show())
	case strings.ContainsRune(name, 0):
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' cannot contain null byte. Collation spec: %s", p.show())
	case name == simple:
		return nil
	case !known(name):
		hint := ""
		if s := similar(name); s != "" {
			hint = fmt.Sprintf(". Did you mean '%s'?", s)
		}
		return mongoerr.New(mongoerr.BadValue, "Field 'locale' is invalid in: %s%s", p.show(), hint)
	}
	return nil
}

// check returns an error for another ICU version, and for meaningless combinations of options.
func (p *parser) check() error {
	o := &p.opts
	if o.locale == simple {
		return nil
	}
	if p.version != "" && p.version != icuVersion {
		return mongoerr.New(mongoerr.IncompatibleCollationVersion,
			"Requested collation version %s but the only available collator version was %s. Requested collation spec: %s", p.version, icuVersion, p.show())
	}
	o.backwards = o.locale == "fr_CA"
	if p.backwards != nil {
		o.backwards = *p.backwards
	}
	if o.backwards && o.strength == primary {
		return mongoerr.New(mongoerr.BadValue, "'backwards' is invalid with 'strength' of 1 in: %s", p.show())
	}
	if o.caseFirst != "off" && !o.caseLevel && o.strength < tertiary {
		return mongoerr.New(mongoerr.BadValue,
			"'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2 in: %s", p.show())
	}
	return p.supported()
}

// aligned reports whether the weights of one level depend on another level, or on the kind of
// character.
func (o *options) aligned() bool {
	return o.alternate == "shifted" || o.caseLevel || o.caseFirst != "off" || o.numeric
}

// document returns the normalised specification, which contains every field, as in listCollections
// and listIndexes.
func (o *options) document() bsonx.Doc {
	return bsonx.NewDoc("locale", o.locale, "caseLevel", o.caseLevel, "caseFirst",
		o.caseFirst, "strength", int(o.strength),
		"numericOrdering", o.numeric, "alternate", o.alternate, "maxVariable", o.maxVariable,
		"normalization", o.normalization, "backwards", o.backwards, "version", icuVersion)
}

func (p *parser) show() string { return bsonx.FormatShell(bsonx.Document(p.doc)) }
