package window

import (
	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

func minFunctions() []definition {
	return []definition{
		{
			Name: "$min", Parse: parseAccumulator,
			Slide: func(acc *accumulator.Accumulation, _ *interrupt.Running) state {
				return &slidingExtreme{sign: -1, collation: acc.Collation}
			},
		},
		{
			Name: "$max", Parse: parseAccumulator,
			Slide: func(acc *accumulator.Accumulation, _ *interrupt.Running) state {
				return &slidingExtreme{sign: 1, collation: acc.Collation}
			},
		},
	}
}

// slidingExtreme is $min or $max in a sliding window. It keeps the values that can still become the
// extreme: each is better than all values after it.
type slidingExtreme struct {
	sign     int
	best     []bsonx.Value
	position []int
	entered  int // the number of values that have entered the window
	left     int // the number of values that have left the window

	collation *collation.Collator
}

func (s *slidingExtreme) add(e entry) error {
	s.entered++
	if expr.Nullish(e.value) {
		return nil
	}
	for n := len(s.best); n > 0; n-- {
		// Among equal values, $min returns the first and $max the last.
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

func (s *slidingExtreme) remove(entry) error {
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
