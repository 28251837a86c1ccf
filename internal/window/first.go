package window

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

func firstFunctions() []definition {
	return []definition{
		{Name: "$first", Parse: parseFirst, OwnParser: true},
		{Name: "$last", Parse: parseLast, OwnParser: true},
	}
}

func parseFirst(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	return def.ofEnd(spec, order, vars, false)
}

func parseLast(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	return def.ofEnd(spec, order, vars, true)
}

// ofEnd compiles $first or, if last is true, $last.
func (d *definition) ofEnd(spec bsonx.Doc, order *Order, vars *expr.Vars, last bool) (*Function, error) {
	acc, bounds, err := d.boundedAccumulation(spec, order, vars)
	if err != nil {
		return nil, err
	}
	return slidingFunction(bounds, acc.Arg, nil, order, func(*expr.Context) (state, error) {
		if bounds.lower.unbounded {
			return &endState{last: last}, nil
		}
		return &slidingEnd{last: last}, nil
	}).endsOnly(), nil
}

// endState is $first or $last in a window that begins with the partition.
type endState struct {
	last, seen bool
	value      bsonx.Value
}

func (s *endState) add(e entry) error {
	if s.last || !s.seen {
		s.seen = true
		s.value = bsonx.Value{Type: e.value.Type, Data: append(s.value.Data[:0], e.value.Data...)}
	}
	return nil
}

func (s *endState) remove(entry) error { return nil }

func (s *endState) result() (bsonx.Value, error) {
	if !s.seen {
		return bsonx.Null, nil
	}
	return s.value.Clone(), nil
}

func (s *endState) bytes() int { return 32 + cap(s.value.Data) }

// slidingEnd is $first or $last in other windows.
type slidingEnd struct {
	valueQueue
	last bool
}

func (s *slidingEnd) result() (bsonx.Value, error) {
	switch {
	case len(s.values) == 0:
		return bsonx.Null, nil
	case s.last:
		return s.values[len(s.values)-1], nil
	}
	return s.values[0], nil
}
