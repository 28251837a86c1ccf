package window

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func expMovingAvgFunctions() []definition {
	return []definition{
		{
			Name: "$expMovingAvg", Parse: parseExpMovingAvg, Form: argumentsForm("=N", "=alpha", "input"),
			Windowless: true,
		},
	}
}

// The functions in this file depend on the order of a partition and have no window.

func parseExpMovingAvg(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	name := def.Name
	arg := spec.Lookup(name)
	switch {
	case order.Fields == 0:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg requires an explicit 'sortBy'")
	case spec.Len() != 1 || arg.Type != bsonx.TypeDocument:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must have exactly one argument that is an object", name)
	}
	input, n, alpha := arg.Doc().Lookup("input"), arg.Doc().Lookup("N"), arg.Doc().Lookup("alpha")
	for it := arg.Doc().Iter(); it.Next(); {
		if key := string(it.Key()); key != "input" && key != "N" && key != "alpha" {
			return nil, mongoerr.New(mongoerr.FailedToParse,
				"Got unrecognized field in %s%s", name, movingAvgFields(name))
		}
	}
	if arg.Doc().Len() != 2 || input.IsMissing() || n.IsMissing() == alpha.IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s", movingAvgFields(name))
	}
	weight, err := movingWeight(n, alpha)
	if err != nil {
		return nil, err
	}
	rest, err := numeric.Subtract(decimalOf(1), weight)
	if err != nil {
		return nil, err
	}
	e, err := expr.Parse(input, vars)
	return &Function{
		Streams: true, Reads: []expr.Expr{e},
		Open: func(*expr.Context) (Exec, error) { return &expMovingAvg{arg: e, weight: weight, rest: rest}, nil },
	}, err
}

func movingAvgFields(name string) string {
	return name + " sub object must have exactly two fields: An 'input' field, and either an 'N' field or an 'alpha' field"
}

func decimalOf(i int64) bsonx.Value {
	v, err := numeric.ToDecimal(bsonx.Int64(i))
	if err != nil {
		return bsonx.Null // cannot fail: every integer converts to a decimal
	}
	return v
}

// movingWeight returns the weight of a new value: alpha, or 2/(N+1).
func movingWeight(n, alpha bsonx.Value) (bsonx.Value, error) {
	if !n.IsMissing() {
		count, ok := n.AsExactInt64()
		if !n.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse,
				"'N' field must be an integer, but found type %s", n.Type)
		}
		if !ok {
			return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse, "'N' field must be an integer, but found  N: %s. To use a non-integer, use the 'alpha' argument instead",
				bsonx.FormatShell(n))
		}
		if count <= 0 {
			return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse, "'N' must be greater than zero. Got %d", count)
		}
		next, err := numeric.Add(decimalOf(count), bsonx.Int32(1))
		if err != nil {
			return bsonx.Missing, err
		}
		return numeric.Divide(decimalOf(2), next)
	}
	if !alpha.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse, "'alpha' must be a number")
	}
	if bsonx.CompareValues(alpha, bsonx.Int32(0)) <= 0 || bsonx.CompareValues(alpha, bsonx.Int32(1)) >= 0 {
		return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse, "'alpha' must be between 0 and 1 (exclusive), found alpha: %s", numeric.Format(alpha))
	}
	return numeric.ToDecimal(alpha)
}

// expMovingAvg is $expMovingAvg. Like MongoDB, it computes with decimals. It returns doubles until
// the first decimal input, which may be in an earlier partition.
type expMovingAvg struct {
	arg          expr.Expr
	weight, rest bsonx.Value
	current      bsonx.Value
	decimal      bool
}

func (x *expMovingAvg) Reset() { x.current = bsonx.Missing }

func (x *expMovingAvg) Value(_ context.Context, p Partition, i int) (bsonx.Value, error) {
	v, err := p.Eval(x.arg, i)
	if err != nil {
		return v, err
	}
	if v.Type.IsNumber() {
		if err := x.next(v); err != nil {
			return bsonx.Missing, err
		}
	}
	if x.current.IsMissing() || x.decimal {
		return x.current, nil
	}
	f, _ := x.current.AsFloat64()
	return bsonx.Double(f), nil
}

func (x *expMovingAvg) next(v bsonx.Value) error {
	x.decimal = x.decimal || v.Type == bsonx.TypeDecimal128
	v, err := numeric.ToDecimal(v)
	if err != nil {
		return err
	}
	if x.current.IsMissing() {
		x.current = v.Clone()
		return nil
	}
	fresh, err := numeric.Multiply(v, x.weight)
	if err != nil {
		return err
	}
	old, err := numeric.Multiply(x.current, x.rest)
	if err != nil {
		return err
	}
	x.current, err = numeric.Add(fresh, old)
	return err
}
