package read

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// CollationFor returns the collation of an operation on c, which may be nil: the operation's own
// collation, or else the default of the collection. It fails if c is a view with another collation.
// A nil collation compares strings by their bytes.
func CollationFor(cache *collation.Cache, v bsonx.Value, c *table.Collection) (*collation.Collator, error) {
	var fallback *collation.Collator
	if c != nil {
		fallback = c.Collation
	}
	if v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() {
		return fallback, nil
	}
	own, err := cache.Parse(v.Doc())
	if err == nil && c != nil && c.Kind == catalog.KindView && !own.Same(fallback) {
		err = overridesView(c)
	}
	return own, err
}

func overridesView(c *table.Collection) error {
	return mongoerr.New(mongoerr.OptionNotSupportedOnView,
		"Cannot override a view's default collation: %s.%s", c.DB, c.Name)
}

// NormalizedCollation returns the specification of a collation with all its fields, as it is
// stored. It returns bsonx.Missing if the option is absent.
func NormalizedCollation(v bsonx.Value) (bsonx.Value, error) {
	if v.Type != bsonx.TypeDocument || v.Doc().IsEmpty() {
		return bsonx.Missing, nil
	}
	co, err := collation.Parse(v.Doc())
	if err != nil {
		return bsonx.Missing, err
	}
	if co == nil {
		return bsonx.Document(bsonx.NewDoc("locale", "simple")), nil
	}
	return bsonx.Document(co.Spec()), nil
}

// Collated returns the scope of an operation on c, with the collation that the operation specifies
// or else with the default of c.
func (s Scope) Collated(v bsonx.Value, c *table.Collection) (Scope, error) {
	co, err := CollationFor(&s.Engine.Collations, v, c)
	co = co.Serving(s.Vars.Scripts().Running)
	s.simple = co == nil && !SpecOf(v).IsEmpty()
	if err != nil || co == s.Collation {
		return s, err
	}
	s.Collation = co
	s.Vars = s.Vars.WithCollation(co)
	return s, nil
}

// SpecOf returns the collation that a command or statement specifies, or nil if it does not specify
// one.
func SpecOf(v bsonx.Value) bsonx.Doc {
	if v.Type != bsonx.TypeDocument {
		return nil
	}
	return v.Doc()
}

// Compare returns the order of values for update operators. It returns nil if strings are compared
// by their bytes.
func (s Scope) Compare() func(a, b bsonx.Value) int {
	if s.Collation == nil {
		return nil
	}
	return s.Collation.CompareValues
}
