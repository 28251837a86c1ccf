package accumulator

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
)

func stdDevPopDefinition() Definition {
	return Definition{
		Name: "$stdDevPop", New: func(*collation.Collator) Accumulator { return &deviation{} },
		FixedSize: true,
		Depends:   expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Expression: overOperands(expr.AssocNone),
	}
}

func stdDevSampDefinition() Definition {
	return Definition{
		Name: "$stdDevSamp", New: func(*collation.Collator) Accumulator { return &deviation{sample: true} },
		FixedSize: true,
		Depends:   expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Expression: overOperands(expr.AssocNone),
	}
}

// deviation is $stdDevPop or $stdDevSamp, computed with Welford's method. It counts infinities and
// NaN; one of them makes the result NaN.
type deviation struct {
	sample           bool
	count, notFinite int64
	mean, m2         float64
}

func (a *deviation) Add(v bsonx.Value) error {
	f, ok := v.AsFloat64()
	if !ok {
		return nil
	}
	a.count++
	if math.IsNaN(f) || math.IsInf(f, 0) {
		a.notFinite++
		return nil
	}
	delta := f - a.mean
	a.mean += delta / float64(a.finite())
	a.m2 += delta * (f - a.mean)
	return nil
}

func (a *deviation) finite() int64 { return a.count - a.notFinite }

func (a *deviation) Result() bsonx.Value {
	n := a.count
	if a.sample {
		n--
	}
	switch {
	case n <= 0:
		return bsonx.Null
	case a.notFinite > 0:
		return bsonx.Double(math.NaN())
	}
	return bsonx.Double(math.Sqrt(a.m2 / float64(n)))
}

func (a *deviation) Bytes() int { return 56 }

func (a *deviation) State() bsonx.Value {
	return bsonx.NewArray(a.count, a.notFinite, a.mean, a.m2)
}

// Merge combines the two states with Chan's method.
func (a *deviation) Merge(state bsonx.Value) error {
	values := state.Doc().Values()
	count, _ := values[0].AsInt64()
	notFinite, _ := values[1].AsInt64()
	mean, m2 := values[2].Double(), values[3].Double()
	n, m := float64(a.finite()), float64(count-notFinite)
	a.count += count
	a.notFinite += notFinite
	if m == 0 {
		return nil
	}
	delta := mean - a.mean
	a.mean += delta * m / (n + m)
	a.m2 += m2 + delta*delta*n*m/(n+m)
	return nil
}
