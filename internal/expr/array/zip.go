package array

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func zipDefinition() expr.Definition {
	return expr.Definition{
		Name: "$zip", Family: family, Parse: parseZip,
		Form:  zipForm,
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// zip is $zip: it transposes arrays.
type zip struct {
	inputs, defaults []expr.Expr
	longest          bool
	running          *interrupt.Running
}

func (z *zip) Children() []expr.Expr {
	return append(append([]expr.Expr(nil), z.inputs...), z.defaults...)
}

func parseZip(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(34460, "$zip only supports an object as an argument, found %s", arg.Type)
	}
	raw, order, unknown := expr.OrderedArgs(arg, expr.UnknownArgument{Code: 34464, Text: expr.FoundUnknown}, def.Name,
		[]string{"inputs", "defaults", "useLongestLength"})
	z := &zip{running: vars.Scripts().Running}
	for _, i := range order {
		if err := z.argument(p, i, raw[i], vars); err != nil {
			return nil, err
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	switch {
	case len(z.inputs) == 0:
		return nil, mongoerr.New(34465, "$zip requires at least one input array")
	case len(z.defaults) > 0 && !z.longest:
		return nil, mongoerr.New(34466, "cannot specify defaults unless useLongestLength is true")
	case len(z.defaults) > 0 && len(z.defaults) != len(z.inputs):
		return nil, mongoerr.New(34467, "defaults and inputs must have the same length")
	}
	return z, nil
}

// argument compiles argument i of $zip: inputs, defaults or useLongestLength.
func (z *zip) argument(p *expr.Parser, i int, v bsonx.Value, vars *expr.Vars) (err error) {
	switch {
	case i == 2 && v.Type != bsonx.TypeBool:
		// MongoDB reports the type of the whole argument of $zip.
		return mongoerr.New(34463, "useLongestLength must be a bool, found object")
	case i == 2:
		z.longest = v.Bool()
	case v.Type != bsonx.TypeArray:
		return mongoerr.New(mongoerr.Code(34461+i), "%s must be an array of expressions, found %s",
			[]string{"inputs", "defaults"}[i], v.Type)
	case i == 1:
		z.defaults, err = p.Operands(v, vars)
	default:
		z.inputs, err = p.Operands(v, vars)
	}
	return err
}

func (z *zip) Eval(ctx *expr.Context) (bsonx.Value, error) {
	kept := ctx.Kept
	v, err := z.eval(ctx)
	ctx.Kept = kept
	return v, err
}

func (z *zip) eval(ctx *expr.Context) (bsonx.Value, error) {
	arrays := make([]*bsonx.Iter, len(z.inputs))
	rows, shortest := 0, 0
	for i, e := range z.inputs {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		if expr.Nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(34468, "$zip found a non-array expression in input: %s", expr.Show(v))
		}
		if err := ctx.Read(len(v.Data), z.running); err != nil {
			return bsonx.Missing, err
		}
		ctx.Kept += len(v.Data)
		arrays[i] = v.Doc().Iter()
		length := v.Doc().Len()
		if i == 0 {
			rows, shortest = length, length
		}
		rows, shortest = max(rows, length), min(shortest, length)
	}
	if !z.longest {
		rows = shortest
	}
	defaults := make([]bsonx.Value, len(z.inputs))
	for i, e := range z.defaults {
		if rows == shortest {
			break // the array is long enough
		}
		var err error
		if defaults[i], err = e.Eval(ctx); err != nil {
			return bsonx.Missing, err
		}
	}
	return z.rows(ctx, arrays, defaults, rows)
}

// rows builds the result: row i contains element i of each array, or its default after the end of
// the array.
func (z *zip) rows(ctx *expr.Context, arrays []*bsonx.Iter, defaults []bsonx.Value, rows int) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for range rows {
		size := b.Len()
		b.StartArrayElem()
		for i, it := range arrays {
			v := defaults[i]
			if it.Next() {
				v = it.Value()
			}
			if err := ctx.Room(b, len(v.Data), z.running); err != nil {
				return bsonx.Missing, err
			}
			b.Elem(v)
		}
		b.End()
		if err := ctx.Worked(len(arrays)*expr.StepWork, z.running); err != nil {
			return bsonx.Missing, err
		}
		if err := ctx.Grow("$zip", b.Len(), b.Len()-size, z.running); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func zipForm(s expr.SerialScope, def *expr.Definition, arg bsonx.Value) expr.Serial {
	d := arg.Doc()
	inputs := s.Operands(d.Lookup("inputs").Doc().Values())
	defaults := s.Operands(d.Lookup("defaults").Doc().Values())
	longest := d.Lookup("useLongestLength").Truthy()
	form := bsonx.NewDoc("inputs", expr.Forms(inputs), "defaults", expr.Forms(defaults), "useLongestLength", longest)
	if expr.AllConstant(inputs) && expr.AllConstant(defaults) {
		bare := bsonx.NewDoc("inputs", expr.Forms(inputs), "useLongestLength", longest)
		if len(defaults) > 0 {
			bare = form
		}
		if v := s.Folded(def.Name, bsonx.Document(bare), true); v.Constant {
			return v
		}
	}
	return expr.Use(def.Name, bsonx.Document(form))
}
