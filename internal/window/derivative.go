package window

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func derivativeFunctions() []definition {
	return []definition{
		{Name: "$derivative", Parse: parseDerivative, Form: argumentsForm("input", "=unit")},
	}
}

func parseDerivative(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	f, err := def.overUnit(spec, order, vars, func(unit int64) state { return &derivative{unit: unit} })
	if err == nil && spec.Lookup("window").IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$derivative requires explicit window bounds")
	}
	return f, err
}

// overUnit compiles $derivative or $integral, whose argument is {input, unit}. open returns the
// state of the function for a unit in milliseconds, or for 0 if there is no unit.
func (d *definition) overUnit(spec bsonx.Doc, order *Order, vars *expr.Vars,
	open func(unit int64) state,
) (*Function, error) {
	name := d.Name
	arg, window, err := d.arguments(spec)
	if err != nil {
		return nil, err
	}
	switch {
	case order.Fields == 0:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires a sortBy", name)
	case !order.single():
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires a non-compound sortBy", name)
	}
	bounds := wholePartition()
	if !window.IsMissing() {
		if bounds, err = parseFrame(window, order); err != nil {
			return nil, err
		}
	}
	input, unit, err := parseSlopeArgument(name, arg, vars)
	if err != nil {
		return nil, err
	}
	return slidingFunction(bounds, input, order.By, order,
		func(*expr.Context) (state, error) { return open(unit), nil }), nil
}

// parseSlopeArgument returns the compiled input, and the unit in milliseconds or 0 if absent.
func parseSlopeArgument(name string, arg bsonx.Value, vars *expr.Vars) (expr.Expr, int64, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, 0, mongoerr.New(mongoerr.FailedToParse, "%s expects an object, but got a %s: %s: %s", name,
			arg.Type, name, bsonx.FormatShell(arg))
	}
	var input expr.Expr
	var unit TimeUnit
	for it := arg.Doc().Iter(); it.Next(); {
		var err error
		v := it.Value()
		switch string(it.Key()) {
		case "input":
			input, err = expr.Parse(v, vars)
		case "unit":
			if v.Type != bsonx.TypeString {
				return nil, 0, mongoerr.New(mongoerr.FailedToParse, "unit' must be a string, but got %s", v.Type)
			}
			if unit, err = ParseTimeUnit(v.Str()); err == nil && unit.months > 0 {
				err = mongoerr.New(5490710, "unit must be 'week' or smaller")
			}
		default:
			err = mongoerr.New(mongoerr.FailedToParse, "%s got unexpected argument: %s", name, it.Key())
		}
		if err != nil {
			return nil, 0, err
		}
	}
	if input == nil {
		return nil, 0, mongoerr.New(mongoerr.FailedToParse, "%s requires an 'input' expression", name)
	}
	return input, unit.millis, nil
}

// subtractValues returns a - b for two numbers. For two dates it returns the difference in
// milliseconds.
func subtractValues(a, b bsonx.Value) (bsonx.Value, error) {
	if a.Type == bsonx.TypeDate && b.Type == bsonx.TypeDate {
		return bsonx.Int64(a.Int64() - b.Int64()), nil
	}
	if !a.Type.IsNumber() || !b.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from %s", b.Type, a.Type)
	}
	return numeric.Subtract(a, b)
}

// derivative is $derivative: the slope between the first and the last document of the window.
type derivative struct {
	unit int64
	// queue contains the entries of the window, in document order.
	queue []entry
	last  entry
	count int
}

func (d *derivative) add(e entry) error {
	d.queue = append(d.queue, e.clone())
	d.last = d.queue[len(d.queue)-1]
	d.count++
	return nil
}

func (d *derivative) remove(entry) error {
	d.queue = d.queue[1:]
	return nil
}

func (d *derivative) check(e entry) error {
	switch {
	case d.unit != 0 && e.key.Type != bsonx.TypeDate:
		return mongoerr.New(5624900, "$derivative with 'unit' expects the sortBy field to be a Date")
	case d.unit == 0 && e.key.Type == bsonx.TypeDate:
		return mongoerr.New(5624901, "$derivative where the sortBy is a Date requires an 'unit'")
	case d.unit == 0 && !e.key.Type.IsNumber():
		return mongoerr.New(5624902, "$derivative (with no 'unit') expects the sortBy field to be numeric")
	}
	return nil
}

func (d *derivative) result() (bsonx.Value, error) {
	if len(d.queue) == 0 {
		return bsonx.Null, nil
	}
	first, last := d.queue[0], d.last
	for _, e := range []entry{first, last} {
		if err := d.check(e); err != nil {
			return bsonx.Missing, err
		}
	}
	if expr.Nullish(first.value) || expr.Nullish(last.value) {
		return bsonx.Missing, mongoerr.New(5624903, "$derivative input must not be null or missing")
	}
	dx, err := subtractValues(last.key, first.key)
	if err != nil {
		return bsonx.Missing, err
	}
	dy, err := subtractValues(last.value, first.value)
	if err != nil || numeric.IsZero(dx) {
		return bsonx.Null, err
	}
	slope, err := numeric.Divide(dy, dx)
	if err != nil || d.unit == 0 {
		return slope, err
	}
	return numeric.Multiply(slope, bsonx.Int64(d.unit))
}

func (d *derivative) bytes() int { return entryBytes * len(d.queue) }
