package object

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func mergeObjectsDefinition() expr.Definition {
	return expr.Definition{
		Name: "$mergeObjects", Family: family, Parse: expr.WatchN(mergeObjects),
		Max: -1, Lazy: &expr.Laziness{From: 1},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func mergeObjects(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if err := expr.CheckBytes("$mergeObjects", expr.TotalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	var merged ObjectBuilder
	var meter interrupt.Meter
	if len(args) == 1 && args[0].Type == bsonx.TypeArray {
		for it := args[0].Doc().Iter(); it.Next(); {
			if err := merged.merge(it.Value(), &meter, running); err != nil {
				return bsonx.Missing, err
			}
		}
		return merged.Document(&meter, running)
	}
	for _, v := range args {
		if err := merged.merge(v, &meter, running); err != nil {
			return bsonx.Missing, err
		}
	}
	return merged.Document(&meter, running)
}

// mergeWork is the amount of work of merging one field.
const mergeWork = 2 * interrupt.Step

// merge sets the fields of one operand of $mergeObjects.
func (o *ObjectBuilder) merge(v bsonx.Value, meter *interrupt.Meter, running *interrupt.Running) error {
	if expr.Nullish(v) {
		return nil
	}
	if v.Type != bsonx.TypeDocument {
		return mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", expr.Show(v), v.Type)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(mergeWork, running); err != nil {
			return err
		}
		o.Set(it.Key(), it.Value())
	}
	return nil
}
