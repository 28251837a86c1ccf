package window

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func linearFillFunctions() []definition {
	return []definition{
		{Name: "$linearFill", Parse: parseLinearFill, Form: expr.Serializer.Expression, Windowless: true},
	}
}

func parseLinearFill(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	e, err := def.onlyExpression(spec, vars)
	if err != nil {
		return nil, err
	}
	if !order.single() {
		return nil, mongoerr.New(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element")
	}
	if order.Key.Path == "" || order.Key.IsMeta() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$linearFill requires a non-expression sortBy")
	}
	return &Function{
		Reads: []expr.Expr{e, order.By},
		Open:  func(*expr.Context) (Exec, error) { return &linearFill{arg: e, by: order.By}, nil },
	}, nil
}

// linearFill is $linearFill: it interpolates between the values before and after a gap.
type linearFill struct {
	arg, by expr.Expr
	// left and right are the entries around the gap. Their values are missing at the ends of the
	// partition.
	left, right entry
	next        int // the index of the document of right
	lastKey     bsonx.Value
}

func (l *linearFill) Value(ctx context.Context, p Partition, i int) (bsonx.Value, error) {
	e, err := l.entry(p, i)
	if err != nil {
		return bsonx.Missing, err
	}
	if i > 0 && bsonx.CompareValues(e.key, l.lastKey) == 0 {
		return bsonx.Missing, mongoerr.New(6050106, "There can be no repeated values in the sort field")
	}
	l.lastKey = e.key
	if !expr.Nullish(e.value) {
		l.left = e
		return e.value, nil
	}
	if l.left.key.IsMissing() {
		return bsonx.Null, nil
	}
	if l.next <= i {
		if err := l.findRight(ctx, p, i+1); err != nil {
			return bsonx.Missing, err
		}
	}
	if l.right.key.IsMissing() {
		return bsonx.Null, nil
	}
	return l.interpolate(e.key)
}

// findRight sets right to the first entry with a value, from document i on.
func (l *linearFill) findRight(ctx context.Context, p Partition, i int) error {
	l.right = entry{}
	for ; ; i++ {
		l.next = i
		ok, err := p.Has(ctx, i)
		if !ok || err != nil {
			return err
		}
		e, err := l.entry(p, i)
		if err != nil {
			return err
		}
		if !expr.Nullish(e.value) {
			l.right = e
			return nil
		}
	}
}

func (l *linearFill) entry(p Partition, i int) (e entry, err error) {
	if e.key, err = p.Eval(l.by, i); err != nil {
		return e, err
	}
	if !e.key.Type.IsNumber() && e.key.Type != bsonx.TypeDate {
		return e, mongoerr.New(mongoerr.TypeMismatch, "Value of the sortBy field must be numeric or a date, but found %s", e.key.Type)
	}
	if e.value, err = p.Eval(l.arg, i); err != nil {
		return e, err
	}
	if !expr.Nullish(e.value) && !e.value.Type.IsNumber() {
		return e, mongoerr.New(mongoerr.TypeMismatch, "Value to be filled must be numeric or nullish, but found %s", e.value.Type)
	}
	return e, nil
}

// interpolate returns y1 + (x - x1) * (y2 - y1) / (x2 - x1), where 1 is left and 2 is right.
func (l *linearFill) interpolate(x bsonx.Value) (bsonx.Value, error) {
	dx, err := subtractValues(l.right.key, l.left.key)
	if err != nil {
		return bsonx.Missing, err
	}
	if numeric.IsZero(dx) {
		return bsonx.Missing, mongoerr.New(6050106, "There can be no repeated values in the sort field")
	}
	dy, err := numeric.Subtract(l.right.value, l.left.value)
	if err != nil {
		return bsonx.Missing, err
	}
	slope, err := numeric.Divide(dy, dx)
	if err != nil {
		return bsonx.Missing, err
	}
	way, err := subtractValues(x, l.left.key)
	if err != nil {
		return bsonx.Missing, err
	}
	rise, err := numeric.Multiply(way, slope)
	if err != nil {
		return bsonx.Missing, err
	}
	return numeric.Add(l.left.value, rise)
}
