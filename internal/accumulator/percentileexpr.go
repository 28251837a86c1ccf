package accumulator

import (
	"cmp"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// expression returns the definition of the expression.
func (f *percentileForm) expression(arguments ...string) *expr.Definition {
	return &expr.Definition{
		Family: "accumulator", Parse: f.parseExpression, Arguments: arguments,
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// percentileExpr is $percentile or $median as an expression over one array.
type percentileExpr struct {
	*percentiles
	running *interrupt.Running
}

func (f *percentileForm) parseExpression(p *expr.Parser, def *expr.Definition, arg bsonx.Value,
	vars *expr.Vars,
) (expr.Expr, error) {
	args, err := f.arguments(def.Name, arg, f.notObjectInExpression, func(v bsonx.Value) (expr.Expr, error) {
		e, err := p.Operand(v, vars.Unoptimized())
		if err == nil && vars.Inlines(v) {
			// This prevents the inlined variable from counting as a constant when p is parsed.
			e = expr.Bound(e)
		}
		return e, err
	})
	if err != nil {
		return nil, err
	}
	return &percentileExpr{args, vars.Scripts().Running}, nil
}

func (e *percentileExpr) Children() []expr.Expr { return []expr.Expr{e.input} }

// Eval accepts a number or an array, of which only numbers other than NaN count. A percentile p is
// the smallest number in the array such that at least the share p of the numbers is less than or
// equal to it.
func (e *percentileExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	v, err := e.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if err := ctx.Read(len(v.Data), e.running); err != nil {
		return bsonx.Missing, err
	}
	if f, ok := v.AsFloat64(); ok {
		return e.result(func(float64) float64 { return f }), nil
	}
	var samples []float64
	var meter interrupt.Meter
	if v.Type == bsonx.TypeArray {
		for it := v.Doc().Iter(); it.Next(); {
			if err := meter.Did(interrupt.Step, e.running); err != nil {
				return bsonx.Missing, err
			}
			if f, ok := it.Value().AsFloat64(); ok && !math.IsNaN(f) {
				samples = append(samples, f)
			}
		}
	}
	if len(samples) == 0 {
		return e.result(nil), nil
	}
	if err := interrupt.SortUnstable(samples, interrupt.Step/4, cmp.Compare[float64], &meter, e.running); err != nil {
		return bsonx.Missing, err
	}
	return e.result(func(p float64) float64 {
		i := int(math.Ceil(p*float64(len(samples)))) - 1
		return samples[min(max(i, 0), len(samples)-1)]
	}), nil
}
