package numeric

import (
	"math"

	"github.com/cockroachdb/apd/v3"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Sum adds any number of values as $sum does. It keeps integers and doubles as an unevaluated sum
// of two doubles (about 107 bits). So the order of the numbers hardly matters, and integers stay
// exact. Decimals are added separately. A double result is the first of the two doubles, as in
// MongoDB. The zero Sum is 0 (int32).
type Sum struct {
	high, low float64
	plain     float64 // the ordinary sum, which is the result if an infinity or NaN was added
	spoiled   bool
	decimal   *apd.Decimal
	widest    bsonx.Type
}

// Add adds a number; other values are ignored, as $sum ignores them.
func (s *Sum) Add(v bsonx.Value) {
	if !v.Type.IsNumber() {
		return
	}
	if s.widest == bsonx.TypeMissing {
		s.widest = bsonx.TypeInt32
	}
	s.widest = Widest(s.widest, v.Type)
	switch v.Type {
	case bsonx.TypeInt32:
		s.addDouble(float64(v.Int32()))
	case bsonx.TypeInt64:
		s.addLong(v.Int64())
	case bsonx.TypeDouble:
		s.addDouble(v.Double())
	default:
		s.addDecimal(toDecimal(v))
	}
}

// addLong adds the two halves of an int64. A double holds each of them exactly.
func (s *Sum) addLong(i int64) {
	low := i & (1<<32 - 1)
	s.addDouble(float64(i - low))
	s.addDouble(float64(low))
}

// addDouble first adds the rounding error so far to the number, as MongoDB does.
func (s *Sum) addDouble(f float64) {
	s.plain += f
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s.spoiled = true
		return
	}
	f, lost := twoSum(f, s.low)
	s.high, f = twoSum(s.high, f)
	s.low = lost + f
}

// twoSum is Knuth's algorithm. It returns the rounded sum and the rounding error.
func twoSum(a, b float64) (sum, lost float64) {
	sum = a + b
	part := sum - a
	return sum, (a - (sum - part)) + (b - part)
}

func (s *Sum) addDecimal(d *apd.Decimal) {
	if s.decimal == nil {
		s.decimal = new(apd.Decimal)
	}
	c := decimalContext()
	if _, err := c.Add(s.decimal, s.decimal, d); err != nil {
		s.decimal.Form = apd.NaN
	}
}

// double returns the sum of the numbers that are not decimals.
func (s *Sum) double() float64 {
	if s.spoiled || math.IsInf(s.high, 0) || math.IsNaN(s.high) {
		return s.plain
	}
	return s.high
}

// long returns the sum of the numbers that are not decimals as an integer, if it fits.
func (s *Sum) long() (int64, bool) {
	const limit = 1 << 63
	if s.spoiled || math.IsNaN(s.high+s.low) || s.high+s.low < -limit || s.high+s.low > limit {
		return 0, false
	}
	high, low := twoSum(s.high, s.low)
	if high == limit {
		// The high part alone does not fit, but a negative low part may bring the sum back into
		// range.
		if low >= 0 {
			return 0, false
		}
		return math.MaxInt64 + int64(low) + 1, true
	}
	return addInt64(int64(high), int64(low))
}

// Result returns the sum. It is a decimal if a decimal was added, an int32 or int64 if only
// integers were added and the sum fits, and a double otherwise.
func (s *Sum) Result() bsonx.Value {
	switch s.widest {
	case bsonx.TypeMissing:
		return bsonx.Int32(0)
	case bsonx.TypeInt32, bsonx.TypeInt64:
		if i, ok := s.long(); ok {
			return integer(i, s.widest)
		}
	case bsonx.TypeDecimal128:
		return encode(s.total())
	default:
	}
	return bsonx.Double(s.double())
}

// total returns the whole sum as a decimal. Like MongoDB it first combines the numbers that are not
// decimals, which is visible in the 34 digits.
func (s *Sum) total() *apd.Decimal {
	var out apd.Decimal
	c := decimalContext()
	parts := []float64{s.high, s.low}
	if f := s.double(); math.IsInf(f, 0) || math.IsNaN(f) {
		parts = []float64{f}
	}
	add := func(d *apd.Decimal) {
		if _, err := c.Add(&out, &out, d); err != nil {
			out.Form = apd.NaN
		}
	}
	for _, f := range parts {
		if f != 0 {
			add(doubleToDecimal(f, digits))
		}
	}
	if s.decimal != nil {
		add(s.decimal)
	}
	return &out
}

// Average divides the sum by a count, as $avg does. The result is a decimal if a decimal was added,
// and a double otherwise.
func (s *Sum) Average(count int64) bsonx.Value {
	if s.widest == bsonx.TypeDecimal128 {
		return decimalCompute(s.total(), apd.New(count, 0), quo)
	}
	if i, ok := s.long(); ok && s.widest != bsonx.TypeDouble {
		return bsonx.Double(float64(i) / float64(count))
	}
	return bsonx.Double(s.double() / float64(count))
}

// State returns the sum as a value that Merge takes.
func (s *Sum) State() bsonx.Value {
	values := []any{int32(s.widest), s.high, s.low, s.plain, s.spoiled}
	if s.decimal != nil {
		values = append(values, encode(s.decimal))
	}
	return bsonx.NewArray(values...)
}

// Merge adds a sum that State returned.
func (s *Sum) Merge(state bsonx.Value) {
	values := state.Doc().Values()
	if widest := bsonx.Type(values[0].Int32()); s.widest == bsonx.TypeMissing {
		s.widest = widest
	} else if widest != bsonx.TypeMissing {
		s.widest = Widest(s.widest, widest)
	}
	plain := s.plain + values[3].Double()
	if values[4].Bool() {
		s.spoiled = true
	} else {
		s.addDouble(values[1].Double())
		s.addDouble(values[2].Double())
	}
	s.plain = plain
	if len(values) > 5 {
		s.addDecimal(toDecimal(values[5]))
	}
}
