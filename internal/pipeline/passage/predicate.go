package passage

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/limits"
)

// Predicate is one of the conditions that a $match combines with AND.
type Predicate struct {
	Spec  bsonx.Doc
	Paths []string // the paths that the predicate reads
	// Fixed is true if the predicate cannot be moved, because its paths are unknown or its result
	// may change between evaluations.
	Fixed bool
	// CanFail reports whether the predicate may return an error. Then it must not see documents
	// that another stage drops.
	CanFail bool
	// hasExpr reports whether the predicate contains an $expr. The paths in it cannot be renamed.
	hasExpr bool
	// Compares reports whether the predicate only compares with scalars other than null. Such a
	// predicate gives the same answer for all values that $group treats as equal, and does not
	// distinguish null from a missing field.
	Compares bool
	// Misses reports whether a part of the predicate, leaving negations aside, matches a missing
	// field.
	misses bool
	// Negates reports whether the predicate contains a negation.
	negates bool
}

// Conjuncts returns the conditions of a filter, each as a document with one field. It flattens
// nested $and.
func Conjuncts(spec bsonx.Doc) []bsonx.Doc { return conjuncts(nil, spec, 0) }

// conjuncts appends the conditions of spec to dst.
func conjuncts(dst []bsonx.Doc, spec bsonx.Doc, depth int) []bsonx.Doc {
	for it := spec.Iter(); it.Next(); {
		if string(it.Key()) == "$and" && it.Value().Type == bsonx.TypeArray && depth < limits.DocumentDepth {
			for _, v := range it.Value().Doc().Values() {
				dst = conjuncts(dst, v.Doc(), depth+1)
			}
			continue
		}
		dst = append(dst, bsonx.NewDoc(string(it.Key()), it.Value()))
	}
	return dst
}

// NewPredicate returns the predicate spec, which was compiled to f.
func NewPredicate(spec bsonx.Doc, f *filter.Filter, operators *expr.Table) Predicate {
	p := Predicate{Spec: spec, Compares: true}
	if hasChance(bsonx.Document(spec), operators, 0) {
		p.Fixed = true
		return p
	}
	// A filter that is always false reads nothing.
	if f.Normalize().Root.Kind() != filter.KindAlwaysFalse {
		p.Read(f.Root)
	}
	return p
}

// Read records the paths and properties of the filter root in p.
func (p *Predicate) Read(root filter.Node) {
	filter.WalkNodes(root, func(n filter.Node) bool {
		if leaf, ok := n.(filter.Leaf); ok {
			p.misses = p.misses || filter.HoldsOfMissing(leaf)
			p.Paths = append(p.Paths, leaf.FieldPath().String())
		}
		switch n := n.(type) {
		case *filter.And, *filter.Or:
			return true
		case *filter.Nor, *filter.Not:
			p.negates = true
			return true
		case *filter.AlwaysTrue, *filter.AlwaysFalse:
		case *filter.Expr:
			var deps expr.Dependencies
			deps.Depend(n.Expr)
			p.Fixed = p.Fixed || deps.WholeDocument || deps.Meta
			p.Paths = append(p.Paths, deps.Paths...)
			p.CanFail = p.CanFail || !expr.CannotFail(n.Expr)
			p.hasExpr, p.Compares = true, false
		case *filter.Compare:
			p.Compares = p.Compares && comparable(n.Value)
		case *filter.In:
			p.Compares = p.Compares && len(n.Regexes) == 0 &&
				!slices.ContainsFunc(n.Values, func(v bsonx.Value) bool { return !comparable(v) })
		case *filter.Bits, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Exists, *filter.Geo,
			*filter.GeoNear, *filter.Mod, *filter.Regex, *filter.Size, *filter.TypeOf:
			p.Compares = false
		case *filter.JSONSchema, *filter.SampleRate, *filter.Text, *filter.Where:
			p.Fixed = true
		}
		return false
	})
}

// comparable reports whether a comparison with v gives the same answer for all values that $group
// treats as equal.
func comparable(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeBool, bsonx.TypeString, bsonx.TypeObjectID, bsonx.TypeDate, bsonx.TypeTimestamp:
		return true
	default:
		return v.Type.IsNumber()
	}
}

// hasChance reports whether a predicate depends on random values, JavaScript or the document's
// metadata.
func hasChance(v bsonx.Value, operators *expr.Table, depth int) bool {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return false
	}
	for it := v.Doc().Iter(); it.Next(); {
		if name := it.Key(); operators.Depends(name).Varies() || filter.Depends(name).Varies() {
			return true
		}
		if depth > limits.DocumentDepth || hasChance(it.Value(), operators, depth+1) {
			return true
		}
	}
	return false
}

// looksBeside reports whether a predicate on path gives the same answer after a stage has changed
// or dropped sibling fields along the path. Such a stage may turn a scalar into a document, or drop
// it. A predicate notices that in two cases: an array index in the path, or a test that matches
// missing fields.
func (p *Predicate) looksBeside(path string) bool {
	return !p.misses && !slices.ContainsFunc(strings.Split(path, ".")[1:], isPosition)
}

// isBelow reports whether path equals other or is a path within it.
func isBelow(path, other string) bool {
	rest, ok := strings.CutPrefix(path, other)
	return ok && (rest == "" || rest[0] == '.')
}

// SurvivesRedact reports whether the predicate matches the original document whenever it matches
// the redacted one. $redact removes documents, also in arrays, and changes no other value. So the
// predicate must look for a scalar, and its path must not contain an array index.
func (p Predicate) SurvivesRedact() bool {
	if p.Fixed || p.negates || p.misses || !p.Compares || len(p.Paths) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.Paths, func(path string) bool {
		return slices.ContainsFunc(strings.Split(path, ".")[1:], isPosition)
	})
}

// isPosition reports whether a component of a path may be an array index.
func isPosition(name string) bool {
	_, ok := bsonx.ArrayIndex(name)
	return ok
}
