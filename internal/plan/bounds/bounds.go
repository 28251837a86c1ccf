package bounds

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Tightness says what bounds leave to check.
type Tightness int

const (
	// Exact bounds hold the matching keys and no others.
	Exact Tightness = iota
	// InexactCovered bounds hold the matching keys and others; the key tells them apart.
	InexactCovered
	// InexactFetch bounds hold the matching keys and others; only the document tells them apart.
	InexactFetch
)

// Field are the bounds that a predicate gives to an index field.
type Field struct {
	Intervals Intervals
	Tight     Tightness
}

// Context is what the bounds of a predicate depend on beside the predicate.
type Context struct {
	// Multikey is true where a component of the path was an array in some document of the index.
	Multikey bool
	// Dotted is true where the path has several components.
	Dotted bool
	// Numeric is true where a component of the path may be an array position: the matcher stops at
	// the element there, the index goes on into it.
	Numeric bool
	// Mismatch is true where the query and the index do not have the same collation.
	Mismatch bool
	// Folded is true where the index does not hold strings as they are: a regular expression, which
	// goes by no collation, does not find them there.
	Folded bool
	// CollatedRegex is true where a regular expression reads all strings of such an index.
	CollatedRegex bool
	// Collation turns strings into what the index holds.
	Collation *collation.Collator
	// Room is memory for one interval, to be used once.
	Room Intervals
}

// one returns an interval as bounds.
func (c *Context) one(iv Interval) Intervals { return append(c.Room, iv) }

// undefined is what the index holds for an array without elements.
var undefined = bsonx.Value{Type: bsonx.TypeUndefined}

// Of returns the bounds of a predicate on the field of its path; false where an index cannot serve
// it.
func Of(n filter.Node, c Context) (Field, bool) {
	if c.Numeric && matchesMissing(n) {
		return Field{}, false
	}
	switch n := n.(type) {
	case *filter.Compare:
		return compareBounds(n, c)
	case *filter.In:
		return inBounds(n, c)
	case *filter.Regex:
		if c.Folded && !c.CollatedRegex {
			return Field{}, false
		}
		return regexBounds(n, c), true
	case *filter.Exists:
		return Field{All, InexactFetch}, true
	case *filter.TypeOf:
		return typeBounds(n), true
	case *filter.Mod:
		return Field{bracketOf(bsonx.ClassNumber), InexactCovered}, true
	case *filter.ElemMatchValue:
		return elemMatchBounds(n, c)
	case *filter.Not:
		return notBounds(n, c)
	case *filter.Or:
		return orBounds(n, c)
	case *filter.And, *filter.ElemMatchObject, *filter.Size, *filter.Bits, *filter.Nor,
		*filter.Geo, *filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue,
		*filter.GeoNear, *filter.Text, *filter.SampleRate, *filter.JSONSchema:
	}
	return Field{}, false
}

// orBounds are the union of the bounds of all branches.
func orBounds(n *filter.Or, c Context) (Field, bool) {
	out := Field{nil, Exact}
	all := make([]Intervals, 0, len(n.Children))
	for _, child := range n.Children {
		c.Room = nil
		b, ok := Of(child, c)
		if !ok {
			return Field{}, false
		}
		all, out.Tight = append(all, b.Intervals), max(out.Tight, b.Tight)
	}
	out.Intervals = Intervals(nil).Union(fold(all, Intervals.Union))
	return out, true
}

func compareBounds(n *filter.Compare, c Context) (Field, bool) {
	if c.Mismatch && collation.Concerns(n.Value) {
		return Field{}, false
	}
	// The predicate's collator is the index's, or the value is not concerned.
	v, err := n.Collation.Fold(n.Value, nil)
	if err != nil {
		return Field{}, false // too large a value for bounds
	}
	if n.Op == filter.Eq {
		return Equality(v, c), true
	}
	class := v.Type.Class()
	switch class {
	case bsonx.ClassNull:
		if n.Op == filter.Lt || n.Op == filter.Gt {
			return Field{nil, Exact}, true
		}
		return Equality(v, c), true
	case bsonx.ClassArray:
		return Field{c.one(arrayRange(n.Op, v)), InexactFetch}, true
	case bsonx.ClassMinKey, bsonx.ClassMaxKey:
		// A missing field is null to the index and matches nothing here.
		return Field{c.RangeBounds(n.Op, v, All[0]), InexactFetch}, true
	}
	if class == bsonx.ClassNumber && bsonx.CompareValues(v, nanPoint.Low) == 0 {
		if n.Op == filter.Lt || n.Op == filter.Gt {
			return Field{nil, Exact}, true
		}
		return Equality(v, c), true
	}
	return Field{c.RangeBounds(n.Op, v, classBrackets[class]), Exact}, true
}

// arrayRange is the range of the entries of arrays on one side of v. The first element of such an
// array is on that side of the first element of v, or equal to it. An array within an array has an
// entry as a whole.
func arrayRange(op filter.CompareOp, v bsonx.Value) Interval {
	ends := [2]bsonx.Value{firstEntry(v), v}
	if bsonx.CompareValues(ends[0], ends[1]) > 0 {
		ends[0], ends[1] = ends[1], ends[0]
	}
	out := All[0]
	if op == filter.Lt || op == filter.Lte {
		out.High = ends[1]
	} else {
		out.Low = ends[0]
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

// RangeBounds cuts within at v.
func (c *Context) RangeBounds(op filter.CompareOp, v bsonx.Value, within Interval) Intervals {
	switch op {
	case filter.Lt, filter.Lte:
		within.High, within.HighIncl = v, op == filter.Lte
	case filter.Gt, filter.Gte:
		within.Low, within.LowIncl = v, op == filter.Gte
	case filter.Eq:
		return c.one(Point(v))
	}
	if within.isEmpty() {
		return nil
	}
	return c.one(within)
}

// Equality are exact for all values but null, which missing fields have too, and arrays, which the
// index holds by their elements.
func Equality(v bsonx.Value, c Context) Field {
	switch v.Type {
	case bsonx.TypeNull:
		if c.Multikey && c.Dotted {
			// An array without elements on the way is undefined to the index.
			return Field{Intervals{{undefined, v, true, true}}, InexactFetch}
		}
		return Field{Intervals{Point(v)}, InexactFetch}
	case bsonx.TypeMinKey, bsonx.TypeMaxKey:
		return Field{Intervals{Point(v)}, InexactFetch}
	case bsonx.TypeArray:
		return Field{Intervals{Point(firstEntry(v))}.Union(Intervals{Point(v)}), InexactFetch}
	default:
		return Field{c.one(Point(v)), Exact}
	}
}

func inBounds(n *filter.In, c Context) (Field, bool) {
	var room [1]Interval // of each value in turn
	out := Field{nil, Exact}
	points := make(Intervals, 0, len(n.Values))
	var others []Intervals
	for _, v := range n.Values {
		if c.Mismatch && collation.Concerns(v) {
			return Field{}, false
		}
		v, err := n.Collation.Fold(v, nil)
		if err != nil {
			return Field{}, false // too large a value for bounds
		}
		c.Room = room[:0]
		b := Equality(v, c)
		out.Tight = max(out.Tight, b.Tight)
		if len(b.Intervals) == 1 {
			points = append(points, b.Intervals[0])
		} else {
			others = append(others, b.Intervals)
		}
	}
	// The values are sorted: joining the points at once keeps a long list linear.
	others = append(others, points)
	for _, re := range n.Regexes {
		b := regexBounds(re, c)
		others, out.Tight = append(others, b.Intervals), max(out.Tight, b.Tight)
	}
	out.Intervals = Intervals(nil).Union(fold(others, Intervals.Union))
	return out, true
}

// regexBounds returns the strings that begin with the literal prefix, and the regular expression
// itself, which it also matches. If the index does not hold strings as they are, it returns all
// strings.
func regexBounds(n *filter.Regex, c Context) Field {
	self := Intervals{Point(bsonx.Regex(n.Pattern, n.Options))}
	if c.Folded {
		return Field{bracketOf(bsonx.ClassString).Union(self), InexactFetch}
	}
	prefix, isExact := n.Prefix()
	if prefix == "" {
		return Field{bracketOf(bsonx.ClassString).Union(self), InexactCovered}
	}
	iv := Interval{Low: bsonx.String(prefix), LowIncl: true}
	if after, ok := prefixSuccessor(prefix); ok {
		iv.High = bsonx.String(after)
	} else {
		iv.High = bsonx.Document(bsonx.Empty)
	}
	b := Field{Intervals{iv}.Union(self), InexactCovered}
	if isExact {
		b.Tight = Exact
	}
	return b
}

// prefixSuccessor returns the least string above all strings with the prefix. The last byte of
// valid UTF-8 is never 0xFF, but its increment may be no valid UTF-8: it is a bound only.
func prefixSuccessor(prefix string) (string, bool) {
	if !utf8.ValidString(prefix) {
		return "", false
	}
	b := []byte(prefix)
	b[len(b)-1]++
	return string(b), true
}

// typeBounds are the classes of the types. Arrays are indexed by their elements: their type is not
// to be seen there.
func typeBounds(n *filter.TypeOf) Field {
	out := Field{nil, Exact}
	if n.Set.Number {
		out.Intervals = out.Intervals.Union(bracketOf(bsonx.ClassNumber))
	}
	for _, t := range n.Set.Types {
		switch t {
		case bsonx.TypeArray:
			return Field{All, InexactFetch}
		case bsonx.TypeNull, bsonx.TypeMinKey, bsonx.TypeMaxKey, bsonx.TypeUndefined:
			// A missing field is null to the index, an empty array is undefined.
			out.Tight = InexactFetch
		case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128,
			bsonx.TypeString, bsonx.TypeSymbol:
			out.Tight = max(out.Tight, InexactCovered)
		default: // the others need nothing here
		}
		out.Intervals = out.Intervals.Union(bracketOf(t.Class()))
	}
	if len(n.Set.Types) > 1 || n.Set.Number && len(n.Set.Types) > 0 {
		out.Tight = max(out.Tight, InexactCovered)
	}
	return out
}

// elemMatchBounds are those of all predicates that one element has to satisfy. That there is an
// array only the document tells.
func elemMatchBounds(n *filter.ElemMatchValue, c Context) (Field, bool) {
	out, found := Field{All, InexactFetch}, false
	var all []Intervals
	if c.Numeric {
		return out, false // an array at a position in another one is a value as a whole to the index
	}
	for _, child := range n.Children {
		if not, ok := child.(*filter.Not); ok && negatesNull(not) {
			continue
		}
		c.Room = nil
		b, ok := Of(child, c)
		if !ok || hasArrayOperand(child) {
			continue
		}
		found = true
		all = append(all, b.Intervals)
	}
	if found {
		out.Intervals = fold(all, Intervals.Intersect)
	}
	return out, found
}

// hasArrayOperand reports whether a predicate is about values that are arrays: an element that is
// an array stands in the index as a whole, but the bounds of such a predicate are made for arrays
// that are indexed by their elements.
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
	case *filter.And, *filter.Or, *filter.Regex, *filter.Mod, *filter.Exists, *filter.Bits,
		*filter.Nor, *filter.TypeOf, *filter.Geo, *filter.Where, *filter.Expr, *filter.AlwaysFalse,
		*filter.AlwaysTrue, *filter.GeoNear, *filter.Text, *filter.SampleRate, *filter.JSONSchema:
	}
	return false
}

// notBounds are the complement of bounds within which every key is a match. Where the path is
// multikey a document can have keys on both sides, so that it must be looked at.
func notBounds(n *filter.Not, c Context) (Field, bool) {
	if hasArrayOperand(n.Child) {
		return Field{}, false
	}
	switch child := n.Child.(type) {
	case *filter.Exists:
		return Field{Intervals{Point(bsonx.Null)}, InexactFetch}, !c.Multikey || !c.Dotted
	case *filter.Compare:
		if child.Value.Type == bsonx.TypeMinKey || child.Value.Type == bsonx.TypeMaxKey {
			return Field{}, false
		}
	case *filter.In:
		if len(child.Regexes) > 0 {
			return Field{}, false
		}
	case *filter.And, *filter.Or, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Size,
		*filter.Regex, *filter.Mod, *filter.Bits, *filter.Not, *filter.Nor, *filter.TypeOf,
		*filter.Geo, *filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue,
		*filter.GeoNear, *filter.Text, *filter.SampleRate, *filter.JSONSchema:
		return Field{}, false
	}
	if c.Multikey && (c.Numeric || negatesNull(n)) {
		return Field{}, false
	}
	b, ok := Of(n.Child, c)
	if !ok {
		return Field{}, false
	}
	tight := Exact
	if c.Multikey {
		tight = InexactFetch
	}
	return Field{b.Intervals.complement(), tight}, true
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
	case *filter.And, *filter.Or, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Size,
		*filter.Regex, *filter.Mod, *filter.Exists, *filter.Bits, *filter.Not, *filter.Nor,
		*filter.TypeOf, *filter.Geo, *filter.Where, *filter.Expr, *filter.AlwaysFalse,
		*filter.AlwaysTrue, *filter.GeoNear, *filter.Text, *filter.SampleRate, *filter.JSONSchema:
	}
	return false
}

// ImpliesPresence reports whether every document that matches has the field, so that a sparse index
// holds it.
func ImpliesPresence(n filter.Node) bool {
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
		return !slices.ContainsFunc(n.Children, func(child filter.Node) bool { return !ImpliesPresence(child) })
	case *filter.And, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Size,
		*filter.Regex, *filter.Mod, *filter.Exists, *filter.Bits, *filter.Nor, *filter.TypeOf,
		*filter.Geo, *filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue,
		*filter.GeoNear, *filter.Text, *filter.SampleRate, *filter.JSONSchema:
	}
	return true
}

// matchesMissing reports whether a predicate asks for missing fields: of an array that has the
// position of a path the matcher also looks for the position as a field of the elements, where the
// index does not look.
func matchesMissing(n filter.Node) bool {
	switch n := n.(type) {
	case *filter.Compare, *filter.In:
		return !ImpliesPresence(n)
	case *filter.Not:
		_, exists := n.Child.(*filter.Exists)
		return exists
	case *filter.Or:
		return slices.ContainsFunc(n.Children, matchesMissing)
	case *filter.And, *filter.ElemMatchObject, *filter.ElemMatchValue, *filter.Size,
		*filter.Regex, *filter.Mod, *filter.Exists, *filter.Bits, *filter.Nor, *filter.TypeOf,
		*filter.Geo, *filter.Where, *filter.Expr, *filter.AlwaysFalse, *filter.AlwaysTrue,
		*filter.GeoNear, *filter.Text, *filter.SampleRate, *filter.JSONSchema:
	}
	return false
}

// seesMissing reports whether a comparison with v can be true for a missing field.
func seesMissing(v bsonx.Value) bool {
	return v.Type == bsonx.TypeNull || v.Type == bsonx.TypeMinKey || v.Type == bsonx.TypeMaxKey
}

// HasNumber reports whether a component of a path may be an array position.
func HasNumber(path string) bool {
	if !strings.ContainsAny(path, "0123456789") {
		return false
	}
	for part := range strings.SplitSeq(path, ".") {
		if _, ok := bsonx.ArrayIndex(part); ok {
			return true
		}
	}
	return false
}
