package plan

import (
	"slices"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
)

// tightness says what bounds leave to check.
type tightness int

const (
	// exact bounds hold the matching keys and no others.
	exact tightness = iota
	// inexactCovered bounds hold the matching keys and others; the key tells them apart.
	inexactCovered
	// inexactFetch bounds hold the matching keys and others; only the document tells them apart.
	inexactFetch
)

// fieldBounds are the bounds that a predicate gives to an index field.
type fieldBounds struct {
	ivs   intervals
	tight tightness
}

// boundsContext is what the bounds of a predicate depend on beside the predicate.
type boundsContext struct {
	// multikey is true where a component of the path was an array in some document of the index.
	multikey bool
	// dotted is true where the path has several components.
	dotted bool
	// numeric is true where a component of the path may be an array position: the matcher stops at the element there,
	// the index goes on into it.
	numeric bool
	// mismatch is true where the query and the index do not have the same collation.
	mismatch bool
	// folded is true where the index does not hold strings as they are: a regular expression, which
	// goes by no collation, does not find them there.
	folded bool
	// collatedRegex is true where a regular expression reads all strings of such an index.
	collatedRegex bool
	// collation turns strings into what the index holds.
	collation *collation.Collator
	// room is memory for one interval, to be used once.
	room intervals
}

// one returns an interval as bounds.
func (c *boundsContext) one(iv interval) intervals { return append(c.room, iv) }

// undefined is what the index holds for an array without elements.
var undefined = bsonx.Value{Type: bsonx.TypeUndefined}

// boundsOf returns the bounds of a predicate on the field of its path; false where an index cannot serve it.
func boundsOf(n filter.Node, c boundsContext) (fieldBounds, bool) {
	if c.numeric && matchesMissing(n) {
		return fieldBounds{}, false
	}
	switch n := n.(type) {
	case *filter.Compare:
		return compareBounds(n, c)
	case *filter.In:
		return inBounds(n, c)
	case *filter.Regex:
		if c.folded && !c.collatedRegex {
			return fieldBounds{}, false
		}
		return regexBounds(n, c), true
	case *filter.Exists:
		return fieldBounds{allValues, inexactFetch}, true
	case *filter.TypeOf:
		return typeBounds(n), true
	case *filter.Mod:
		return fieldBounds{bracketOf(bsonx.ClassNumber), inexactCovered}, true
	case *filter.ElemMatchValue:
		return elemMatchBounds(n, c)
	case *filter.Not:
		return notBounds(n, c)
	case *filter.Or:
		return orBounds(n, c)
	default:
		return fieldBounds{}, false
	}
}

// orBounds are the union of the bounds of all branches.
func orBounds(n *filter.Or, c boundsContext) (fieldBounds, bool) {
	out := fieldBounds{nil, exact}
	all := make([]intervals, 0, len(n.Children))
	for _, child := range n.Children {
		c.room = nil
		b, ok := boundsOf(child, c)
		if !ok {
			return fieldBounds{}, false
		}
		all, out.tight = append(all, b.ivs), max(out.tight, b.tight)
	}
	out.ivs = intervals(nil).union(fold(all, intervals.union))
	return out, true
}

func compareBounds(n *filter.Compare, c boundsContext) (fieldBounds, bool) {
	if c.mismatch && collation.Concerns(n.Value) {
		return fieldBounds{}, false
	}
	// The predicate's collator is the index's, or the value is not concerned.
	v, err := n.Collation.Fold(n.Value, nil)
	if err != nil {
		return fieldBounds{}, false // too large a value for bounds
	}
	if n.Op == filter.Eq {
		return equalityBounds(v, c), true
	}
	class := v.Type.Class()
	switch class {
	case bsonx.ClassNull:
		if n.Op == filter.Lt || n.Op == filter.Gt {
			return fieldBounds{nil, exact}, true
		}
		return equalityBounds(v, c), true
	case bsonx.ClassArray:
		return fieldBounds{c.one(arrayRange(n.Op, v)), inexactFetch}, true
	case bsonx.ClassMinKey, bsonx.ClassMaxKey:
		// A missing field is null to the index and matches nothing here.
		return fieldBounds{c.rangeBounds(n.Op, v, allValues[0]), inexactFetch}, true
	}
	if class == bsonx.ClassNumber && bsonx.CompareValues(v, nanPoint.low) == 0 {
		if n.Op == filter.Lt || n.Op == filter.Gt {
			return fieldBounds{nil, exact}, true
		}
		return equalityBounds(v, c), true
	}
	return fieldBounds{c.rangeBounds(n.Op, v, classBrackets[class]), exact}, true
}

// arrayRange is the range of the entries of arrays on one side of v. The first element of such an
// array is on that side of the first element of v, or equal to it. An array within an array has an
// entry as a whole.
func arrayRange(op filter.CompareOp, v bsonx.Value) interval {
	ends := [2]bsonx.Value{firstEntry(v), v}
	if bsonx.CompareValues(ends[0], ends[1]) > 0 {
		ends[0], ends[1] = ends[1], ends[0]
	}
	out := allValues[0]
	if op == filter.Lt || op == filter.Lte {
		out.high = ends[1]
	} else {
		out.low = ends[0]
	}
	return out
}

// firstEntry is what the index holds for the first element of an array.
func firstEntry(v bsonx.Value) bsonx.Value {
	if v.Doc().IsEmpty() {
		return undefined
	}
	return v.Doc().First().Value
}

// rangeBounds cuts within at v.
func (c *boundsContext) rangeBounds(op filter.CompareOp, v bsonx.Value, within interval) intervals {
	switch op {
	case filter.Lt, filter.Lte:
		within.high, within.highIncl = v, op == filter.Lte
	case filter.Gt, filter.Gte:
		within.low, within.lowIncl = v, op == filter.Gte
	case filter.Eq:
		return c.one(point(v))
	}
	if within.isEmpty() {
		return nil
	}
	return c.one(within)
}

// equalityBounds are exact for all values but null, which missing fields have too, and arrays, which the index holds
// by their elements.
func equalityBounds(v bsonx.Value, c boundsContext) fieldBounds {
	switch v.Type {
	case bsonx.TypeNull:
		if c.multikey && c.dotted {
			// An array without elements on the way is undefined to the index.
			return fieldBounds{intervals{{undefined, v, true, true}}, inexactFetch}
		}
		return fieldBounds{intervals{point(v)}, inexactFetch}
	case bsonx.TypeMinKey, bsonx.TypeMaxKey:
		return fieldBounds{intervals{point(v)}, inexactFetch}
	case bsonx.TypeArray:
		return fieldBounds{intervals{point(firstEntry(v))}.union(intervals{point(v)}), inexactFetch}
	default:
		return fieldBounds{c.one(point(v)), exact}
	}
}

func inBounds(n *filter.In, c boundsContext) (fieldBounds, bool) {
	var room [1]interval // of each value in turn
	out := fieldBounds{nil, exact}
	points := make(intervals, 0, len(n.Values))
	var others []intervals
	for _, v := range n.Values {
		if c.mismatch && collation.Concerns(v) {
			return fieldBounds{}, false
		}
		v, err := n.Collation.Fold(v, nil)
		if err != nil {
			return fieldBounds{}, false // too large a value for bounds
		}
		c.room = room[:0]
		b := equalityBounds(v, c)
		out.tight = max(out.tight, b.tight)
		if len(b.ivs) == 1 {
			points = append(points, b.ivs[0])
		} else {
			others = append(others, b.ivs)
		}
	}
	// The values are sorted: joining the points at once keeps a long list linear.
	others = append(others, points)
	for _, re := range n.Regexes {
		b := regexBounds(re, c)
		others, out.tight = append(others, b.ivs), max(out.tight, b.tight)
	}
	out.ivs = intervals(nil).union(fold(others, intervals.union))
	return out, true
}

// regexBounds returns the strings that begin with the literal prefix, and the regular expression
// itself, which it also matches. If the index does not hold strings as they are, it returns all
// strings.
func regexBounds(n *filter.Regex, c boundsContext) fieldBounds {
	self := intervals{point(bsonx.Regex(n.Pattern, n.Options))}
	if c.folded {
		return fieldBounds{bracketOf(bsonx.ClassString).union(self), inexactFetch}
	}
	prefix, isExact := n.Prefix()
	if prefix == "" {
		return fieldBounds{bracketOf(bsonx.ClassString).union(self), inexactCovered}
	}
	iv := interval{low: bsonx.String(prefix), lowIncl: true}
	if after, ok := prefixSuccessor(prefix); ok {
		iv.high = bsonx.String(after)
	} else {
		iv.high = bsonx.Document(bsonx.Empty)
	}
	b := fieldBounds{intervals{iv}.union(self), inexactCovered}
	if isExact {
		b.tight = exact
	}
	return b
}

// prefixSuccessor returns the least string above all strings with the prefix. The last byte of valid UTF-8 is never
// 0xFF, but its increment may be no valid UTF-8: it is a bound only.
func prefixSuccessor(prefix string) (string, bool) {
	if !utf8.ValidString(prefix) {
		return "", false
	}
	b := []byte(prefix)
	b[len(b)-1]++
	return string(b), true
}

// typeBounds are the classes of the types. Arrays are indexed by their elements: their type is not to be seen there.
func typeBounds(n *filter.TypeOf) fieldBounds {
	out := fieldBounds{nil, exact}
	if n.Set.Number {
		out.ivs = out.ivs.union(bracketOf(bsonx.ClassNumber))
	}
	for _, t := range n.Set.Types {
		switch t {
		case bsonx.TypeArray:
			return fieldBounds{allValues, inexactFetch}
		case bsonx.TypeNull, bsonx.TypeMinKey, bsonx.TypeMaxKey, bsonx.TypeUndefined:
			// A missing field is null to the index, an empty array is undefined.
			out.tight = inexactFetch
		case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128, bsonx.TypeString, bsonx.TypeSymbol:
			out.tight = max(out.tight, inexactCovered)
		default: // the others need nothing here
		}
		out.ivs = out.ivs.union(bracketOf(t.Class()))
	}
	if len(n.Set.Types) > 1 || n.Set.Number && len(n.Set.Types) > 0 {
		out.tight = max(out.tight, inexactCovered)
	}
	return out
}

// elemMatchBounds are those of all predicates that one element has to satisfy. That there is an array only the
// document tells.
func elemMatchBounds(n *filter.ElemMatchValue, c boundsContext) (fieldBounds, bool) {
	out, found := fieldBounds{allValues, inexactFetch}, false
	var all []intervals
	if c.numeric {
		return out, false // an array at a position in another one is a value as a whole to the index
	}
	for _, child := range n.Children {
		if not, ok := child.(*filter.Not); ok && negatesNull(not) {
			continue
		}
		c.room = nil
		b, ok := boundsOf(child, c)
		if !ok || hasArrayOperand(child) {
			continue
		}
		found = true
		all = append(all, b.ivs)
	}
	if found {
		out.ivs = fold(all, intervals.intersect)
	}
	return out, found
}

// hasArrayOperand reports whether a predicate is about values that are arrays: an element that is an array stands in
// the index as a whole, but the bounds of such a predicate are made for arrays that are indexed by their elements.
func hasArrayOperand(n filter.Node) bool {
	switch n := n.(type) {
	case *filter.ElemMatchValue, *filter.ElemMatchObject, *filter.Size:
		return true
	case *filter.Compare:
		return n.Value.Type == bsonx.TypeArray
	case *filter.In:
		for _, v := range n.Values {
			if v.Type == bsonx.TypeArray {
				return true
			}
		}
		return false
	case *filter.Not:
		return hasArrayOperand(n.Child)
	default:
		return false
	}
}

// notBounds are the complement of bounds within which every key is a match. Where the path is multikey a document can
// have keys on both sides, so that it must be looked at.
func notBounds(n *filter.Not, c boundsContext) (fieldBounds, bool) {
	if hasArrayOperand(n.Child) {
		return fieldBounds{}, false
	}
	switch child := n.Child.(type) {
	case *filter.Exists:
		return fieldBounds{intervals{point(bsonx.Null)}, inexactFetch}, !c.multikey || !c.dotted
	case *filter.Compare:
		if child.Value.Type == bsonx.TypeMinKey || child.Value.Type == bsonx.TypeMaxKey {
			return fieldBounds{}, false
		}
	case *filter.In:
		if len(child.Regexes) > 0 {
			return fieldBounds{}, false
		}
	default:
		return fieldBounds{}, false
	}
	if c.multikey && (c.numeric || negatesNull(n)) {
		return fieldBounds{}, false
	}
	b, ok := boundsOf(n.Child, c)
	if !ok {
		return fieldBounds{}, false
	}
	tight := exact
	if c.multikey {
		tight = inexactFetch
	}
	return fieldBounds{b.ivs.complement(), tight}, true
}

// negatesNull reports whether null, and so a missing field, does not match.
func negatesNull(n *filter.Not) bool {
	switch child := n.Child.(type) {
	case *filter.Compare:
		return child.Value.Type == bsonx.TypeNull
	case *filter.In:
		for _, v := range child.Values {
			if v.Type == bsonx.TypeNull {
				return true
			}
		}
	default: // the others need nothing here
	}
	return false
}

// impliesPresence reports whether every document that matches has the field, so that a sparse index holds it.
func impliesPresence(n filter.Node) bool {
	switch n := n.(type) {
	case *filter.Compare:
		return !seesMissing(n.Value)
	case *filter.In:
		for _, v := range n.Values {
			if seesMissing(v) {
				return false
			}
		}
		return true
	case *filter.Not:
		c, ok := n.Child.(*filter.Compare)
		return ok && c.Op == filter.Eq && c.Value.Type == bsonx.TypeNull
	case *filter.Or:
		return !slices.ContainsFunc(n.Children, func(child filter.Node) bool { return !impliesPresence(child) })
	default:
		return true
	}
}

// matchesMissing reports whether a predicate asks for missing fields: of an array that has the position of a path the
// matcher also looks for the position as a field of the elements, where the index does not look.
func matchesMissing(n filter.Node) bool {
	switch n := n.(type) {
	case *filter.Compare, *filter.In:
		return !impliesPresence(n)
	case *filter.Not:
		_, exists := n.Child.(*filter.Exists)
		return exists
	case *filter.Or:
		return slices.ContainsFunc(n.Children, matchesMissing)
	default:
		return false
	}
}

// seesMissing reports whether a comparison with v can be true for a missing field.
func seesMissing(v bsonx.Value) bool {
	return v.Type == bsonx.TypeNull || v.Type == bsonx.TypeMinKey || v.Type == bsonx.TypeMaxKey
}
