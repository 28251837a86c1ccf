package bounds

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Tightness says what remains to be checked after a scan within bounds.
type Tightness int

const (
	// Exact bounds contain exactly the matching keys.
	Exact Tightness = iota
	// InexactCovered bounds contain the matching keys and others. The index key is enough to tell
	// which keys match.
	InexactCovered
	// InexactFetch bounds contain the matching keys and others. Only the document tells which keys
	// match.
	InexactFetch
)

// Field holds the bounds that a predicate gives to an index field.
type Field struct {
	Intervals Intervals
	Tight     Tightness
}

// Context holds the properties of the index field and of the query on which the bounds of a
// predicate depend.
type Context struct {
	// Multikey is true if a component of the path was an array in some document of the index.
	Multikey bool
	// Dotted is true if the path has several components.
	Dotted bool
	// Numeric is true if a component of the path may be an array position. At such a position the
	// matcher takes the element itself, while the index also descends into it.
	Numeric bool
	// Mismatch is true if the query and the index have different collations.
	Mismatch bool
	// Folded is true if the index holds collation keys in place of strings. A regular expression
	// follows no collation, so it cannot be evaluated on such keys.
	Folded bool
	// CollatedRegex is true if a regular expression may use an index with a collation. Its bounds
	// then contain all strings.
	CollatedRegex bool
	// Collation turns strings into the values that the index holds.
	Collation *collation.Collator
	// Room is memory for one interval, so that the result needs no allocation. Only one result may
	// use it.
	Room Intervals
}

// one returns bounds that consist of the interval iv, in the memory of Room.
func (c *Context) one(iv Interval) Intervals { return append(c.Room, iv) }

// undefined is the value that the index holds for an array without elements.
var undefined = bsonx.Value{Type: bsonx.TypeUndefined}

// Of returns the bounds of a predicate on the field with its path. It returns false if an index
// cannot serve the predicate.
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

// orBounds returns the union of the bounds of all branches.
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
	// The predicate has the same collation as the index, or its value is not affected by a
	// collation.
	v, err := n.Collation.Fold(n.Value, nil)
	if err != nil {
		return Field{}, false // the value is too large for bounds
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
		// An index entry with null may belong to a missing field, which this predicate does not
		// match.
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

// arrayRange returns a range that contains an entry of each array that compares with v by op. The
// first element of such an array is on the same side of v's first element, or equal to it. If the
// first element is itself an array, the index has an entry for it as a whole.
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

// firstEntry returns the value that the index holds for the first element of an array.
func firstEntry(v bsonx.Value) bsonx.Value {
	if v.Doc().IsEmpty() {
		return undefined
	}
	return v.Doc().First().Value
}

// RangeBounds returns the values in the interval within for which the comparison op with v is true.
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

// Equality returns the bounds of an equality. They are not exact for null, because an index also
// stores null for a missing field. They are not exact for an array, whose elements are indexed, or
// for MinKey and MaxKey.
func Equality(v bsonx.Value, c Context) Field {
	switch v.Type {
	case bsonx.TypeNull:
		if c.Multikey && c.Dotted {
			// An array without elements on the path is undefined in the index.
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
	var room [1]Interval // memory for the bounds of one value, overwritten by the next value
	out := Field{nil, Exact}
	points := make(Intervals, 0, len(n.Values))
	var others []Intervals
	for _, v := range n.Values {
		if c.Mismatch && collation.Concerns(v) {
			return Field{}, false
		}
		v, err := n.Collation.Fold(v, nil)
		if err != nil {
			return Field{}, false // the value is too large for bounds
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
	// The values are sorted: joining all points at once takes linear time for a long list.
	others = append(others, points)
	for _, re := range n.Regexes {
		b := regexBounds(re, c)
		others, out.Tight = append(others, b.Intervals), max(out.Tight, b.Tight)
	}
	out.Intervals = Intervals(nil).Union(fold(others, Intervals.Union))
	return out, true
}

// regexBounds returns the strings that begin with the literal prefix of the regular expression, and
// the regular expression as a value, which it also matches. If the index holds collation keys, it
// returns all strings.
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

// prefixSuccessor returns the least string that is greater than all strings with the prefix. The
// last byte of valid UTF-8 is never 0xFF. The result may be invalid UTF-8; it is only used as a
// bound.
func prefixSuccessor(prefix string) (string, bool) {
	if !utf8.ValidString(prefix) {
		return "", false
	}
	b := []byte(prefix)
	b[len(b)-1]++
	return string(b), true
}

// typeBounds returns the bounds of a $type: all values of the given types. The index holds the
// elements of an array in place of the array, so the type array gets no restriction.
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
			// The index has null for a missing field and undefined for an empty array.
			out.Tight = InexactFetch
		case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128,
			bsonx.TypeString, bsonx.TypeSymbol:
			out.Tight = max(out.Tight, InexactCovered)
		default: // all values of the other types are keys in the bounds
		}
		out.Intervals = out.Intervals.Union(bracketOf(t.Class()))
	}
	if len(n.Set.Types) > 1 || n.Set.Number && len(n.Set.Types) > 0 {
		out.Tight = max(out.Tight, InexactCovered)
	}
	return out
}

// elemMatchBounds returns the bounds of an $elemMatch: the intersection of the bounds of its
// predicates. Only the document tells whether the field is an array.
func elemMatchBounds(n *filter.ElemMatchValue, c Context) (Field, bool) {
	out, found := Field{All, InexactFetch}, false
	var all []Intervals
	if c.Numeric {
		return out, false // the index holds an array at a position of another array as one value
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

// hasArrayOperand reports whether a predicate compares with arrays. The index holds an element that
// is an array as one value, but the bounds of such a predicate assume arrays whose elements are
// indexed.
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

// notBounds returns the bounds of a negation: the complement of the bounds of the negated
// predicate. On a multikey path, a document can have keys inside and outside of the bounds, so its
// record must be read.
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

// negatesNull reports whether the negation does not match null, and so a missing field.
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

// ImpliesPresence reports whether every matching document has the field, so that a sparse index
// contains it.
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

// matchesMissing reports whether a predicate can match missing fields. If an array has the position
// named in a path, the matcher also looks for a field of that name in the elements, which the index
// does not hold.
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
