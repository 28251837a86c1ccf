package bounds

import (
	"math"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

// Interval is a range of values in MongoDB's order.
type Interval struct {
	Low, High         bsonx.Value
	LowIncl, HighIncl bool
}

// MayHaveText reports whether the intervals may contain strings, or values that contain strings.
func (ivs Intervals) MayHaveText() bool {
	return len(ivs) == 0 || slices.ContainsFunc(ivs, func(iv Interval) bool {
		class := iv.Low.Type.Class()
		return class != iv.High.Type.Class() || class == bsonx.ClassString || class == bsonx.ClassDocument ||
			class == bsonx.ClassArray
	})
}

// Point returns the interval that contains only v.
func Point(v bsonx.Value) Interval { return Interval{v, v, true, true} }

// Intervals are the bounds of one index field: sorted, disjoint, non-empty intervals.
type Intervals []Interval

// All contains every value: the bounds of a field that no predicate restricts.
var All = Intervals{{bsonx.MinKey, bsonx.MaxKey, true, true}}

func (iv Interval) isPoint() bool {
	return iv.LowIncl && iv.HighIncl && bsonx.CompareValues(iv.Low, iv.High) == 0
}

func (iv Interval) isEmpty() bool {
	c := bsonx.CompareValues(iv.Low, iv.High)
	return c > 0 || c == 0 && !(iv.LowIncl && iv.HighIncl)
}

// IsAll reports whether the bounds contain every value.
func (ivs Intervals) IsAll() bool {
	return len(ivs) == 1 && ivs[0].Low.Type == bsonx.TypeMinKey && ivs[0].High.Type == bsonx.TypeMaxKey &&
		ivs[0].LowIncl && ivs[0].HighIncl
}

// IsPoint reports whether the bounds contain a single value.
func (ivs Intervals) IsPoint() bool { return len(ivs) == 1 && ivs[0].isPoint() }

// IsPoints reports whether the bounds consist of single values. It returns false for empty bounds.
func (ivs Intervals) IsPoints() bool {
	for _, iv := range ivs {
		if !iv.isPoint() {
			return false
		}
	}
	return len(ivs) > 0
}

// CompareLow orders the lower ends of two intervals.
func CompareLow(a, b Interval) int {
	if c := bsonx.CompareValues(a.Low, b.Low); c != 0 || a.LowIncl == b.LowIncl {
		return c
	}
	if a.LowIncl {
		return -1
	}
	return 1
}

// compareHigh orders the upper ends of two intervals.
func compareHigh(a, b Interval) int {
	if c := bsonx.CompareValues(a.High, b.High); c != 0 || a.HighIncl == b.HighIncl {
		return c
	}
	if a.HighIncl {
		return 1
	}
	return -1
}

// Union returns the values that are in either.
func (ivs Intervals) Union(other Intervals) Intervals {
	switch {
	case len(ivs) == 0 && other.areApart():
		return other
	case len(other) == 0 && ivs.areApart():
		return ivs
	}
	out := make(Intervals, 0, len(ivs)+len(other))
	i, j := 0, 0
	for i < len(ivs) || j < len(other) {
		var next Interval
		if j == len(other) || i < len(ivs) && CompareLow(ivs[i], other[j]) <= 0 {
			next = ivs[i]
			i++
		} else {
			next = other[j]
			j++
		}
		if n := len(out); n > 0 && touches(out[n-1], next) {
			if compareHigh(next, out[n-1]) > 0 {
				out[n-1].High, out[n-1].HighIncl = next.High, next.HighIncl
			}
			continue
		}
		out = append(out, next)
	}
	return out
}

// fold joins lists; there must be at least one. It joins them pairwise: joining one after another
// would copy a growing result again and again.
func fold(lists []Intervals, join func(a, b Intervals) Intervals) Intervals {
	if len(lists) == 1 {
		return lists[0]
	}
	half := len(lists) / 2
	return join(fold(lists[:half], join), fold(lists[half:], join))
}

// areApart reports whether there are values between all neighbouring intervals.
func (ivs Intervals) areApart() bool {
	for i := 1; i < len(ivs); i++ {
		if touches(ivs[i-1], ivs[i]) {
			return false
		}
	}
	return true
}

// touches reports whether there is no value between a and b. b must not begin before a.
func touches(a, b Interval) bool {
	c := bsonx.CompareValues(b.Low, a.High)
	return c < 0 || c == 0 && (a.HighIncl || b.LowIncl)
}

// Intersect returns the values that are in both. The result may share memory with ivs or other,
// because intervals are not changed after they are made.
func (ivs Intervals) Intersect(other Intervals) Intervals {
	switch {
	case ivs.IsAll():
		return other
	case other.IsAll():
		return ivs
	}
	var out Intervals
	i, j := 0, 0
	for i < len(ivs) && j < len(other) {
		a, b := ivs[i], other[j]
		iv := a
		if CompareLow(b, a) > 0 {
			iv.Low, iv.LowIncl = b.Low, b.LowIncl
		}
		if compareHigh(b, a) < 0 {
			iv.High, iv.HighIncl = b.High, b.HighIncl
		}
		if !iv.isEmpty() {
			out = append(out, iv)
		}
		if compareHigh(a, b) < 0 {
			i++
		} else {
			j++
		}
	}
	return out
}

// complement returns the values that are in none of the intervals.
func (ivs Intervals) complement() Intervals {
	var out Intervals
	rest := All[0]
	for _, iv := range ivs {
		gap := Interval{rest.Low, iv.Low, rest.LowIncl, !iv.LowIncl}
		if !gap.isEmpty() {
			out = append(out, gap)
		}
		rest.Low, rest.LowIncl = iv.High, !iv.HighIncl
	}
	if !rest.isEmpty() {
		out = append(out, rest)
	}
	return out
}

// Text returns an interval as explain shows it. If reverse is set, it begins with the upper end. If
// collated is set, the ends are collation keys.
func (iv Interval) Text(reverse, collated bool) string {
	if collated {
		iv.Low, iv.High = collation.Display(iv.Low), collation.Display(iv.High)
	}
	if reverse {
		iv = Interval{iv.High, iv.Low, iv.HighIncl, iv.LowIncl}
	}
	return bracket(iv.LowIncl, "[", "(") + formatBound(iv.Low) +
		", " + formatBound(iv.High) + bracket(iv.HighIncl, "]", ")")
}

func bracket(inclusive bool, yes, no string) string {
	if inclusive {
		return yes
	}
	return no
}

// formatBound writes a value as MongoDB's server logs do. Infinities and NaN are written as in C.
func formatBound(v bsonx.Value) string {
	if s := v; s.Type == bsonx.TypeString && collation.IsDisplayed(s.StrBytes()) {
		return s.Str() // a collation key is not quoted
	}
	if v.Type == bsonx.TypeDouble {
		switch f := v.Double(); {
		case math.IsNaN(f):
			return "nan"
		case math.IsInf(f, 1):
			return "inf"
		case math.IsInf(f, -1):
			return "-inf"
		}
	}
	return strings.TrimSpace(bsonx.FormatShell(v))
}
