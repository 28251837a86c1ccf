package granularity

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// Rounder rounds the boundaries of $bucketAuto to the numbers of a granularity. Zero and infinity
// stay as they are.
type Rounder interface {
	// Up returns the smallest number of the series that is greater than v.
	Up(v bsonx.Value) (bsonx.Value, error)
	// Down returns the largest number of the series that is less than v.
	Down(v bsonx.Value) (bsonx.Value, error)
}

// New returns the Rounder of a granularity, such as "R5" or "POWERSOF2". It fails if the name is
// unknown.
func New(name string) (Rounder, error) {
	if name == "POWERSOF2" {
		return powersOfTwo{}, nil
	}
	series := preferredNumbers()[name]
	if series == nil {
		return nil, mongoerr.New(40257, "Unknown rounding granularity '%s'", name)
	}
	return preferred(series), nil
}

// CheckRoundable returns an error unless v is a number that can be rounded: not negative and not
// NaN.
func CheckRoundable(v bsonx.Value) error {
	if !v.Type.IsNumber() {
		return mongoerr.New(40258, "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a value with type: %s", v.Type)
	}
	f, _ := v.AsFloat64()
	if math.IsNaN(f) {
		return mongoerr.New(40259, "$bucketAuto can specify a 'granularity' with numeric boundaries only, but found a NaN")
	}
	if f < 0 {
		return mongoerr.New(40260, "$bucketAuto can specify a 'granularity' with non-negative numbers only, but found a negative number")
	}
	return nil
}

// staysAsIs reports whether v is not rounded: zero, or infinity.
func staysAsIs(v bsonx.Value) bool {
	f, _ := v.AsFloat64()
	return numeric.IsZero(v) || math.IsInf(f, 0)
}

// powersOfTwo rounds to integer powers of two.
type powersOfTwo struct{}

// Up implements Rounder.
func (powersOfTwo) Up(v bsonx.Value) (bsonx.Value, error) {
	if staysAsIs(v) {
		return v, nil
	}
	return power(v, math.Floor(log2(v))+1)
}

// Down implements Rounder.
func (powersOfTwo) Down(v bsonx.Value) (bsonx.Value, error) {
	if staysAsIs(v) {
		return v, nil
	}
	return power(v, math.Ceil(log2(v))-1)
}

func log2(v bsonx.Value) float64 {
	f, _ := v.AsFloat64()
	return math.Log2(f)
}

// power returns 2 to the power of exponent. The result is a decimal if v is a decimal.
func power(v bsonx.Value, exponent float64) (bsonx.Value, error) {
	exp := bsonx.Int32(int32(exponent))
	if v.Type != bsonx.TypeDecimal128 {
		return numeric.Pow(bsonx.Int32(2), exp)
	}
	two, err := numeric.ToDecimal(bsonx.Int32(2))
	if err != nil {
		return bsonx.Missing, err
	}
	return numeric.Pow(two, exp)
}

// preferred rounds to the numbers of a series multiplied by powers of ten. It does the arithmetic
// in the same steps as MongoDB, so that the last digits of doubles agree.
type preferred []float64

// scaled is a series multiplied by a power of ten, in doubles or decimals.
type scaled struct {
	series     []bsonx.Value
	ten        bsonx.Value
	multiplier bsonx.Value
}

func (p preferred) scale(v bsonx.Value) (*scaled, error) {
	s := &scaled{ten: bsonx.Double(10), multiplier: bsonx.Double(1)}
	for _, f := range p {
		s.series = append(s.series, bsonx.Double(f))
	}
	if v.Type != bsonx.TypeDecimal128 {
		return s, nil
	}
	for _, n := range append([]*bsonx.Value{&s.ten, &s.multiplier}, pointers(s.series)...) {
		i, _ := n.AsInt64()
		d, err := numeric.ToDecimal(bsonx.Int64(i))
		if err != nil {
			return nil, err
		}
		*n = d
	}
	return s, nil
}

func pointers(list []bsonx.Value) []*bsonx.Value {
	out := make([]*bsonx.Value, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func (s *scaled) at(i int) (bsonx.Value, error) { return numeric.Multiply(s.series[i], s.multiplier) }

// compare compares v with number i of the scaled series.
func (s *scaled) compare(v bsonx.Value, i int) (int, error) {
	n, err := s.at(i)
	return bsonx.CompareValues(v, n), err
}

func (s *scaled) grow() (err error) {
	s.multiplier, err = numeric.Multiply(s.multiplier, s.ten)
	return err
}

func (s *scaled) shrink() (err error) {
	s.multiplier, err = numeric.Divide(s.multiplier, s.ten)
	return err
}

func (p preferred) Up(v bsonx.Value) (bsonx.Value, error) {
	s, err := p.scale(v)
	if err != nil || staysAsIs(v) {
		return v, err
	}
	last := len(p) - 1
	var c int
	for c, err = s.compare(v, last); err == nil && c >= 0; c, err = s.compare(v, last) {
		if err = s.grow(); err != nil {
			return v, err
		}
	}
	for c, err = s.compare(v, 0); err == nil && c < 0; c, err = s.compare(v, 0) {
		above, err := s.at(0)
		if err != nil {
			return v, err
		}
		if err := s.shrink(); err != nil {
			return v, err
		}
		// v lies between the largest number of this decade and the smallest of the next.
		if c, err := s.compare(v, last); err != nil || c >= 0 {
			return above, err
		}
	}
	for i := range p {
		if c, err := s.compare(v, i); err != nil || c < 0 {
			n, _ := s.at(i)
			return n, err
		}
	}
	return v, err
}

func (p preferred) Down(v bsonx.Value) (bsonx.Value, error) {
	s, err := p.scale(v)
	if err != nil || staysAsIs(v) {
		return v, err
	}
	last := len(p) - 1
	var c int
	for c, err = s.compare(v, 0); err == nil && c <= 0; c, err = s.compare(v, 0) {
		if err = s.shrink(); err != nil {
			return v, err
		}
	}
	for c, err = s.compare(v, last); err == nil && c > 0; c, err = s.compare(v, last) {
		below, err := s.at(last)
		if err != nil {
			return v, err
		}
		if err := s.grow(); err != nil {
			return v, err
		}
		if c, err := s.compare(v, 0); err != nil || c <= 0 {
			return below, err
		}
	}
	for i := last; i >= 0; i-- {
		if c, err := s.compare(v, i); err != nil || c > 0 {
			n, _ := s.at(i)
			return n, err
		}
	}
	return v, err
}
