package set

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// sets implements set operations on arrays, whose elements are compared with a collation.
type sets struct {
	collation *collation.Collator
	running   *interrupt.Running // signals interrupts of the operation; nil never does
}

// sorted returns the distinct elements of an array, sorted.
func (s sets) sorted(array bsonx.Value) ([]bsonx.Value, error) {
	values, err := expr.Elements(array.Doc(), s.running)
	if err != nil {
		return nil, err
	}
	return s.distinct(values)
}

// distinct sorts values in place and returns them without duplicates.
func (s sets) distinct(values []bsonx.Value) ([]bsonx.Value, error) {
	var meter interrupt.Meter
	if err := s.collation.Sort(values, &meter, s.running); err != nil {
		return nil, err
	}
	return s.collation.Compact(values, &meter, s.running)
}

// searchWork is the amount of work of a binary search in a large array.
const searchWork = 8 * interrupt.Step

func contains(set []bsonx.Value, v bsonx.Value, by *collation.Comparer) bool {
	_, found := slices.BinarySearchFunc(set, v, by.Compare)
	return found
}
