package window

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func locfFunctions() []definition {
	return []definition{
		{Name: "$locf", Parse: parseGapFill, Form: expr.Serializer.Expression, Windowless: true},
	}
}

// parseGapFill compiles $locf or $linearFill.
func parseGapFill(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	name := def.Name
	arg, err := def.onlyArgument(spec)
	if err != nil {
		return nil, err
	}
	e, err := expr.Parse(arg, vars)
	if err != nil {
		return nil, err
	}
	if name == "$locf" {
		return &Function{
			Streams: true, Reads: []expr.Expr{e},
			Open: func(*expr.Context) (Exec, error) { return &locf{arg: e}, nil },
		}, nil
	}
	if !order.single() {
		return nil, mongoerr.New(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element")
	}
	if order.Key.Path == "" || order.Key.IsMeta() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$linearFill requires a non-expression sortBy")
	}
	return &Function{
		Reads: []expr.Expr{e, order.By},
		Open:  func(*expr.Context) (Exec, error) { return &linearFill{arg: e, by: order.By}, nil },
	}, nil
}

// locf is $locf: it replaces a null or missing value with the last value before it that is neither.
type locf struct {
	arg  expr.Expr
	last bsonx.Value
}

func (l *locf) Value(_ context.Context, p Partition, i int) (bsonx.Value, error) {
	v, err := p.Eval(l.arg, i)
	if err == nil && !expr.Nullish(v) {
		l.last = v.Clone()
	}
	return l.last, err
}

func (l *locf) Kept() int64 { return int64(len(l.last.Data)) }
