package set

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func allElementsTrueDefinition() expr.Definition {
	return expr.Definition{
		Name: "$allElementsTrue", Family: family, Parse: expr.Watch1(allElementsTrue),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func allElementsTrue(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17040, "$allElementsTrue's argument must be an array, but is %s", v.Type)
	}
	var meter interrupt.Meter
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step, running); err != nil {
			return bsonx.Missing, err
		}
		if !it.Value().Truthy() {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

func anyElementTrueDefinition() expr.Definition {
	return expr.Definition{
		Name: "$anyElementTrue", Family: family, Parse: expr.Watch1(anyElementTrue),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func anyElementTrue(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(17041, "$anyElementTrue's argument must be an array, but is %s", v.Type)
	}
	var meter interrupt.Meter
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step, running); err != nil {
			return bsonx.Missing, err
		}
		if it.Value().Truthy() {
			return bsonx.True, nil
		}
	}
	return bsonx.False, nil
}
