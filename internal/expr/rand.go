package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// randDefinition defines $rand. It is not total: an additional evaluation would change the numbers
// for the following documents.
func randDefinition() Definition {
	return Definition{
		Name: "$rand", Family: "miscellaneous", Parse: parseRand, Form: writtenForm,
		Total: feature.No, Folds: feature.No, Depends: OnChance, StableAPI: feature.Yes,
		NotInValidator: mongoerr.New(3040500, "$rand not allowed inside collection validators"),
	}
}

type randExpr struct{}

func (randExpr) Eval(ctx *Context) (bsonx.Value, error) { return ctx.Arena.Double(ctx.random()), nil }

func (randExpr) Children() []Expr { return nil }

func parseRand(_ *Parser, _ *Definition, arg bsonx.Value, _ *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument && arg.Type != bsonx.TypeArray {
		return nil, mongoerr.New(10065, "invalid parameter: expected an object ($rand)")
	}
	if !arg.Doc().IsEmpty() {
		return nil, mongoerr.New(3040501, "$rand does not currently accept arguments")
	}
	return randExpr{}, nil
}
