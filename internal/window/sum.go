package window

import (
	"math"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func sumFunctions() []definition {
	return []definition{
		{Name: "$sum", Parse: parseAccumulator, Slide: slideSum},
		{Name: "$count", Parse: parseAccumulator, Slide: slideSum},
	}
}

func slideSum(*accumulator.Accumulation, *interrupt.Running) state { return &slidingSum{} }

// slidingSum is a sum from which numbers can be removed. As in MongoDB, the result is a decimal or
// double while the window contains one, and otherwise an int if it fits.
type slidingSum struct {
	sum                              numeric.Sum
	doubles, decimals                int
	notNumbers, infinities, minusInf int
}

func (s *slidingSum) add(e entry) error { s.update(e.value, 1); return nil }

func (s *slidingSum) remove(e entry) error { s.update(e.value, -1); return nil }

func (s *slidingSum) update(v bsonx.Value, quantity int) {
	switch v.Type {
	case bsonx.TypeInt32, bsonx.TypeInt64:
	case bsonx.TypeDouble:
		s.doubles += quantity
	case bsonx.TypeDecimal128:
		s.decimals += quantity
	default:
		return
	}
	f, _ := v.AsFloat64()
	switch {
	case math.IsNaN(f):
		s.notNumbers += quantity
	case numeric.IsInfinite(v) && f > 0:
		s.infinities += quantity
	case numeric.IsInfinite(v):
		s.minusInf += quantity
	case quantity > 0:
		s.sum.Add(v)
	default:
		s.subtract(v)
	}
}

func (s *slidingSum) subtract(v bsonx.Value) {
	if v.Type == bsonx.TypeInt64 && v.Int64() == math.MinInt64 {
		s.sum.Add(bsonx.Int64(math.MaxInt64))
		s.sum.Add(bsonx.Int32(1))
		return
	}
	negative, err := numeric.Multiply(v, bsonx.Int32(-1))
	if err == nil {
		s.sum.Add(negative)
	}
}

func (s *slidingSum) special() (f float64, ok bool) {
	switch {
	case s.notNumbers > 0, s.infinities > 0 && s.minusInf > 0:
		return math.NaN(), true
	case s.infinities > 0:
		return math.Inf(1), true
	case s.minusInf > 0:
		return math.Inf(-1), true
	}
	return 0, false
}

func (s *slidingSum) result() (bsonx.Value, error) {
	if f, ok := s.special(); ok {
		if s.decimals > 0 {
			return numeric.ToDecimal(bsonx.Double(f))
		}
		return bsonx.Double(f), nil
	}
	v := s.sum.Result()
	if v.Type == bsonx.TypeDecimal128 && s.decimals == 0 {
		v = s.withoutDecimals(v)
	}
	if v.Type == bsonx.TypeDouble && s.doubles == 0 && s.decimals == 0 {
		if f := math.Round(v.Double()); f >= math.MinInt64 && f < math.MaxInt64 {
			v = bsonx.Int64(int64(f))
		}
	}
	if v.Type == bsonx.TypeInt64 {
		v = numeric.IntOrLong(v.Int64())
	}
	return v, nil
}

// withoutDecimals returns a sum that is a decimal, because the window once contained one, as the
// type of the numbers that the window still contains.
func (s *slidingSum) withoutDecimals(sum bsonx.Value) bsonx.Value {
	if s.doubles == 0 {
		// A double would lose digits of an int64.
		if whole, err := numeric.Round(sum, 0); err == nil {
			if i, err := numeric.ToInt64(whole); err == nil {
				return i
			}
		}
	}
	f, _ := sum.AsFloat64()
	return bsonx.Double(f)
}

func (s *slidingSum) bytes() int { return 0 }
