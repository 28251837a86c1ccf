package set

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setIntersectionDefinition() expr.Definition {
	return expr.Definition{
		Name: "$setIntersection", Family: family, Parse: expr.CollateN(intersection),
		Max: -1, Association: expr.Commutable, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func intersection(c *collation.Collator) expr.WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		return sets{c, running}.intersection(args)
	}
}

func (s sets) intersection(args []bsonx.Value) (bsonx.Value, error) {
	var common []bsonx.Value
	for i, v := range args {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17047, "All operands of $setIntersection must be arrays. One argument is of type: %s", v.Type)
		}
		set, err := s.sorted(v)
		if err != nil {
			return bsonx.Missing, err
		}
		if i == 0 {
			common = set
			continue
		}
		// Of two equal values, the result contains the one from the smaller set, as in MongoDB.
		if len(common) > len(set) {
			common, set = set, common
		}
		if common, err = s.both(common, set); err != nil {
			return bsonx.Missing, err
		}
	}
	return expr.ListOf(common, s.running)
}

// both returns the elements of a that are also in b. It modifies a.
func (s sets) both(a, b []bsonx.Value) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	out, by := a[:0], s.collation.Comparer(s.running)
	for _, v := range a {
		if err := meter.Did(searchWork, s.running); err != nil {
			return nil, err
		}
		if contains(b, v, by) {
			out = append(out, v)
		}
	}
	return out, by.Ended()
}
