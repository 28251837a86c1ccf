package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func filterDefinition() expr.Definition {
	return expr.Definition{
		Name: "$filter", Family: family, Parse: parseFilter,
		Form:  iterationForm("cond"),
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

type filterExpr struct {
	iterate
	limit expr.Expr // nil without a limit
}

func (f *filterExpr) Children() []expr.Expr {
	if f.limit == nil {
		return f.iterate.Children()
	}
	return []expr.Expr{f.input, f.body, f.limit}
}

func (f *filterExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	array, null, err := f.array(ctx, "$filter", 28651)
	if null || err != nil {
		return bsonx.Null, err
	}
	if array.IsEmpty() {
		return bsonx.Array(array), nil
	}
	limit, err := f.limitOf(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	kept := ctx.Kept
	v, err := f.each(ctx, array, limit, kept+len(array))
	ctx.Kept = kept
	return v, err
}

// each evaluates the condition for each element and returns the selected elements. kept is the
// memory in bytes that the caller keeps meanwhile.
func (f *filterExpr) each(ctx *expr.Context, array bsonx.Doc, limit, kept int) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := array.Iter(); limit != 0 && it.Next(); {
		ctx.Bind(f.slot, it.Value())
		size := b.Len()
		ctx.Kept = kept + size
		keep, err := f.body.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept
		if keep.Truthy() {
			if err := ctx.Room(b, len(it.Value().Data), f.running); err != nil {
				return bsonx.Missing, err
			}
			b.Elem(it.Value())
			limit--
		}
		if err := ctx.Grow("$filter", b.Len(), b.Len()-size, f.running); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

// limitOf returns the largest number of elements to select; a negative number means no limit.
func (f *filterExpr) limitOf(ctx *expr.Context) (int, error) {
	if f.limit == nil {
		return -1, nil
	}
	v, err := f.limit.Eval(ctx)
	if err != nil || expr.Nullish(v) {
		return -1, err
	}
	n, ok := expr.AsInt32(v)
	if !v.Type.IsNumber() || !ok {
		return 0, mongoerr.New(327391, "$filter: limit must be represented as a 32-bit integral value: %s", expr.Show(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(327392, "$filter: limit must be greater than 0: %d", n)
	}
	return n, nil
}

func parseFilter(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(28646, "$filter only supports an object as its argument")
	}
	raw, err := expr.RawArgs(arg, expr.UnknownArgument{Code: 28647, Text: expr.UnrecognizedParameter}, def.Name,
		"input", "cond", "as", "limit")
	if err != nil {
		return nil, err
	}
	if raw[0].IsMissing() {
		return nil, mongoerr.New(28648, "Missing 'input' parameter to $filter")
	}
	if raw[1].IsMissing() {
		return nil, mongoerr.New(28650, "Missing 'cond' parameter to $filter")
	}
	it, limit, err := iteration(p, raw[0], raw[1], raw[3], raw[2], vars)
	return &filterExpr{it, limit}, err
}
