package update

import (
	"math"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// pushOp is $push.
type pushOp struct {
	creates
	values   []bsonx.Value
	position int64 // math.MaxInt64 means the end; a negative number counts from the end
	slice    int64
	hasSlice bool
	sort     *arraySort // nil without $sort
}

// parsePush compiles $push. The argument is a value, or a document of modifiers if it contains
// $each.
func parsePush(p *parser, _ string, arg bsonx.Value) (operator, error) {
	op := &pushOp{position: math.MaxInt64}
	if arg.Type != bsonx.TypeDocument || arg.Doc().Lookup("$each").IsMissing() {
		op.values = []bsonx.Value{arg}
		return op, nil
	}
	for it := arg.Doc().Iter(); it.Next(); {
		if err := op.clause(p, string(it.Key()), it.Value()); err != nil {
			return nil, err
		}
	}
	return op, nil
}

func (op *pushOp) clause(p *parser, name string, v bsonx.Value) (err error) {
	switch name {
	case "$each":
		if v.Type != bsonx.TypeArray {
			return mongoerr.New(mongoerr.BadValue, "The argument to $each in $push must be an array but it was of type: %s", v.Type)
		}
		op.values = v.Doc().Values()
	case "$slice":
		op.slice, err = pushInteger("$slice", v)
		op.hasSlice = true
	case "$position":
		op.position, err = pushInteger("$position", v)
	case "$sort":
		op.sort, err = parseArraySort(v, p.opts.compare())
	default:
		return mongoerr.New(mongoerr.BadValue, "Unrecognized clause in $push: %s", name)
	}
	return err
}

func pushInteger(name string, v bsonx.Value) (int64, error) {
	if v.Type.IsNumber() {
		if i, ok := v.AsExactInt64(); ok {
			return i, nil
		}
	}
	if name == "$slice" {
		return 0, mongoerr.New(mongoerr.BadValue, "The value for $slice must be an integer value but was given type: %s", v.Type)
	}
	return 0, mongoerr.New(mongoerr.BadValue, "The value for %s must be an integer value, not of type: %s", name, v.Type)
}

func (op *pushOp) existing(a *applier, v bsonx.Value) (change, error) {
	if v.Type != bsonx.TypeArray {
		return change{}, mongoerr.New(mongoerr.BadValue, "The field '%s' must be an array but is of type %s in document %s",
			strings.Join(a.path, "."), v.Type, idText(a.doc))
	}
	if op.appendsOnly() {
		if len(op.values) == 0 {
			return change{}, nil
		}
		return change{kind: changeAppend, elems: appendElems(v.Doc().Len(), op.values)}, nil
	}
	values, changed, err := op.push(a, v.Doc().Values())
	if err != nil || !changed {
		return change{}, err
	}
	if err := a.did(len(v.Data)); err != nil {
		return change{}, err
	}
	return set(arrayOf(values)), nil
}

func (op *pushOp) missing(a *applier) (bsonx.Value, bool, error) {
	values, _, err := op.push(a, nil)
	return arrayOf(values), err == nil, err
}

func (op *pushOp) appendsOnly() bool {
	return op.position == math.MaxInt64 && !op.hasSlice && op.sort == nil
}

// push inserts the new values, then sorts, then slices, whatever the order of the modifiers. It
// returns the new array and whether the array changed. A sort counts as a change even if the order
// stays the same, unless the array is empty.
func (op *pushOp) push(a *applier, values []bsonx.Value) ([]bsonx.Value, bool, error) {
	at := op.position
	if at < 0 {
		at = max(int64(len(values))+at, 0)
	}
	at = min(at, int64(len(values)))
	out := make([]bsonx.Value, 0, len(values)+len(op.values))
	out = append(out, values[:at]...)
	out = append(out, op.values...)
	out = append(out, values[at:]...)
	changed := len(op.values) > 0
	if op.sort != nil {
		if err := op.sort.sort(a, out); err != nil {
			return nil, false, err
		}
		changed = changed || len(out) > 0
	}
	if op.hasSlice {
		n := int64(len(out))
		switch {
		case op.slice >= 0 && op.slice < n:
			out, changed = out[:op.slice], true
		case op.slice < 0 && -n < op.slice:
			out, changed = out[n+op.slice:], true
		}
	}
	return out, changed, nil
}

// direction parses a sort order: 1 or -1.
func direction(v bsonx.Value) (int, bool) {
	if !v.Type.IsNumber() {
		return 0, false
	}
	if bsonx.CompareValues(v, bsonx.Int32(1)) == 0 {
		return 1, true
	}
	return -1, bsonx.CompareValues(v, bsonx.Int32(-1)) == 0 && !numeric.IsNaN(v)
}
