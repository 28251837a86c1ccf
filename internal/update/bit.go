package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// bitOp is $bit: a sequence of bit operations.
type bitOp struct {
	creates
	ops []bitStep
}

type bitStep struct {
	op      numeric.BitOp
	operand bsonx.Value
}

func parseBit(_ *parser, _ string, arg bsonx.Value) (operator, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "The $bit modifier is not compatible with a %s. "+
			"You must pass in an embedded document: {$bit: {field: {and/or/xor: #}}", arg.Type)
	}
	op := &bitOp{}
	for it := arg.Doc().Iter(); it.Next(); {
		step := bitStep{operand: it.Value()}
		switch string(it.Key()) {
		case "and":
			step.op = numeric.And
		case "or":
			step.op = numeric.Or
		case "xor":
			step.op = numeric.Xor
		default:
			return nil, mongoerr.New(mongoerr.BadValue,
				"The $bit modifier only supports 'and', 'or', and 'xor', not '%s' which is an unknown operator: {%s: %s}",
				it.Key(), it.Key(), shell(it.Value()))
		}
		if t := step.operand.Type; t != bsonx.TypeInt32 && t != bsonx.TypeInt64 {
			return nil, mongoerr.New(mongoerr.BadValue,
				"The $bit modifier field must be an Integer(32/64 bit); a '%s' is not supported here: {%s: %s}",
				t, it.Key(), shell(step.operand))
		}
		op.ops = append(op.ops, step)
	}
	if len(op.ops) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue,
			"You must pass in at least one bitwise operation. The format is: {$bit: {field: {and/or/xor: #}}")
	}
	return op, nil
}

func (op *bitOp) existing(a *applier, v bsonx.Value) (change, error) {
	if v.Type != bsonx.TypeInt32 && v.Type != bsonx.TypeInt64 {
		return change{}, mongoerr.New(mongoerr.BadValue,
			"Cannot apply $bit to a value of non-integral type.%s has the field %s of non-integer type %s",
			idElem(a.doc), a.path[len(a.path)-1], v.Type)
	}
	out, err := op.compute(v)
	if err != nil || out.Identical(v) {
		return change{}, err
	}
	return set(out), nil
}

// missing returns the result of the operations on 0.
func (op *bitOp) missing(*applier) (bsonx.Value, bool, error) {
	v, err := op.compute(bsonx.Int32(0))
	return v, true, err
}

func (op *bitOp) compute(v bsonx.Value) (bsonx.Value, error) {
	for _, s := range op.ops {
		var err error
		if v, err = numeric.Bit(s.op, v, s.operand); err != nil {
			return bsonx.Value{}, err
		}
	}
	return v, nil
}
