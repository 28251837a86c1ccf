package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func reduceDefinition() expr.Definition {
	return expr.Definition{
		Name: "$reduce", Family: family, Parse: parseReduce,
		Form:  reduceForm,
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

type reduceExpr struct {
	iterate
	initial   expr.Expr
	valueSlot int
}

func (r *reduceExpr) Children() []expr.Expr { return []expr.Expr{r.input, r.initial, r.body} }

func (r *reduceExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	array, null, err := r.array(ctx, "$reduce", 40080)
	if null || err != nil {
		return bsonx.Null, err
	}
	value, err := r.initial.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	kept := ctx.Kept
	value, err = r.each(ctx, array, value, kept+len(array))
	ctx.Kept = kept
	return value, err
}

// each evaluates the body for each element, beginning with the initial value. kept is the memory in
// bytes that the caller keeps meanwhile.
func (r *reduceExpr) each(ctx *expr.Context, array bsonx.Doc, value bsonx.Value, kept int) (_ bsonx.Value, err error) {
	n := 0
	for it := array.Iter(); it.Next(); {
		ctx.Bind(r.slot, it.Value())
		ctx.Bind(r.valueSlot, value)
		ctx.Kept = kept + len(value.Data)
		if value, err = r.body.Eval(ctx); err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept
		if err := ctx.Grow("$reduce", len(value.Data), len(value.Data), r.running); err != nil {
			return bsonx.Missing, err
		}
		if n++; n%expr.DepthInterval == 0 {
			if err := expr.CheckReduced(value); err != nil {
				return bsonx.Missing, err
			}
		}
	}
	return value, expr.CheckReduced(value)
}

func parseReduce(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(40075, "$reduce requires an object as an argument, found: %s", arg.Type)
	}
	names := []string{"input", "initialValue", "in"}
	raw, err := expr.RawArgs(arg, expr.UnknownArgument{Code: 40076, Text: expr.FoundUnknown}, def.Name, names...)
	if err != nil {
		return nil, err
	}
	for i, v := range raw {
		if v.IsMissing() {
			return nil, mongoerr.New(mongoerr.Code(40077+i), "$reduce requires '%s' to be specified", names[i])
		}
	}
	r := &reduceExpr{iterate: iterate{running: vars.Scripts().Running}}
	inner := vars
	inner, r.slot = inner.WithSlot("this")
	inner, r.valueSlot = inner.WithSlot("value")
	args, err := p.ArgsIn(expr.FromLast(len(raw)), raw, vars, vars, inner)
	if err != nil {
		return nil, err
	}
	r.input, r.initial, r.body = args[0], args[1], args[2]
	return r, nil
}

func reduceForm(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
	d := arg.Doc()
	input, initial := s.Operand(d.Lookup("input")), s.Operand(d.Lookup("initialValue"))
	in := s.Bind("this", expr.Serial{}).Bind("value", expr.Serial{}).Operand(d.Lookup("in"))
	form := bsonx.Document(bsonx.NewDoc("input", input.Value(), "initialValue", initial.Value(), "in", in.Value()))
	return s.Folded(def.Name, form, input.Constant && initial.Constant && in.Constant)
}
