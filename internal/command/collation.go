package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// collationFor returns the collation of an operation on c, which may be nil: its own, which a view has to agree with, or
// else the collection's default. nil compares bytes.
func collationFor(cache *collation.Cache, v bsonx.Value, c *table.Collection) (*collation.Collator, error) {
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
	return mongoerr.New(mongoerr.OptionNotSupportedOnView, "Cannot override a view's default collation: %s.%s", c.DB, c.Name)
}

// normalizedCollation returns a collation's specification with all its fields, to be stored; missing where there is none.
func normalizedCollation(v bsonx.Value) (bsonx.Value, error) {
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

// storedCollation is normalizedCollation for the collation of create.
func storedCollation(req *Request) (bsonx.Value, error) {
	v, err := createCollation(req)
	if err != nil {
		return bsonx.Missing, err
	}
	return normalizedCollation(v)
}

// collated returns the scope of an operation on c with the collation that it gives, or else c's default.
func (s scope) collated(v bsonx.Value, c *table.Collection) (scope, error) {
	co, err := collationFor(s.collations, v, c)
	co = co.Serving(s.vars.Scripts().Running)
	s.simple = co == nil && !specOf(v).IsEmpty()
	if err != nil || co == s.collation {
		return s, err
	}
	s.collation = co
	s.vars = s.vars.WithCollation(co)
	return s, nil
}

// specOf returns the collation that a command or statement gives; nil where it gives none.
func specOf(v bsonx.Value) bsonx.Doc {
	if v.Type != bsonx.TypeDocument {
		return nil
	}
	return v.Doc()
}

// compare returns how update operators order values; nil for bytes.
func (s scope) compare() func(a, b bsonx.Value) int {
	if s.collation == nil {
		return nil
	}
	return s.collation.CompareValues
}
