package accumulator

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The expressions $firstN, $lastN, $minN and $maxN, which select elements of one array. The
// accumulators of the same names are in firstn.go and minn.go.

// expression returns the definition of the expression.
func (s *selection) expression() *expr.Definition {
	return &expr.Definition{
		Family: "array", Parse: s.parseExpression, Arguments: []string{"n", "input"},
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

// picker selects n elements of an array.
type picker func(array bsonx.Doc, n int64) (bsonx.Value, error)

// pick is the expression $firstN, $lastN, $minN or $maxN.
type pick struct {
	n, input expr.Expr
	of       picker
	running  *interrupt.Running // signals interrupts of the operation; nil never does
}

func (e *pick) Children() []expr.Expr { return []expr.Expr{e.n, e.input} }

func (e *pick) Eval(ctx *expr.Context) (bsonx.Value, error) {
	count, err := e.n.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	n, err := pickCount(count)
	if err != nil {
		return bsonx.Missing, err
	}
	v, err := e.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(5788200, "Input must be an array")
	}
	if err := ctx.Read(len(v.Data), e.running); err != nil {
		return bsonx.Missing, err
	}
	return e.of(v.Doc(), n)
}

// pickCount returns the value of n. In addition to the checks of countOf, a number outside the
// range of int64 has its own error.
func pickCount(v bsonx.Value) (int64, error) {
	if err := checkLong(v); err != nil {
		return 0, err
	}
	n, err := countOf(v)
	return int64(n), err
}

// checkLong returns an error if v, truncated to an integer, does not fit into an int64. Infinity
// and NaN do not fit.
func checkLong(v bsonx.Value) error {
	if v.Type != bsonx.TypeDouble && v.Type != bsonx.TypeDecimal128 {
		return nil
	}
	if f, ok := v.AsFloat64(); ok && f < 1<<63 && f >= -1<<63 {
		return nil
	}
	return expr.ErrOutOfLong(v)
}

func (s *selection) parseExpression(p *expr.Parser, def *expr.Definition, arg bsonx.Value,
	vars *expr.Vars,
) (expr.Expr, error) {
	input, n, err := s.arguments(def.Name, arg,
		func(v bsonx.Value) (expr.Expr, error) { return p.Operand(v, vars.Unoptimized()) })
	if err != nil {
		return nil, err
	}
	return &pick{n: n, input: input, of: s.pick(def.Name, vars), running: vars.Scripts().Running}, nil
}

func pickFirst(_ string, vars *expr.Vars) picker {
	running := vars.Scripts().Running
	return func(array bsonx.Doc, n int64) (bsonx.Value, error) { return expr.SubArray(array, 0, int(n), running) }
}

func pickLast(_ string, vars *expr.Vars) picker {
	running := vars.Scripts().Running
	return func(array bsonx.Doc, n int64) (bsonx.Value, error) {
		length := array.Len()
		return expr.SubArray(array, max(0, length-int(n)), length, running)
	}
}

func pickLeast(name string, vars *expr.Vars) picker {
	return extremes(extremesN{name: name, sign: 1, collation: vars.Collation(), running: vars.Scripts().Running})
}

func pickGreatest(name string, vars *expr.Vars) picker {
	return extremes(extremesN{name: name, sign: -1, collation: vars.Collation(), running: vars.Scripts().Running})
}

// extremes returns the function of $minN or $maxN. It uses the accumulator, so that it selects the
// same ones of several equal values, as in MongoDB.
func extremes(empty extremesN) picker {
	return func(array bsonx.Doc, n int64) (bsonx.Value, error) {
		acc := empty
		acc.n = int(n)
		var meter interrupt.Meter
		for it := array.Iter(); it.Next(); {
			if err := acc.Add(it.Value()); err != nil {
				return bsonx.Missing, err
			}
			if err := meter.Did(popWork, acc.running); err != nil {
				return bsonx.Missing, err
			}
		}
		if err := acc.Finish(true); err != nil {
			return bsonx.Missing, err
		}
		return expr.ListOf(acc.result, acc.running)
	}
}
