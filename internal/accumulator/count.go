package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func countDefinition() Definition {
	return Definition{
		Name: "$count", Parse: parseCount,
		Depends: expr.OnOperands, StableAPI: feature.Yes, Window: OwnWindow, InputOrder: feature.No,
		Form: countForm,
	}
}

// parseCount compiles {$count: {}}, which is equivalent to {$sum: 1}.
func parseCount(name string, arg bsonx.Value, _ *expr.Vars) (*Accumulation, error) {
	if arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "$count takes no arguments, i.e. $count:{}")
	}
	return &Accumulation{
		Name: name, Arg: &expr.Const{Value: bsonx.Int32(1)}, FixedSize: true, Unordered: true,
		plain: func() Accumulator { return &sumAccumulator{} },
	}, nil
}

// countForm returns the explained form of $count, which MongoDB shows as {$sum: 1}.
func countForm(expr.SerialScope, bsonx.Value) bsonx.Value {
	one := expr.Serial{Form: bsonx.Int32(1), Constant: true}
	return bsonx.Document(bsonx.NewDoc("$sum", one.Value()))
}
