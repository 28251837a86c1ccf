package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func inDefinition() expr.Definition {
	return expr.Definition{
		Name: "$in", Family: family, Parse: expr.Collate2(in),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func in(c *collation.Collator) expr.Watching2 {
	return func(v, array bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		if array.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(40081,
				"$in requires an array as a second argument, found: %s", array.Type)
		}
		var meter interrupt.Meter
		for it := array.Doc().Iter(); it.Next(); {
			if err := meter.Did(interrupt.Step+min(len(v.Data), len(it.Value().Data)), running); err != nil {
				return bsonx.Missing, err
			}
			equal := expr.Compare(c, v, it.Value()) == 0
			if err := c.Ended(v, it.Value()); err != nil {
				return bsonx.Missing, err
			}
			if equal {
				return bsonx.True, nil
			}
		}
		return bsonx.False, nil
	}
}
