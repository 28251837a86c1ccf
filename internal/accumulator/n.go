package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// nArguments compiles the arguments {input: …, n: …}, in their order in the document, with operand.
func nArguments(name string, arg bsonx.Value,
	operand func(bsonx.Value) (expr.Expr, error),
) (input, n expr.Expr, err error) {
	if arg.Type != bsonx.TypeDocument {
		code := mongoerr.Code(5787801)
		if name == "$minN" || name == "$maxN" {
			code = 5787900
		}
		return input, n, mongoerr.New(code, "specification must be an object; found %s", expr.ShowElement(name, arg))
	}
	for it := arg.Doc().Iter(); it.Next(); {
		switch string(it.Key()) {
		case "input":
			input, err = operand(it.Value())
		case "n":
			n, err = operand(it.Value())
		default:
			err = mongoerr.New(5787901, "Unknown argument for 'n' operator: %s", it.Key())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if n == nil {
		return nil, nil, mongoerr.New(5787906, "Missing value for 'n'")
	}
	if input == nil {
		return nil, nil, mongoerr.New(5787907, "Missing value for 'input'")
	}
	return input, n, nil
}

// countOf returns the value of n. It fails unless n is a positive integer.
func countOf(v bsonx.Value) (int, error) {
	if !v.Type.IsNumber() {
		return 0, mongoerr.New(5787902, "Value for 'n' must be of integral type, but found %s", expr.Show(v))
	}
	n, ok := v.AsExactInt64()
	// As in MongoDB, a decimal too close to 0 for a double counts as the integer 0.
	if f, _ := v.AsFloat64(); v.Type == bsonx.TypeDecimal128 && f == 0 {
		ok = true
	}
	if !ok {
		return 0, mongoerr.New(5787903, "Value for 'n' must be of integral type, but found %s", expr.Show(v))
	}
	if n <= 0 {
		return 0, mongoerr.New(5787908, "'n' must be greater than 0, found %d", n)
	}
	return int(n), nil
}

// startN completes the Accumulation of an accumulator that keeps n values. Init computes n. An
// invalid n is an error only when the first group is created, even if n is constant: without
// documents there is no error.
func (a *Accumulation) startN(make func(n int) Accumulator) {
	if v, constant := expr.ConstValue(a.Init); constant {
		if n, err := countOf(v); err == nil {
			a.plain = func() Accumulator { return make(n) }
			return
		}
	}
	a.start = func(init bsonx.Value) (Accumulator, error) {
		n, err := countOf(init)
		if err != nil {
			return nil, err
		}
		return make(n), nil
	}
}

func newN(name string, n int, c *collation.Collator, running *interrupt.Running) Accumulator {
	switch name {
	case "$firstN":
		return &firstN{endsN{name: name, n: n}}
	case "$lastN":
		return &lastN{endsN: endsN{name: name, n: n}}
	case "$minN":
		return &extremesN{name: name, n: n, sign: 1, collation: c, running: running}
	default:
		return &extremesN{name: name, n: n, sign: -1, collation: c, running: running}
	}
}

func parseN(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	input, n, err := nArguments(name, arg, func(v bsonx.Value) (expr.Expr, error) { return expr.Parse(v, vars) })
	if err != nil {
		return nil, err
	}
	out := &Accumulation{Name: name, Init: n, Arg: input}
	running := vars.Scripts().Running
	out.startN(func(n int) Accumulator { return newN(name, n, vars.Collation(), running) })
	return out, nil
}
