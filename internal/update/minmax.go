package update

import "github.com/sheafdb/sheaf/internal/bsonx"

// extremeOp is $min or $max. Values of different types compare in MongoDB's sort order.
type extremeOp struct {
	creates
	value   bsonx.Value
	sign    int // -1 keeps the smaller value, 1 the greater one
	compare func(a, b bsonx.Value) int
}

func parseMin(p *parser, _ string, arg bsonx.Value) (operator, error) {
	return &extremeOp{value: arg, sign: -1, compare: p.opts.compare()}, nil
}

func parseMax(p *parser, _ string, arg bsonx.Value) (operator, error) {
	return &extremeOp{value: arg, sign: 1, compare: p.opts.compare()}, nil
}

func (op *extremeOp) existing(_ *applier, v bsonx.Value) (change, error) {
	if op.compare(op.value, v)*op.sign <= 0 {
		return change{}, nil
	}
	return set(op.value), nil
}

func (op *extremeOp) missing(*applier) (bsonx.Value, bool, error) { return op.value, true, nil }
