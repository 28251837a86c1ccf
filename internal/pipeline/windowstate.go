package pipeline

import (
	"math"
	"slices"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// accumulated is an accumulator over a window that begins with the partition: nothing leaves it.
type accumulated struct{ acc accumulator.Accumulator }

func (a *accumulated) add(e windowEntry) error      { return a.acc.Add(e.value) }
func (a *accumulated) remove(windowEntry) error     { return nil }
func (a *accumulated) result() (bsonx.Value, error) { return finished(a.acc) }
func (a *accumulated) bytes() int                   { return a.acc.Bytes() }

// finished returns the result of an accumulator.
func finished(acc accumulator.Accumulator) (bsonx.Value, error) {
	if err := accumulator.Finish(acc, true); err != nil {
		return bsonx.Missing, err
	}
	return acc.Result(), nil
}

// removableState returns the state of an accumulator in a window whose documents leave. Results look at the operation.
func removableState(acc *accumulator.Accumulation, running *interrupt.Running) windowState {
	switch acc.Name {
	case "$sum", "$count":
		return &slidingSum{}
	case "$avg":
		return &slidingAvg{}
	case "$stdDevPop", "$stdDevSamp":
		return &slidingDeviation{sample: acc.Name == "$stdDevSamp"}
	case "$min":
		return &slidingExtreme{sign: -1, collation: acc.Collation}
	case "$max":
		return &slidingExtreme{sign: 1, collation: acc.Collation}
	case "$addToSet":
		return &slidingSet{collation: acc.Collation, running: running}
	}
	return &recomputed{make: acc, running: running}
}

// windowValues are the values in a window.
type windowValues struct{ values []bsonx.Value }

func (w *windowValues) add(e windowEntry) error { w.values = append(w.values, e.value); return nil }

func (w *windowValues) remove(windowEntry) error {
	w.values[0] = bsonx.Missing
	w.values = w.values[1:]
	return nil
}

// bytes counts the list only: the values themselves are the window's.
func (w *windowValues) bytes() int { return 32 * len(w.values) }

// recomputed accumulates the whole window again for each document.
type recomputed struct {
	windowValues
	make    *accumulator.Accumulation
	ctx     expr.Context
	running *interrupt.Running
	meter   interrupt.Meter
}

func (r *recomputed) result() (bsonx.Value, error) {
	acc, err := r.make.New(&r.ctx, bsonx.Missing)
	if err != nil {
		return bsonx.Missing, err
	}
	for _, v := range r.values {
		if err := acc.Add(v); err != nil {
			return bsonx.Missing, err
		}
		if err := r.meter.Did(accumulateWork+len(v.Data), r.running); err != nil {
			return bsonx.Missing, err
		}
	}
	return finished(acc)
}

// endState is $first and $last in a window that begins with the partition.
type endState struct {
	last, seen bool
	value      bsonx.Value
}

func (s *endState) add(e windowEntry) error {
	if s.last || !s.seen {
		s.seen = true
		s.value = bsonx.Value{Type: e.value.Type, Data: append(s.value.Data[:0], e.value.Data...)}
	}
	return nil
}

func (s *endState) remove(windowEntry) error { return nil }

func (s *endState) result() (bsonx.Value, error) {
	if !s.seen {
		return bsonx.Null, nil
	}
	return s.value.Clone(), nil
}

func (s *endState) bytes() int { return 32 + cap(s.value.Data) }

// slidingEnd is $first and $last in other windows.
type slidingEnd struct {
	windowValues
	last bool
}

func (s *slidingEnd) result() (bsonx.Value, error) {
	switch {
	case len(s.values) == 0:
		return bsonx.Null, nil
	case s.last:
		return s.values[len(s.values)-1], nil
	}
	return s.values[0], nil
}

// slidingSet is $addToSet, whose values come in their order here.
type slidingSet struct {
	windowValues
	collation *collation.Collator
	running   *interrupt.Running
	meter     interrupt.Meter
}

func (s *slidingSet) result() (bsonx.Value, error) {
	set := slices.DeleteFunc(slices.Clone(s.values), bsonx.Value.IsMissing)
	if err := s.collation.Sort(set, &s.meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	set, err := s.collation.Compact(set, &s.meter, s.running)
	if err != nil {
		return bsonx.Missing, err
	}
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for _, v := range set {
		b.Elem(v)
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// slidingExtreme is $min and $max: the values that can still become the extreme one, each better than those after it.
type slidingExtreme struct {
	sign     int
	best     []bsonx.Value
	position []int
	entered  int // how many values have come
	left     int // how many have gone

	collation *collation.Collator
}

func (s *slidingExtreme) add(e windowEntry) error {
	s.entered++
	if expr.Nullish(e.value) {
		return nil
	}
	for n := len(s.best); n > 0; n-- {
		// Of equal values the first is the least, and the last is the greatest.
		c := s.collation.CompareValues(e.value, s.best[n-1]) * s.sign
		if err := s.collation.Ended(e.value, s.best[n-1]); err != nil {
			return err
		}
		if c < 0 || c == 0 && s.sign < 0 {
			break
		}
		s.best, s.position = s.best[:n-1], s.position[:n-1]
	}
	s.best, s.position = append(s.best, e.value), append(s.position, s.entered-1)
	return nil
}

func (s *slidingExtreme) remove(windowEntry) error {
	if len(s.position) > 0 && s.position[0] == s.left {
		s.best[0] = bsonx.Missing
		s.best, s.position = s.best[1:], s.position[1:]
	}
	s.left++
	return nil
}

func (s *slidingExtreme) result() (bsonx.Value, error) {
	if len(s.best) == 0 {
		return bsonx.Null, nil
	}
	return s.best[0], nil
}

func (s *slidingExtreme) bytes() int { return 40 * len(s.best) }

// slidingSum is a sum from which numbers are taken out again. As in MongoDB it is a decimal or a double while one of
// them is in it, and else an int where it fits.
type slidingSum struct {
	sum                              numeric.Sum
	doubles, decimals                int
	notNumbers, infinities, minusInf int
}

func (s *slidingSum) add(e windowEntry) error    { s.update(e.value, 1); return nil }
func (s *slidingSum) remove(e windowEntry) error { s.update(e.value, -1); return nil }

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
		f, _ := v.AsFloat64()
		v = bsonx.Double(f)
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

func (s *slidingSum) bytes() int { return 0 }

// slidingAvg is $avg.
type slidingAvg struct {
	slidingSum
	count int64
}

func (s *slidingAvg) add(e windowEntry) error    { s.change(e.value, 1); return nil }
func (s *slidingAvg) remove(e windowEntry) error { s.change(e.value, -1); return nil }

func (s *slidingAvg) change(v bsonx.Value, quantity int) {
	if v.Type.IsNumber() {
		s.update(v, quantity)
		s.count += int64(quantity)
	}
}

func (s *slidingAvg) result() (bsonx.Value, error) {
	if s.count == 0 {
		return bsonx.Null, nil
	}
	sum, err := s.slidingSum.result()
	if _, special := s.special(); special || err != nil {
		return sum, err
	}
	return numeric.Divide(sum, bsonx.Int64(s.count))
}

// slidingDeviation is $stdDevPop and $stdDevSamp, by the same steps as MongoDB's.
type slidingDeviation struct {
	sample    bool
	sum, m2   slidingSum
	count     int64
	nonFinite int64
}

func (s *slidingDeviation) add(e windowEntry) error    { s.change(e.value, 1); return nil }
func (s *slidingDeviation) remove(e windowEntry) error { s.change(e.value, -1); return nil }

func (s *slidingDeviation) change(v bsonx.Value, quantity int64) {
	f, ok := v.AsFloat64()
	switch {
	case !ok:
		return
	case !numeric.IsFinite(v):
		s.nonFinite += quantity
		return
	case s.count == 0:
		s.count++
		s.sum.update(v, 1)
		return
	case s.count+quantity == 0:
		*s = slidingDeviation{sample: s.sample, nonFinite: s.nonFinite}
		return
	}
	total, _ := s.sum.result()
	totalFloat, _ := total.AsFloat64()
	x := float64(s.count)*f - totalFloat
	s.count += quantity
	s.sum.update(bsonx.Double(f*float64(quantity)), 1)
	s.m2.update(bsonx.Double(x*x*float64(quantity)/float64(s.count*(s.count-quantity))), 1)
}

func (s *slidingDeviation) result() (bsonx.Value, error) {
	n := s.count
	if s.sample {
		n--
	}
	switch {
	case n <= 0:
		return bsonx.Null, nil
	case s.nonFinite > 0:
		return bsonx.Null, nil
	}
	total, _ := s.m2.result()
	squares, _ := total.AsFloat64()
	if squares < 0 || !s.sample && s.count == 1 {
		s.m2 = slidingSum{}
		return bsonx.Int32(0), nil
	}
	return bsonx.Double(math.Sqrt(squares / float64(n))), nil
}

func (s *slidingDeviation) bytes() int { return 0 }
