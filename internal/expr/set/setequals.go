package set

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func setEqualsDefinition() expr.Definition {
	return expr.Definition{
		Name: "$setEquals", Family: family, Parse: parseEquals,
		Lazy:  &expr.Laziness{From: 1, Refutes: true},
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseEquals(p *expr.Parser, def *expr.Definition, arg bsonx.Value, vars *expr.Vars) (expr.Expr, error) {
	args, err := p.Operands(arg, vars)
	if err != nil {
		return nil, err
	}
	if len(args) < 2 {
		return nil, mongoerr.New(17045, "$setEquals needs at least two arguments had: %d", len(args))
	}
	for i, e := range args {
		if c, ok := e.(*expr.Const); ok && c.Value.Type != bsonx.TypeArray {
			vars.Failures().Add(mongoerr.New(5887502, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", i+1, c.Value.Type))
		}
	}
	moved := 0
	// MongoDB compares with the constant operand first, but only in an optimised pipeline: a query
	// loses the set that MongoDB has built from the constant.
	if f := vars.Failures(); f != nil && !f.Copied {
		moved = constantFirst(args)
	}
	return &expr.CallN{
		Def: def, Args: args, Running: vars.Scripts().Running,
		Fn: expr.PlainN(sets{vars.Collation(), vars.Scripts().Running}.equals(moved)),
	}, nil
}

// constantFirst moves the first constant operand to the beginning, unless all operands are
// constant. It returns the position at which the operand was.
func constantFirst(args []expr.Expr) int {
	at := slices.IndexFunc(args, func(e expr.Expr) bool { _, ok := e.(*expr.Const); return ok })
	if at <= 0 {
		return 0
	}
	first := args[at]
	copy(args[1:], args[:at])
	args[0] = first
	return at
}

// equals returns a function that compares the other operands with the first. moved is the original
// position of the first operand, for error messages.
func (s sets) equals(moved int) func(args []bsonx.Value) (bsonx.Value, error) {
	return func(args []bsonx.Value) (bsonx.Value, error) { return s.allEqual(args, moved) }
}

func (s sets) allEqual(args []bsonx.Value, moved int) (bsonx.Value, error) {
	var first []bsonx.Value
	for i, v := range args {
		if v.Type != bsonx.TypeArray {
			return bsonx.Missing, mongoerr.New(17044, "All operands of $setEquals must be arrays. %d-th argument is of type: %s", placeBefore(i, moved)+1, v.Type)
		}
		set, err := s.sorted(v)
		if err != nil {
			return bsonx.Missing, err
		}
		if i == 0 {
			first = set
		}
		same, err := s.same(first, set)
		if err != nil {
			return bsonx.Missing, err
		}
		if !same {
			return bsonx.False, nil
		}
	}
	return bsonx.True, nil
}

// same reports whether two sorted sets have the same elements.
func (s sets) same(a, b []bsonx.Value) (bool, error) {
	if len(a) != len(b) {
		return false, nil
	}
	var meter interrupt.Meter
	by := s.collation.Comparer(s.running)
	for i, v := range a {
		if err := meter.Did(interrupt.Step, s.running); err != nil {
			return false, err
		}
		if by.Compare(v, b[i]) != 0 {
			return false, by.Ended()
		}
	}
	return true, by.Ended()
}

// placeBefore returns the original position of operand i, if the operand at position moved was
// moved to the beginning.
func placeBefore(i, moved int) int {
	switch {
	case i == 0:
		return moved
	case i <= moved:
		return i - 1
	default:
		return i
	}
}
