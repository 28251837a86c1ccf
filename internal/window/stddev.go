package window

import (
	"math"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func stdDevFunctions() []definition {
	return []definition{
		{
			Name: "$stdDevPop", Parse: parseAccumulator,
			Slide: func(*accumulator.Accumulation, *interrupt.Running) state { return &slidingDeviation{} },
		},
		{
			Name: "$stdDevSamp", Parse: parseAccumulator,
			Slide: func(*accumulator.Accumulation, *interrupt.Running) state { return &slidingDeviation{sample: true} },
		},
	}
}

// slidingDeviation is $stdDevPop or $stdDevSamp in a sliding window. It computes in the same steps
// as MongoDB.
type slidingDeviation struct {
	sample    bool
	sum, m2   slidingSum
	count     int64
	nonFinite int64
}

func (s *slidingDeviation) add(e entry) error { s.change(e.value, 1); return nil }

func (s *slidingDeviation) remove(e entry) error { s.change(e.value, -1); return nil }

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
