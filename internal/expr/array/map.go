package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func mapDefinition() expr.Definition {
	return expr.Definition{
		Name: "$map", Family: family, Parse: parseMap,
		Form:  iterationForm("in"),
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

type mapExpr struct{ iterate }

func (m *mapExpr) Eval(ctx *expr.Context) (bsonx.Value, error) {
	array, null, err := m.array(ctx, "$map", 16883)
	if null || err != nil {
		return bsonx.Null, err
	}
	kept := ctx.Kept
	v, err := m.each(ctx, array, kept+len(array))
	ctx.Kept = kept
	return v, err
}

// each evaluates the body for each element and returns the results. kept is the memory in bytes
// that the caller keeps meanwhile.
func (m *mapExpr) each(ctx *expr.Context, array bsonx.Doc, kept int) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := array.Iter(); it.Next(); {
		ctx.Bind(m.slot, it.Value())
		size := b.Len()
		ctx.Kept = kept + size
		v, err := m.body.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept = kept
		if err := ctx.Room(b, len(v.Data), m.running); err != nil {
			return bsonx.Missing, err
		}
		b.Elem(v)
		if err := ctx.Grow("$map", b.Len(), b.Len()-size, m.running); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func parseMap(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(16878, "$map only supports an object as its argument")
	}
	raw, err := expr.RawArgs(arg, expr.UnknownArgument{Code: 16879, Text: expr.UnrecognizedParameter},
		def.Name, "input", "in", "as")
	if err != nil {
		return nil, err
	}
	for i, code := range []mongoerr.Code{16880, 16882} {
		if raw[i].IsMissing() {
			return nil, mongoerr.New(code, "Missing '%s' parameter to $map", []string{"input", "in"}[i])
		}
	}
	it, _, err := iteration(p, raw[0], raw[1], bsonx.Missing, raw[2], vars)
	return &mapExpr{it}, err
}
