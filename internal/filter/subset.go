package filter

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

// SubsetOf reports whether every document that matches a is known to match b. It decides whether a
// partial index with the filter b can answer the query a. SubsetOf also returns false if it does
// not know the answer. Both trees must be canonical.
func SubsetOf(a, b Node) bool {
	if identity(a).Equal(identity(b)) && sameCollation(a, b) {
		return true
	}
	if b, ok := b.(*And); ok {
		for _, child := range b.Children {
			if !SubsetOf(a, child) {
				return false
			}
		}
		return true
	}
	switch a := a.(type) {
	case *AlwaysFalse:
		return true
	case *And:
		if slices.ContainsFunc(a.Children, func(child Node) bool { return SubsetOf(child, b) }) {
			return true
		}
	case *Or:
		return !slices.ContainsFunc(a.Children, func(child Node) bool { return !SubsetOf(child, b) })
	case Leaf, *AlwaysTrue, *Expr, *JSONSchema, *Nor, *Not, *SampleRate, *Text, *Where:
	}
	switch b := b.(type) {
	case *AlwaysTrue:
		return true
	case *Or:
		return slices.ContainsFunc(b.Children, func(child Node) bool { return SubsetOf(a, child) })
	case *Compare:
		return subsetOfCompare(a, b)
	case *In:
		return subsetOfIn(a, b)
	case *Exists:
		return excludesMissing(a, b.Path)
	case *TypeOf:
		return subsetOfType(a, b)
	case *Bits, *ElemMatchObject, *ElemMatchValue, *Geo, *GeoNear, *Mod, *Regex, *Size:
	case *AlwaysFalse, *And, *Expr, *JSONSchema, *Nor, *Not, *SampleRate, *Text, *Where:
	}
	return false
}

func sameCollation(a, b Node) bool {
	return collationOf(a).Same(collationOf(b))
}

// collationOf returns the collation of a tree. All leaves of a tree have the same collation.
func collationOf(n Node) *collation.Collator {
	var found *collation.Collator
	WalkNodes(n, func(n Node) bool {
		if n, ok := n.(*Compare); ok && n.Collation != nil {
			found = n.Collation
		}
		if n, ok := n.(*In); ok && n.Collation != nil {
			found = n.Collation
		}
		return found == nil
	})
	return found
}

func subsetOfCompare(a Node, b *Compare) bool {
	if a, ok := a.(*Compare); ok {
		return a.Path == b.Path && a.class == b.class && collationAgrees(a, b) && rangeWithin(a, b)
	}
	in, ok := a.(*In)
	if !ok || in.Path != b.Path || len(in.Regexes) > 0 || len(in.Values) == 0 {
		return false
	}
	for _, v := range in.Values {
		if !subsetOfCompare(NewCompare(in.Path, Eq, v, in.Collation), b) {
			return false
		}
	}
	return true
}

// collationAgrees reports whether a and b compare their values in the same way: their collations
// are the same, or the operand of a cannot contain strings.
func collationAgrees(a, b *Compare) bool {
	switch a.class {
	case bsonx.ClassString, bsonx.ClassDocument, bsonx.ClassArray:
		return sameCollation(a, b)
	default:
		return true
	}
}

func rangeWithin(a, b *Compare) bool {
	if a.nan || b.nan {
		includes := func(op CompareOp) bool { return op != Lt && op != Gt }
		return a.nan && b.nan && includes(a.Op) && includes(b.Op)
	}
	c := bsonx.CompareValues(a.Value, b.Value)
	if a.Collation != nil {
		c = a.Collation.CompareValues(a.Value, b.Value)
		if a.Collation.Ended(a.Value, b.Value) != nil {
			return false
		}
	}
	if a.Op == b.Op && c == 0 {
		return true
	}
	switch b.Op {
	case Lt:
		return (a.Op == Lt || a.Op == Lte || a.Op == Eq) && c < 0
	case Lte:
		return (a.Op == Lt || a.Op == Lte || a.Op == Eq) && c <= 0
	case Gt:
		return (a.Op == Gt || a.Op == Gte || a.Op == Eq) && c > 0
	case Gte:
		return (a.Op == Gt || a.Op == Gte || a.Op == Eq) && c >= 0
	default:
		return a.Op == Eq && c == 0
	}
}

func subsetOfIn(a Node, b *In) bool {
	if a, ok := a.(*Compare); ok {
		return a.Path == b.Path && a.Op == Eq && a.Value.Type != bsonx.TypeRegex &&
			inCollationAgrees(a.Collation, b.Collation) && b.has(a.Value)
	}
	in, ok := a.(*In)
	if !ok || in.Path != b.Path || len(in.Regexes) > 0 || !inCollationAgrees(in.Collation, b.Collation) {
		return false
	}
	return !slices.ContainsFunc(in.Values, func(v bsonx.Value) bool { return !b.has(v) })
}

func inCollationAgrees(a, b *collation.Collator) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return a.Spec().Equal(b.Spec())
}

// excludesMissing reports whether a is a predicate on path that matches no document without a value
// at the path.
func excludesMissing(a Node, path string) bool {
	if l, ok := a.(Leaf); ok && l.FieldPath().String() != path {
		return false
	}
	switch a := a.(type) {
	case *Compare:
		return a.class != bsonx.ClassNull &&
			!(a.class == bsonx.ClassMinKey && a.Op != Eq && a.Op != Lt && a.Op != Lte) &&
			!(a.class == bsonx.ClassMaxKey && (a.Op == Lt || a.Op == Lte))
	case *In:
		return !a.hasNull
	case *Exists, *TypeOf, *Regex, *Mod, *Size, *Bits, *ElemMatchObject, *ElemMatchValue:
		return true
	case *Not:
		return excludesNull(a.Child, path)
	case *AlwaysFalse, *AlwaysTrue, *And, *Expr, *Geo, *GeoNear, *JSONSchema, *Nor, *Or, *SampleRate, *Text,
		*Where:
	}
	return false
}

// excludesNull reports whether a matches documents without a value at the path, so that its
// negation does not match them.
func excludesNull(a Node, path string) bool {
	if a, ok := a.(*Compare); ok {
		return a.Path == path && a.class == bsonx.ClassNull && a.Op != Lt && a.Op != Gt
	}
	in, ok := a.(*In)
	return ok && in.Path == path && in.hasNull
}

func subsetOfType(a Node, b *TypeOf) bool {
	t, ok := a.(*TypeOf)
	if !ok || t.Path != b.Path || t.Set.Number && !b.Set.Number {
		return false
	}
	return !slices.ContainsFunc(t.Set.Types, func(typ bsonx.Type) bool { return !b.Set.Has(typ) })
}
