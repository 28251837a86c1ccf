package canonical

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
)

// addComparisons adds the comparisons of a field with a constant in an $expr: the expression
// itself, or operands of its conjunctions. whole is false for the operands of a conjunction.
func (c *Conjunction) addComparisons(e expr.Expr, conjunct filter.Node, whole bool) {
	switch e := e.(type) {
	case *expr.And:
		for _, operand := range e.Args {
			c.addComparisons(operand, conjunct, false)
		}
	case *expr.Comparison:
		path, op, v, ok := comparisonOf(e)
		if !ok || bounds.HasNumber(path) {
			return
		}
		c.addPredicate(Predicate{
			Node: filter.NewCompare(path, op, v, nil), Conjunct: conjunct, Path: path, Expression: true, part: !whole,
		})
	}
}

// comparisonOf reads a comparison of a field with a constant, in either order. ok is false for
// other comparisons.
func comparisonOf(e *expr.Comparison) (path string, op filter.CompareOp, v bsonx.Value, ok bool) {
	op, ok = comparisonOps[e.Op]
	if !ok {
		return "", op, v, false
	}
	path, ok = expr.FieldPath(e.Left)
	other := e.Right
	if !ok {
		path, ok = expr.FieldPath(e.Right)
		other = e.Left
		op = mirrored[op]
	}
	if !ok {
		return "", op, v, false
	}
	v, ok = expr.ConstValue(other)
	return path, op, v, ok && isPlain(v)
}

var comparisonOps = map[expr.CompareOp]filter.CompareOp{
	expr.Eq: filter.Eq, expr.Gt: filter.Gt, expr.Gte: filter.Gte, expr.Lt: filter.Lt, expr.Lte: filter.Lte,
}

// mirrored maps each comparison to the one with exchanged operands.
var mirrored = map[filter.CompareOp]filter.CompareOp{
	filter.Eq: filter.Eq, filter.Gt: filter.Lt, filter.Gte: filter.Lte, filter.Lt: filter.Gt, filter.Lte: filter.Gte,
}

// isPlain reports whether an index holds a value as expressions see it. The value must also have
// the same order relative to a missing field, for which the index holds null.
func isPlain(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeMissing, bsonx.TypeUndefined, bsonx.TypeNull, bsonx.TypeMinKey, bsonx.TypeMaxKey, bsonx.TypeArray:
		return false
	default:
		return true
	}
}

// expressionBounds returns the bounds that a comparison of an $expr gives to a field. An expression
// sees an array as one value, so the field must never have been an array. Comparisons of
// expressions are not restricted to one type.
func (p *Predicate) expressionBounds(x *indexinfo.Index, field int, c *collation.Collator) *Bounds {
	b := &Bounds{made: true}
	n, _ := p.Node.(*filter.Compare)
	mismatch := !x.Collation.Same(c)
	switch {
	case x.Bits(field) != 0 || x.Wild != nil || x.JoinsValues() || mismatch && collation.Concerns(n.Value):
		return b
	case x.Fields[field].Kind.Definition().Image != nil:
		return p.imageBounds(x, field, c)
	case x.Fields[field].Kind != index.Ordered:
		return b
	}
	v, err := c.Fold(n.Value, nil)
	if err != nil {
		return b // the value is too large for bounds
	}
	ctx := bounds.Context{Room: b.room[:0]}
	b.Intervals, b.Ok = ctx.RangeBounds(n.Op, v, bounds.All[0]), true
	if p.part {
		b.Tight = bounds.InexactFetch
	}
	b.Points = b.Intervals.IsPoints()
	return b
}

// ImpliesPresence reports whether every matching document has the field. In an expression, a
// missing field is less than any value.
func (p *Predicate) ImpliesPresence() bool {
	if n, ok := p.Node.(*filter.Compare); ok && p.Expression {
		return n.Op != filter.Lt && n.Op != filter.Lte
	}
	return bounds.ImpliesPresence(p.Node)
}
