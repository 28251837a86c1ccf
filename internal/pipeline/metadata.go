package pipeline

import (
	"bytes"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// CheckMeta fails if a stage reads metadata that the documents of a collection do not have. The
// documents have the metadata of a search by distance only if near is true, and the text score only
// if text is true. Pipelines over other documents are not checked.
func CheckMeta(stages []bsonx.Value, near, text bool) error {
	for _, kind := range expr.MetaKinds() {
		if kind.From == expr.AnySearch || !NamesMeta(stages, kind.Name) {
			continue
		}
		c := metaCheck{
			kind: kind.Name,
			has:  kind.From == expr.TextSearch && text || kind.From == expr.NearSearch && near,
		}
		for _, s := range stages {
			if s.Type == bsonx.TypeDocument && c.fails(s.Doc()) {
				return expr.NoMeta(kind.Name)
			}
		}
	}
	return nil
}

// metaCheck looks for uses of one kind of metadata.
type metaCheck struct {
	kind string
	has  bool // the input documents have the metadata
}

// fails reports whether a stage, or a document within a stage, reads the metadata although the
// documents do not have it.
func (c metaCheck) fails(d bsonx.Doc) bool {
	for it := d.Iter(); it.Next(); {
		name, v := it.Key(), it.Value()
		if string(name) == "$meta" && !c.has && v.Type == bsonx.TypeString && v.Str() == c.kind {
			return true
		}
		if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray || string(name) == "$literal" {
			continue
		}
		if c.argumentFails(registry()[string(name)], v.Doc()) {
			return true
		}
	}
	return false
}

// argumentFails is like fails for the argument of the stage def, or for another document if def is
// nil.
func (c metaCheck) argumentFails(def *parsing.Definition, arg bsonx.Doc) bool {
	switch {
	case def == nil:
		return c.fails(arg)
	case def.Metadata == parsing.AnyMeta:
		return false
	}
	c.has = c.has && def.Metadata != parsing.NoMeta
	if def.Foreign == nil {
		return c.fails(arg)
	}
	for it := arg.Iter(); it.Next(); {
		field := bsonx.NewDoc(string(it.Key()), it.Value())
		if !slices.Contains(def.Foreign, string(it.Key())) && c.fails(field) {
			return true
		}
	}
	return false
}

// NamesMeta reports whether a stage may read a kind of metadata.
func NamesMeta(stages []bsonx.Value, kind string) bool {
	return slices.ContainsFunc(stages, func(s bsonx.Value) bool { return bytes.Contains(s.Data, []byte(kind)) })
}
