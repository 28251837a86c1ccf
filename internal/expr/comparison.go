package expr

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// CompareOp is a comparison operator.
type CompareOp int

// The comparison operators, based on the order of $cmp.
const (
	Eq CompareOp = iota
	Ne
	Gt
	Gte
	Lt
	Lte
)

// Comparison is $eq, $ne, $gt, $gte, $lt or $lte. Unlike query predicates, it compares values of
// different types and treats arrays as values. A missing operand sorts below null.
type Comparison struct {
	Op          CompareOp
	Left, Right Expr
	collation   *collation.Collator
	running     *interrupt.Running // signals interrupts of the operation; nil never does
}

// Eval compares the operands. If both fail, it returns the error of the right operand.
func (c *Comparison) Eval(ctx *Context) (bsonx.Value, error) {
	b, err := c.Right.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	a, err := c.Left.Eval(ctx)
	if err != nil {
		return bsonx.Missing, err
	}
	if err := ctx.Read(len(a.Data)+len(b.Data), c.running); err != nil {
		return bsonx.Missing, err
	}
	order := Compare(c.collation, a, b)
	return bsonx.Bool(c.Op.holds(order)), c.collation.Ended(a, b)
}

// Children returns the operands.
func (c *Comparison) Children() []Expr { return []Expr{c.Left, c.Right} }

// Total returns true: the node has a value for all values of its operands.
func (c *Comparison) Total() bool { return true }

func (op CompareOp) holds(c int) bool {
	switch op {
	case Eq:
		return c == 0
	case Ne:
		return c != 0
	case Gt:
		return c > 0
	case Gte:
		return c >= 0
	case Lt:
		return c < 0
	default:
		return c <= 0
	}
}

// Compare compares two values as expressions do. The order is the sort order of documents, except
// that a missing value equals undefined and not null.
func Compare(c *collation.Collator, a, b bsonx.Value) int {
	if a.Type == bsonx.TypeMissing || b.Type == bsonx.TypeMissing {
		return missingRank(a) - missingRank(b)
	}
	return c.CompareValues(a, b)
}

// missingRank places a missing value between MinKey and null. MongoDB's canonical order has EOO in
// this place.
func missingRank(v bsonx.Value) int {
	switch v.Type {
	case bsonx.TypeMinKey:
		return 0
	case bsonx.TypeMissing, bsonx.TypeUndefined:
		return 1
	default:
		return 2
	}
}

func eqDefinition() Definition  { return comparison("$eq", Eq) }
func neDefinition() Definition  { return comparison("$ne", Ne) }
func gtDefinition() Definition  { return comparison("$gt", Gt) }
func gteDefinition() Definition { return comparison("$gte", Gte) }
func ltDefinition() Definition  { return comparison("$lt", Lt) }
func lteDefinition() Definition { return comparison("$lte", Lte) }

func cmpDefinition() Definition {
	return Definition{
		Name: "$cmp", Family: "comparison", Swapped: true, Parse: make2(compareIn),
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
	}
}

// compareIn returns the function of $cmp for the collation of a scope.
func compareIn(vars *Vars) Func2 {
	c := vars.Collation()
	return func(out *bsonx.Arena, a, b bsonx.Value) (bsonx.Value, error) {
		order := Compare(c, a, b)
		return out.Int32(int32(sign(order))), c.Ended(a, b)
	}
}

func comparison(name string, op CompareOp) Definition {
	return Definition{
		Name: name, Family: "comparison", Min: 2, Max: 2,
		Total: feature.Yes, Folds: feature.Yes, Depends: OnOperands, StableAPI: feature.Yes,
		Parse: func(p *Parser, def *Definition, arg bsonx.Value, vars *Vars) (Expr, error) {
			args, err := p.arguments(def, arg, vars)
			if err != nil {
				return nil, err
			}
			return &Comparison{op, args[0], args[1], vars.Collation(), vars.Scripts().Running}, nil
		},
	}
}

func sign(c int) int {
	switch {
	case c < 0:
		return -1
	case c > 0:
		return 1
	}
	return 0
}
