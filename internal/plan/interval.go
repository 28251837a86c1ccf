package plan

import (
	"math"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
)

// interval is a range of values in MongoDB's order.
type interval struct {
	low, high         bsonx.Value
	lowIncl, highIncl bool
}

// mayHaveText reports whether strings lie within the intervals, or values that may hold some.
func (ivs intervals) mayHaveText() bool {
	return len(ivs) == 0 || slices.ContainsFunc(ivs, func(iv interval) bool {
		class := iv.low.Type.Class()
		return class != iv.high.Type.Class() || class == bsonx.ClassString || class == bsonx.ClassDocument || class == bsonx.ClassArray
	})
}

// point is the interval of one value.
func point(v bsonx.Value) interval { return interval{v, v, true, true} }

// intervals are sorted, disjoint and not empty: what the bounds of one index field are made of.
type intervals []interval

// allValues is the bounds of a field that no predicate restricts.
var allValues = intervals{{bsonx.MinKey, bsonx.MaxKey, true, true}}

func (iv interval) isPoint() bool {
	return iv.lowIncl && iv.highIncl && bsonx.CompareValues(iv.low, iv.high) == 0
}

func (iv interval) isEmpty() bool {
	c := bsonx.CompareValues(iv.low, iv.high)
	return c > 0 || c == 0 && !(iv.lowIncl && iv.highIncl)
}

func (ivs intervals) isAll() bool {
	return len(ivs) == 1 && ivs[0].low.Type == bsonx.TypeMinKey && ivs[0].high.Type == bsonx.TypeMaxKey &&
		ivs[0].lowIncl && ivs[0].highIncl
}

// isPoint reports whether the bounds are a single value.
func (ivs intervals) isPoint() bool { return len(ivs) == 1 && ivs[0].isPoint() }

// isPoints reports whether the bounds are single values, at least one.
func (ivs intervals) isPoints() bool {
	for _, iv := range ivs {
		if !iv.isPoint() {
			return false
		}
	}
	return len(ivs) > 0
}

// compareLow orders the lower ends of two intervals.
func compareLow(a, b interval) int {
	if c := bsonx.CompareValues(a.low, b.low); c != 0 || a.lowIncl == b.lowIncl {
		return c
	}
	if a.lowIncl {
		return -1
	}
	return 1
}

// compareHigh orders the upper ends of two intervals.
func compareHigh(a, b interval) int {
	if c := bsonx.CompareValues(a.high, b.high); c != 0 || a.highIncl == b.highIncl {
		return c
	}
	if a.highIncl {
		return 1
	}
	return -1
}

// union returns the values of both.
func (ivs intervals) union(other intervals) intervals {
	switch {
	case len(ivs) == 0 && other.areApart():
		return other
	case len(other) == 0 && ivs.areApart():
		return ivs
	}
	out := make(intervals, 0, len(ivs)+len(other))
	i, j := 0, 0
	for i < len(ivs) || j < len(other) {
		var next interval
		if j == len(other) || i < len(ivs) && compareLow(ivs[i], other[j]) <= 0 {
			next = ivs[i]
			i++
		} else {
			next = other[j]
			j++
		}
		if n := len(out); n > 0 && touches(out[n-1], next) {
			if compareHigh(next, out[n-1]) > 0 {
				out[n-1].high, out[n-1].highIncl = next.high, next.highIncl
			}
			continue
		}
		out = append(out, next)
	}
	return out
}

// fold joins lists, of which there is one at least. It joins pairs first: one by one, the result of many would be copied again and
// again.
func fold(lists []intervals, join func(a, b intervals) intervals) intervals {
	if len(lists) == 1 {
		return lists[0]
	}
	half := len(lists) / 2
	return join(fold(lists[:half], join), fold(lists[half:], join))
}

// areApart reports whether there are values between all neighbours.
func (ivs intervals) areApart() bool {
	for i := 1; i < len(ivs); i++ {
		if touches(ivs[i-1], ivs[i]) {
			return false
		}
	}
	return true
}

// touches reports whether b, which does not begin before a, leaves no value between them.
func touches(a, b interval) bool {
	c := bsonx.CompareValues(b.low, a.high)
	return c < 0 || c == 0 && (a.highIncl || b.lowIncl)
}

// intersect returns the values that are in both. Intervals are not changed once they are made: the result may be ivs or
// other itself.
func (ivs intervals) intersect(other intervals) intervals {
	switch {
	case ivs.isAll():
		return other
	case other.isAll():
		return ivs
	}
	var out intervals
	i, j := 0, 0
	for i < len(ivs) && j < len(other) {
		a, b := ivs[i], other[j]
		iv := a
		if compareLow(b, a) > 0 {
			iv.low, iv.lowIncl = b.low, b.lowIncl
		}
		if compareHigh(b, a) < 0 {
			iv.high, iv.highIncl = b.high, b.highIncl
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
func (ivs intervals) complement() intervals {
	var out intervals
	rest := allValues[0]
	for _, iv := range ivs {
		gap := interval{rest.low, iv.low, rest.lowIncl, !iv.lowIncl}
		if !gap.isEmpty() {
			out = append(out, gap)
		}
		rest.low, rest.lowIncl = iv.high, !iv.highIncl
	}
	if !rest.isEmpty() {
		out = append(out, rest)
	}
	return out
}

// text writes an interval as explain shows it, from the end where reverse is set. Of a collated one
// the ends are keys.
func (iv interval) text(reverse, collated bool) string {
	if collated {
		iv.low, iv.high = collation.Display(iv.low), collation.Display(iv.high)
	}
	if reverse {
		iv = interval{iv.high, iv.low, iv.highIncl, iv.lowIncl}
	}
	return bracket(iv.lowIncl, "[", "(") + formatBound(iv.low) + ", " + formatBound(iv.high) + bracket(iv.highIncl, "]", ")")
}

func bracket(inclusive bool, yes, no string) string {
	if inclusive {
		return yes
	}
	return no
}

// formatBound writes a value as MongoDB's server logs do; its infinities are those of C.
func formatBound(v bsonx.Value) string {
	if s := v; s.Type == bsonx.TypeString && collation.IsDisplayed(s.StrBytes()) {
		return s.Str() // a key is not quoted
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
