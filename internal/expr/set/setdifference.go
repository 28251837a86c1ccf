package set

import (
	"cmp"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setDifferenceDefinition() expr.Definition {
	return expr.Definition{
		Name: "$setDifference", Family: family, Parse: expr.Collate2(difference),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func difference(c *collation.Collator) expr.Watching2 {
	return func(a, b bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		return sets{c, running}.difference(a, b)
	}
}

// difference returns the distinct elements of a that are not in b, in the order of a.
func (s sets) difference(a, b bsonx.Value) (bsonx.Value, error) {
	if expr.Nullish(a) || expr.Nullish(b) {
		return bsonx.Null, nil
	}
	if a.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17048, "both operands of $setDifference must be arrays. First argument is of type: %s", a.Type)
	}
	if b.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17049, "both operands of $setDifference must be arrays. Second argument is of type: %s", b.Type)
	}
	others, err := s.sorted(b)
	if err != nil {
		return bsonx.Missing, err
	}
	values, err := expr.Elements(a.Doc(), s.running)
	if err != nil {
		return bsonx.Missing, err
	}
	var meter interrupt.Meter
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	by := s.collation.Comparer(s.running)
	byValue := func(i, j int) int { return by.Compare(values[i], values[j]) }
	if err := interrupt.Sort(order, interrupt.Step, byValue, &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	// Among equal values, the first in the array stays at its position.
	same := func(i, j int) bool { return byValue(i, j) == 0 }
	if order, err = interrupt.Compact(order, interrupt.Step, same, &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	if err := interrupt.SortUnstable(order, interrupt.Step/4, cmp.Compare[int], &meter, s.running); err != nil {
		return bsonx.Missing, err
	}
	out := []bsonx.Value{}
	for _, i := range order {
		if err := meter.Did(searchWork, s.running); err != nil {
			return bsonx.Missing, err
		}
		if !contains(others, values[i], by) {
			out = append(out, values[i])
		}
	}
	if err := by.Ended(); err != nil {
		return bsonx.Missing, err
	}
	return expr.ListOf(out, s.running)
}
