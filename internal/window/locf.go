package window

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

func locfFunctions() []definition {
	return []definition{
		{Name: "$locf", Parse: parseLocf, Form: expr.Serializer.Expression, Windowless: true},
	}
}

func parseLocf(def *definition, spec bsonx.Doc, _ *Order, vars *expr.Vars) (*Function, error) {
	e, err := def.onlyExpression(spec, vars)
	if err != nil {
		return nil, err
	}
	return &Function{
		Streams: true, Reads: []expr.Expr{e},
		Open: func(*expr.Context) (Exec, error) { return &locf{arg: e}, nil },
	}, nil
}

// onlyExpression compiles the argument of a function that has no window.
func (d *definition) onlyExpression(spec bsonx.Doc, vars *expr.Vars) (expr.Expr, error) {
	arg, err := d.onlyArgument(spec)
	if err != nil {
		return nil, err
	}
	return expr.Parse(arg, vars)
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
