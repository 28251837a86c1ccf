package set

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setUnionDefinition() expr.Definition {
	return expr.Definition{
		Name: "$setUnion", Family: family, Parse: expr.CollateN(union),
		Max: -1, Association: expr.Commutable, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func union(c *collation.Collator) expr.WatchingN {
	return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		return sets{c, running}.union(args)
	}
}

func (s sets) union(args []bsonx.Value) (bsonx.Value, error) {
	var all []bsonx.Value
	var err error
	for _, v := range args {
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17043, "All operands of $setUnion must be arrays. One argument is of type: %s", v.Type)
		}
		if all, err = expr.AppendElements(slices.Grow(all, v.Doc().Len()), v.Doc(), s.running); err != nil {
			return bsonx.Missing, err
		}
	}
	if err := expr.CheckBytes("$setUnion", expr.TotalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	if all, err = s.distinct(all); err != nil {
		return bsonx.Missing, err
	}
	return expr.ListOf(all, s.running)
}
