package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// selection defines an accumulator that keeps n of its values, and the expression of the same name,
// which selects n elements of an array.
type selection struct {
	// notObject is the error code for an argument that is not a document.
	notObject mongoerr.Code
	// keep returns the accumulator.
	keep func(name string, n int, c *collation.Collator, running *interrupt.Running) Accumulator
	// pick returns the function of the expression.
	pick func(name string, vars *expr.Vars) picker
}

// arguments compiles the arguments {input: …, n: …}, in their order in the document, with operand.
func (s *selection) arguments(name string, arg bsonx.Value,
	operand func(bsonx.Value) (expr.Expr, error),
) (input, n expr.Expr, err error) {
	if arg.Type != bsonx.TypeDocument {
		return input, n, mongoerr.New(s.notObject,
			"specification must be an object; found %s", expr.ShowElement(name, arg))
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

// parse compiles the accumulator. It is the Parse of its Definition.
func (s *selection) parse(name string, arg bsonx.Value, vars *expr.Vars) (*Accumulation, error) {
	input, n, err := s.arguments(name, arg, func(v bsonx.Value) (expr.Expr, error) { return expr.Parse(v, vars) })
	if err != nil {
		return nil, err
	}
	out := &Accumulation{Name: name, Init: n, Arg: input}
	running := vars.Scripts().Running
	out.startN(func(n int) Accumulator { return s.keep(name, n, vars.Collation(), running) })
	return out, nil
}
