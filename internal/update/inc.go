package update

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// arithmeticOp is $inc or $mul.
type arithmeticOp struct {
	creates
	name  string
	value bsonx.Value
	// initial is the value for a missing field.
	initial bsonx.Value
	compute func(a, b bsonx.Value) (bsonx.Value, error)
}

func parseInc(_ *parser, path string, arg bsonx.Value) (operator, error) {
	if !arg.Type.IsNumber() {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"Cannot increment with non-numeric argument: {%s: %s}", path, shell(arg))
	}
	return &arithmeticOp{name: "$inc", value: arg, initial: arg, compute: numeric.Inc}, nil
}

func (op *arithmeticOp) existing(a *applier, v bsonx.Value) (change, error) {
	if !v.Type.IsNumber() {
		return change{}, mongoerr.New(mongoerr.TypeMismatch,
			"Cannot apply %s to a value of non-numeric type. %s has the field '%s' of non-numeric type %s",
			op.name, idText(a.doc), a.path[len(a.path)-1], v.Type)
	}
	if op.name == "$inc" && v.Type == bsonx.TypeInt32 && op.value.Type == bsonx.TypeInt32 {
		// Incrementing an int32 is the most frequent case. It needs no allocation.
		if sum := int64(v.Int32()) + int64(op.value.Int32()); sum >= math.MinInt32 && sum <= math.MaxInt32 {
			return a.setInt32(v.Int32(), int32(sum)), nil
		}
	}
	out, err := op.compute(v, op.value)
	if err != nil {
		var user *mongoerr.Error
		if errors.As(err, &user) && user.Code == mongoerr.BadValue {
			return change{}, mongoerr.New(user.Code, "%s for document %s", user.Message, idText(a.doc))
		}
		return change{}, err
	}
	if numeric.Identical(v, out) {
		return change{}, nil
	}
	return set(out), nil
}

func (op *arithmeticOp) missing(*applier) (bsonx.Value, bool, error) { return op.initial, true, nil }

// setInt32 returns a change from one int32 to another. The value is in the applier's buffer.
func (a *applier) setInt32(from, to int32) change {
	if from == to {
		return change{}
	}
	n := len(a.buf)
	a.buf = binary.LittleEndian.AppendUint32(a.buf, uint32(to))
	return set(bsonx.Value{Type: bsonx.TypeInt32, Data: a.buf[n:len(a.buf):len(a.buf)]})
}
