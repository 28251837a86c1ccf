package expr

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// bucket is the _id of $bucket: the largest boundary that is not larger than the input.
type bucket struct {
	input      Expr
	boundaries []bsonx.Value // in ascending order
	otherwise  Expr          // nil without a default
	collation  *collation.Collator
	bytes      int // the total size of the boundaries
}

// Bucket returns an expression that finds the interval of input among at least two ascending
// boundaries. Its value is the lower boundary of the interval. For an input outside of all
// intervals it is otherwise, or an error if otherwise is nil.
func Bucket(input Expr, boundaries []bsonx.Value, otherwise Expr, vars *Vars) Expr {
	b := &bucket{input, boundaries, otherwise, vars.Collation(), TotalBytes(boundaries)}
	c, ok := input.(*Const)
	if !ok {
		return b
	}
	switch at := b.find(c.Value); {
	case at >= 0:
		return &Const{boundaries[at]}
	case otherwise != nil:
		return otherwise
	}
	vars.Failures().Add(errAllFalse())
	return b
}

// find returns the position of the lower boundary of v's interval, or -1.
func (b *bucket) find(v bsonx.Value) int {
	at, found := slices.BinarySearchFunc(b.boundaries, v, func(boundary, v bsonx.Value) int {
		return Compare(b.collation, boundary, v)
	})
	if !found {
		at--
	}
	if at == len(b.boundaries)-1 {
		return -1
	}
	return at
}

func (b *bucket) Eval(ctx *Context) (bsonx.Value, error) {
	v, err := b.input.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	at := b.find(v)
	if err := b.collation.EndedIn(b.bytes + len(v.Data)); err != nil {
		return bsonx.Missing, err
	}
	if at >= 0 {
		return b.boundaries[at], nil
	}
	if b.otherwise == nil {
		return bsonx.Missing, errNoBranch()
	}
	return b.otherwise.Eval(ctx)
}

func (b *bucket) Children() []Expr {
	if b.otherwise == nil {
		return []Expr{b.input}
	}
	return []Expr{b.input, b.otherwise}
}

// Total reports whether every input has a value, which needs a default.
func (b *bucket) Total() bool { return b.otherwise != nil }

func errNoBranch() error {
	return mongoerr.New(40066, "$switch could not find a matching branch for an input, and no default was specified.")
}

func errAllFalse() error {
	return mongoerr.New(40069, "One cannot execute a switch statement where all the cases evaluate to false without a default.")
}
