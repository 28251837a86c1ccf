package pipeline

import (
	"bytes"
	"context"
	"math"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// The functions here go by the order of a partition and have no window.

// parseRank compiles $rank, $denseRank and $documentNumber.
func parseRank(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	arg, _, err := windowArguments(name, spec)
	switch {
	case err != nil || spec.Len() > 1:
		return nil, mongoerr.New(5371601, "Rank style window functions take no other arguments")
	case !order.single():
		return nil, mongoerr.New(5371602, "%s must be specified with a top level sortBy expression with exactly one element", name)
	case arg.Type != bsonx.TypeDocument || !arg.Doc().IsEmpty():
		return nil, mongoerr.New(5371603, "%s must be specified with '{}' as the value", name)
	}
	reads := order.by
	if path := order.key.Path; path != "" && !order.key.IsMeta() {
		if reads, err = expr.Parse(bsonx.String("$"+topField(path)), vars); err != nil { // a sort tells apart what a path does not
			return nil, err
		}
	}
	open := func(*expr.Context) (windowExec, error) {
		r := &rank{name: name}
		if order.key.Path != "" { // else it is metadata that no document has
			r.keys = index.NewMetaSortGen(index.Pattern{order.key}, order.collation)
		}
		return r, nil
	}
	return &windowFunction{streams: true, reads: []expr.Expr{reads}, open: open}, nil
}

// rank gives equal numbers to documents that the sort does not tell apart: of an array the least or the greatest element counts.
type rank struct {
	name      string
	keys      *index.MetaSortGen // nil where all documents are alike
	last, key []byte
	rank      int64
}

func (r *rank) Kept() int64 { return int64(len(r.key) + len(r.last)) }

func (r *rank) Value(_ context.Context, p partition, i int) (bsonx.Value, error) {
	if r.name == "$documentNumber" {
		return numeric.IntOrLong(int64(i) + 1), nil
	}
	if r.keys != nil {
		doc, err := p.Document(i)
		if err != nil {
			return bsonx.Missing, err
		}
		if r.key, err = r.keys.Append(r.key[:0], doc, p.Meta().SortMeta()); err != nil {
			return bsonx.Missing, err
		}
	}
	if i == 0 || !bytes.Equal(r.key, r.last) {
		r.last = append(r.last[:0], r.key...)
		if r.rank++; r.name == "$rank" {
			r.rank = int64(i) + 1
		}
	}
	return numeric.IntOrLong(r.rank), nil
}

func parseShift(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	arg, err := onlyArgument(name, spec)
	if err != nil {
		return nil, err
	}
	if order.fields == 0 {
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
		return nil, mongoerr.New(mongoerr.FailedToParse, "'$shift:by' field must be an integer, but found  by: %s", bsonx.FormatShell(by))
	}
	s.by = int(n)
	return &windowFunction{streams: s.by == 0, reads: []expr.Expr{s.arg}, open: func(*expr.Context) (windowExec, error) { exec := s; return &exec, nil }}, nil
}

func constantOf(v bsonx.Value, vars *expr.Vars) (bsonx.Value, error) {
	e, err := expr.Parse(v, vars)
	if err != nil {
		return bsonx.Missing, err
	}
	c, ok := expr.ConstValue(e)
	if !ok {
		return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse, "'$shift:default' expression must yield a constant value.")
	}
	return c.Clone(), nil
}

type shift struct {
	arg      expr.Expr
	by       int
	fallback bsonx.Value
	past     []bsonx.Value // of the documents before the current one, as many as are looked back
}

func (s *shift) Value(ctx context.Context, p partition, i int) (bsonx.Value, error) {
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
		return s.fallback, p.Grow(windowEntryBytes + len(v.Data))
	}
	old := s.past[0]
	s.past = s.past[1:]
	return old, p.Grow(len(v.Data) - len(old.Data))
}

// at returns the value at a document that is there; a missing one is as one outside of the partition.
func (s *shift) at(p partition, i int) (bsonx.Value, error) {
	v, err := p.Eval(s.arg, i)
	if v.IsMissing() {
		v = s.fallback
	}
	return v, err
}

func parseExpMovingAvg(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	arg := spec.Lookup(name)
	switch {
	case order.fields == 0:
		return nil, mongoerr.New(mongoerr.FailedToParse, "$expMovingAvg requires an explicit 'sortBy'")
	case spec.Len() != 1 || arg.Type != bsonx.TypeDocument:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s must have exactly one argument that is an object", name)
	}
	input, n, alpha := arg.Doc().Lookup("input"), arg.Doc().Lookup("N"), arg.Doc().Lookup("alpha")
	for it := arg.Doc().Iter(); it.Next(); {
		if key := string(it.Key()); key != "input" && key != "N" && key != "alpha" {
			return nil, mongoerr.New(mongoerr.FailedToParse, "Got unrecognized field in %s%s", name, movingAvgFields(name))
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
	return &windowFunction{streams: true, reads: []expr.Expr{e}, open: func(*expr.Context) (windowExec, error) { return &expMovingAvg{arg: e, weight: weight, rest: rest}, nil }}, err
}

func movingAvgFields(name string) string {
	return name + " sub object must have exactly two fields: An 'input' field, and either an 'N' field or an 'alpha' field"
}

func decimalOf(i int64) bsonx.Value {
	v, err := numeric.ToDecimal(bsonx.Int64(i))
	if err != nil {
		return bsonx.Null // an integer has a decimal
	}
	return v
}

// movingWeight returns the weight of a new value: alpha, or 2/(N+1).
func movingWeight(n, alpha bsonx.Value) (bsonx.Value, error) {
	if !n.IsMissing() {
		count, ok := n.AsExactInt64()
		if !n.Type.IsNumber() {
			return bsonx.Missing, mongoerr.New(mongoerr.FailedToParse, "'N' field must be an integer, but found type %s", n.Type)
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

// expMovingAvg keeps its value as a decimal, as MongoDB does, and answers with doubles until a decimal comes, be it in an
// earlier partition.
type expMovingAvg struct {
	arg          expr.Expr
	weight, rest bsonx.Value
	current      bsonx.Value
	decimal      bool
}

func (x *expMovingAvg) Reset() { x.current = bsonx.Missing }

func (x *expMovingAvg) Value(_ context.Context, p partition, i int) (bsonx.Value, error) {
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

// topField returns the first part of a path.
func topField(path string) string {
	name, _, _ := strings.Cut(path, ".")
	return name
}
