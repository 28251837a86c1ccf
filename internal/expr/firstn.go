package expr

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// The operators here pick some elements of one array. Their twins that gather over a group are accumulators.

func firstNOperators() []definition {
	return []definition{
		{name: "$firstN", family: "array", parse: parsePick, late: true},
		{name: "$lastN", family: "array", parse: parsePick, late: true},
		{name: "$minN", family: "array", parse: parsePick, late: true},
		{name: "$maxN", family: "array", parse: parsePick, late: true},
	}
}

// pick is $firstN, $lastN, $minN or $maxN.
type pick struct {
	n, input Expr
	of       func(array bsonx.Doc, n int64) bsonx.Value
}

func (e *pick) children() []Expr { return []Expr{e.n, e.input} }

func (e *pick) Eval(ctx *Context) (bsonx.Value, error) {
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
	return e.of(v.Doc(), n), nil
}

// pickCount checks the argument n: countOf, but what no int64 can hold has an error of its own.
func pickCount(v bsonx.Value) (int64, error) {
	if err := checkLong(v); err != nil {
		return 0, err
	}
	n, err := countOf(v)
	return int64(n), err
}

// checkLong refuses a number that no int64 can hold, also when it is truncated; infinities and NaN are such.
func checkLong(v bsonx.Value) error {
	if v.Type != bsonx.TypeDouble && v.Type != bsonx.TypeDecimal128 {
		return nil
	}
	if f, ok := v.AsFloat64(); ok && f < 1<<63 && f >= -1<<63 {
		return nil
	}
	return mongoerr.New(31109, "Can't coerce out of range value %s to long", numeric.Format(v))
}

func parsePick(p *parser, def *definition, arg bsonx.Value, vars *Vars) (Expr, error) {
	input, n, err := nArguments(def.name, arg)
	if err != nil {
		return nil, err
	}
	e := &pick{}
	switch def.name {
	case "$firstN":
		e.of = func(array bsonx.Doc, n int64) bsonx.Value { return subArray(array, 0, int(n)) }
	case "$lastN":
		e.of = func(array bsonx.Doc, n int64) bsonx.Value {
			length := array.Len()
			return subArray(array, max(0, length-int(n)), length)
		}
	case "$minN":
		e.of = minN(vars.Collation())
	default:
		e.of = maxN(vars.Collation())
	}
	if e.n, err = p.operand(n, vars.unoptimized()); err != nil {
		return nil, err
	}
	e.input, err = p.operand(input, vars.unoptimized())
	return e, err
}

func minN(c *collation.Collator) func(array bsonx.Doc, n int64) bsonx.Value {
	return func(array bsonx.Doc, n int64) bsonx.Value { return best(array, n, c.CompareValues) }
}

func maxN(c *collation.Collator) func(array bsonx.Doc, n int64) bsonx.Value {
	return func(array bsonx.Doc, n int64) bsonx.Value { return best(array, n, directed(c.CompareValues, true)) }
}

// best returns the first n in an order. Of equal values the earliest stay, and the latest of them comes first.
func best(array bsonx.Doc, n int64, cmp func(a, b bsonx.Value) int) bsonx.Value {
	values := slices.DeleteFunc(array.Values(), nullish)
	keep := int(min(n, int64(len(values))))
	top := make([]bsonx.Value, 0, keep)
	for _, v := range values {
		if len(top) == keep {
			if keep == 0 || cmp(v, top[keep-1]) >= 0 {
				continue
			}
			top = top[:keep-1]
		}
		at, _ := slices.BinarySearchFunc(top, v, cmp)
		top = slices.Insert(top, at, v)
	}
	return arrayOf(top)
}
