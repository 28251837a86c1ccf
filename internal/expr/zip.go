package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func zipOperators() []definition {
	return []definition{{name: "$zip", family: "array", parse: parseZip, late: true}}
}

// zip transposes arrays.
type zip struct {
	inputs, defaults []Expr
	longest          bool
}

func (z *zip) children() []Expr { return append(append([]Expr(nil), z.inputs...), z.defaults...) }

func parseZip(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(34460, "$zip only supports an object as an argument, found %s", arg.Type)
	}
	raw, err := rawArgs(arg, 34464, def.name, "inputs", "defaults", "useLongestLength")
	if err != nil {
		return nil, err
	}
	z := &zip{}
	for i, list := range []*[]Expr{&z.inputs, &z.defaults} {
		if raw[i].IsMissing() {
			continue
		}
		if raw[i].Type != bsonx.TypeArray {
			return nil, mongoerr.New(mongoerr.Code(34461+i), "%s must be an array of expressions, found %s", []string{"inputs", "defaults"}[i], raw[i].Type)
		}
		if *list, err = p.operands(raw[i], vars); err != nil {
			return nil, err
		}
	}
	if flag := raw[2]; !flag.IsMissing() {
		if flag.Type != bsonx.TypeBool {
			return nil, mongoerr.New(34463, "useLongestLength must be a bool, found %s", flag.Type)
		}
		z.longest = flag.Bool()
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

func (z *zip) Eval(ctx *Context) (bsonx.Value, error) {
	arrays := make([]*bsonx.Iter, len(z.inputs))
	rows := 0
	for i, e := range z.inputs {
		v, err := e.Eval(ctx)
		if err != nil {
			return bsonx.Missing, err
		}
		if nullish(v) {
			return bsonx.Null, nil
		}
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(34468, "$zip found a non-array expression in input: %s", Show(v))
		}
		arrays[i] = v.Doc().Iter()
		switch length := v.Doc().Len(); {
		case i == 0:
			rows = length
		case z.longest:
			rows = max(rows, length)
		default:
			rows = min(rows, length)
		}
	}
	defaults := make([]bsonx.Value, len(z.inputs))
	for i, e := range z.defaults {
		var err error
		if defaults[i], err = e.Eval(ctx); err != nil {
			return bsonx.Missing, err
		}
	}
	return zipRows(arrays, defaults, rows)
}

// zipRows takes one element of each array per row; an array that is at its end gives its default.
func zipRows(arrays []*bsonx.Iter, defaults []bsonx.Value, rows int) (bsonx.Value, error) {
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for range rows {
		b.StartArrayElem()
		for i, it := range arrays {
			if it.Next() {
				b.Elem(it.Value())
			} else {
				b.Elem(defaults[i])
			}
		}
		b.End()
		if err := checkBytes("$zip", b.Len()); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}
