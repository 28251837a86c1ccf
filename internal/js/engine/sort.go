package engine

import (
	"cmp"
	"math"

	"github.com/dop251/goja"
)

const (
	// longSort is the length from which a sort without a comparator checks for interrupts.
	longSort = 10_000
	// sortInterval is the number of comparisons between two such checks.
	sortInterval = 1 << 10
)

// sortCall changes the arguments of a call of sort in two ways. As in MongoDB's engine, a
// comparator is only asked whether an element belongs after a later one, so a comparator that
// returns true or false works too. A long sort without a comparator gets one that checks for
// interrupts.
func (l *limiter) sortCall(call goja.FunctionCall, length float64) goja.FunctionCall {
	comparator := call.Argument(0)
	compare, ok := goja.AssertFunction(comparator)
	switch {
	case ok:
		call.Arguments = []goja.Value{l.rt.ToValue(func(c goja.FunctionCall) goja.Value {
			v, err := compare(goja.Undefined(), c.Argument(1), c.Argument(0))
			if err != nil {
				panic(err)
			}
			if v.ToFloat() > 0 {
				return l.rt.ToValue(-1)
			}
			return l.rt.ToValue(0) // goja treats -0 as less than 0
		})}
	case goja.IsUndefined(comparator) && length > longSort:
		compared := 0
		call.Arguments = []goja.Value{l.rt.ToValue(func(c goja.FunctionCall) goja.Value {
			if compared++; compared%sortInterval == 0 {
				l.watch.look()
			}
			return l.rt.ToValue(l.text(c.Argument(0)).CompareTo(l.text(c.Argument(1))))
		})}
	}
	return call
}

// compareNumbers orders numbers like a typed array without a comparator: -0 comes before 0, and NaN
// is last.
func (l *limiter) compareNumbers(call goja.FunctionCall) goja.Value {
	l.watch.step()
	a, b := call.Argument(0).ToFloat(), call.Argument(1).ToFloat()
	order := 0
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		order = cmp.Compare(boolToInt(math.IsNaN(a)), boolToInt(math.IsNaN(b)))
	case a == b:
		order = cmp.Compare(boolToInt(math.Signbit(b)), boolToInt(math.Signbit(a)))
	default:
		order = cmp.Compare(a, b)
	}
	return l.rt.ToValue(order)
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
