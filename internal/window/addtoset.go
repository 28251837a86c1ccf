package window

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

func addToSetFunctions() []definition {
	return []definition{
		{
			Name: "$addToSet", Parse: parseAccumulator,
			Slide: func(acc *accumulator.Accumulation, running *interrupt.Running) state {
				return &slidingSet{collation: acc.Collation, running: running}
			},
		},
	}
}

// slidingSet is $addToSet in a sliding window. The result is sorted.
type slidingSet struct {
	valueQueue
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
