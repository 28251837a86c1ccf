package window

import (
	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func avgFunctions() []definition {
	return []definition{
		{
			Name: "$avg", Parse: parseAccumulator,
			Slide: func(*accumulator.Accumulation, *interrupt.Running) state { return &slidingAvg{} },
		},
	}
}

// slidingAvg is $avg in a sliding window.
type slidingAvg struct {
	slidingSum
	count int64
}

func (s *slidingAvg) add(e entry) error { s.change(e.value, 1); return nil }

func (s *slidingAvg) remove(e entry) error { s.change(e.value, -1); return nil }

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
