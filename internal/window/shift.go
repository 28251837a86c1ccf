package window

import (
	"context"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func shiftFunctions() []definition {
	return []definition{
		{
			Name: "$shift", Parse: parseShift, NoWindow: "%s does not accept a 'window' field",
			Form: shiftForm, Windowless: true,
		},
	}
}

// shiftForm returns the explained form of the argument. It shows null for a missing default.
func shiftForm(e expr.Serializer, arg bsonx.Value) bsonx.Value {
	other := arg.Doc().Lookup("default")
	if other.IsMissing() {
		other = bsonx.Null
	}
	return bsonx.Document(bsonx.NewDoc("by", arg.Doc().Lookup("by"), "output",
		e.Expression(arg.Doc().Lookup("output")), "default", other))
}

func parseShift(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	arg, err := def.onlyArgument(spec)
	if err != nil {
		return nil, err
	}
	if order.Fields == 0 {
		return nil, mongoerr.New(mongoerr.FailedToParse, "'$shift' requires a sortBy")
	}
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.FailedToParse, "Argument to $shift must be an object")
	}
	s := shift{fallback: bsonx.Null}
	by := bsonx.Missing
	for it := arg.Doc().Iter(); it.Next(); {
		switch string(it.Key()) {
		case "output":
			s.arg, err = expr.Parse(it.Value(), vars)
		case "by":
			by = it.Value()
		case "default":
			s.fallback, err = constantOf(it.Value(), vars)
		default:
			err = mongoerr.New(mongoerr.FailedToParse, "Unknown argument in $shift")
		}
		if err != nil {
			return nil, err
		}
	}
	n, ok := by.AsExactInt64()
	switch {
	case s.arg == nil:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$shift requires an 'output' expression.")
	case by.IsMissing():
		return nil, mongoerr.New(mongoerr.FailedToParse, "$shift requires 'by' as an integer value.")
	case !by.Type.IsNumber() || !ok || n < math.MinInt32 || n > math.MaxInt32:
		return nil, mongoerr.New(mongoerr.FailedToParse,
			"'$shift:by' field must be an integer, but found  by: %s", bsonx.FormatShell(by))
	}
	s.by = int(n)
	return &Function{
		Streams: s.by == 0, Reads: []expr.Expr{s.arg},
		Open: func(*expr.Context) (Exec, error) { exec := s; return &exec, nil },
	}, nil
}

func constantOf(v bsonx.Value, vars *expr.Vars) (bsonx.Value, error) {
	e, err := expr.Parse(v, vars)
	if err != nil {
		return bsonx.Missing, err
	}
	c, ok := expr.ConstValue(e)
	if !ok {
		return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse,
			"'$shift:default' expression must yield a constant value.")
	}
	return c.Clone(), nil
}

type shift struct {
	arg      expr.Expr
	by       int
	fallback bsonx.Value
	past     []bsonx.Value // the values of the previous documents, at most -by of them
}

func (s *shift) Value(ctx context.Context, p Partition, i int) (bsonx.Value, error) {
	if s.by >= 0 {
		ok, err := p.Has(ctx, i+s.by)
		if !ok || err != nil {
			return s.fallback, err
		}
		return s.at(p, i+s.by)
	}
	v, err := s.at(p, i)
	if err != nil {
		return v, err
	}
	if err := p.Reserve(len(v.Data)); err != nil {
		return bsonx.Missing, err
	}
	v = v.Clone()
	s.past = append(s.past, v)
	if len(s.past) <= -s.by {
		return s.fallback, p.Grow(entryBytes + len(v.Data))
	}
	old := s.past[0]
	s.past = s.past[1:]
	return old, p.Grow(len(v.Data) - len(old.Data))
}

// at returns the value for the document with index i. A missing value is replaced like a document
// outside of the partition.
func (s *shift) at(p Partition, i int) (bsonx.Value, error) {
	v, err := p.Eval(s.arg, i)
	if v.IsMissing() {
		v = s.fallback
	}
	return v, err
}
