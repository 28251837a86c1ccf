package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// addToSetOp is $addToSet: it appends the values that are not equal to an element.
type addToSetOp struct {
	creates
	values  []bsonx.Value // the values to add, without duplicates
	compare func(a, b bsonx.Value) int
}

// parseAddToSet compiles a value, or a document whose first field is $each.
func parseAddToSet(p *parser, _ string, arg bsonx.Value) (operator, error) {
	op := &addToSetOp{compare: p.opts.compare()}
	if arg.Type != bsonx.TypeDocument || string(arg.Doc().First().Key) != "$each" {
		op.values = []bsonx.Value{arg}
		return op, nil
	}
	each := arg.Doc().First().Value
	if each.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"The argument to $each in $addToSet must be an array but it was of type %s", each.Type)
	}
	if arg.Doc().Len() > 1 {
		return nil, mongoerr.New(mongoerr.BadValue, "Found unexpected fields after $each in $addToSet: %s", shell(arg))
	}
	var err error
	op.values, err = newValues(nil, each.Doc().Values(), op.compare, &p.meter, p.opts.Running)
	return op, err
}

// newValues returns the candidates that are equal neither to an element nor to an earlier
// candidate.
func newValues(
	elems, candidates []bsonx.Value, compare func(a, b bsonx.Value) int, m *interrupt.Meter, r *interrupt.Running,
) ([]bsonx.Value, error) {
	var out []bsonx.Value
	for _, c := range candidates {
		if err := m.Did(compareWork*(len(elems)+len(out)), r); err != nil {
			return nil, err
		}
		if !contains(elems, c, compare) && !contains(out, c, compare) {
			out = append(out, c)
		}
	}
	return out, nil
}

// compareWork is the work of comparing two values, in the units of interrupt.Meter.
const compareWork = interrupt.Step / 4

func contains(values []bsonx.Value, v bsonx.Value, compare func(a, b bsonx.Value) int) bool {
	for _, e := range values {
		if e.Type.Class() == v.Type.Class() && compare(e, v) == 0 {
			return true
		}
	}
	return false
}

func (op *addToSetOp) existing(a *applier, v bsonx.Value) (change, error) {
	if v.Type != bsonx.TypeArray {
		return change{}, mongoerr.New(mongoerr.BadValue, "Cannot apply $addToSet to non-array field. Field named '%s' has non-array type %s",
			a.path[len(a.path)-1], v.Type)
	}
	elems := v.Doc().Values()
	added, err := newValues(elems, op.values, op.compare, &a.meter, a.env.Running)
	if err != nil || len(added) == 0 {
		return change{}, err
	}
	return change{kind: changeAppend, elems: appendElems(len(elems), added)}, nil
}

func (op *addToSetOp) missing(*applier) (bsonx.Value, bool, error) {
	return arrayOf(op.values), true, nil
}
