package window

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func integralFunctions() []definition {
	return []definition{
		{Name: "$integral", Parse: parseIntegral, Form: argumentsForm("input", "=unit")},
	}
}

func parseIntegral(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
	return def.overUnit(spec, order, vars, func(unit int64) state { return &integral{unit: unit} })
}

// integral is $integral: the area under the polyline through the documents of the window.
type integral struct {
	unit       int64
	queue      []entry
	sum        slidingSum
	notNumbers int // the number of entries in the window that contain NaN
}

func (g *integral) add(e entry) error {
	dated := e.key.Type == bsonx.TypeDate
	switch {
	case !dated && !e.key.Type.IsNumber() || !e.value.Type.IsNumber():
		return mongoerr.New(5423900, "The input value of $integral window function must be a vector of 2 value, "+
			"the first value must be numeric or date type and the second must be numeric.")
	case g.unit != 0 && !dated:
		return mongoerr.New(5423901, "$integral with 'unit' expects the sortBy field to be a Date")
	case g.unit == 0 && dated:
		return mongoerr.New(5423902, "$integral (with no 'unit') expects the sortBy field to be numeric")
	}
	if isNaN(e) {
		g.notNumbers++
	}
	g.queue = append(g.queue, e.clone())
	return g.change(len(g.queue)-2, 1)
}

func isNaN(e entry) bool {
	key, _ := e.key.AsFloat64()
	value, _ := e.value.AsFloat64()
	return math.IsNaN(key) || math.IsNaN(value)
}

func (g *integral) remove(entry) error {
	err := g.change(0, -1)
	if isNaN(g.queue[0]) {
		g.notNumbers--
	}
	g.queue = g.queue[1:]
	return err
}

// change adds (quantity 1) or subtracts (quantity -1) the area between entry i and the next one. It
// does nothing if one of them is outside of the window.
func (g *integral) change(i, quantity int) error {
	if i < 0 || i+1 >= len(g.queue) {
		return nil
	}
	a, b := g.queue[i], g.queue[i+1]
	dx, err := subtractValues(b.key, a.key)
	if err != nil {
		return err
	}
	y, err := numeric.Add(a.value, b.value)
	if err != nil {
		return err
	}
	area, err := numeric.Multiply(dx, y)
	if err != nil {
		return err
	}
	if area, err = numeric.Divide(area, bsonx.Double(2)); err != nil {
		return err
	}
	g.sum.update(area, quantity)
	return nil
}

func (g *integral) result() (bsonx.Value, error) {
	if len(g.queue) == 0 {
		return bsonx.Null, nil
	}
	if g.notNumbers > 0 {
		return bsonx.Double(math.NaN()), nil
	}
	v, err := g.sum.result()
	if err != nil || g.unit == 0 {
		return v, err
	}
	return numeric.Divide(v, bsonx.Int64(g.unit))
}

func (g *integral) bytes() int { return entryBytes * len(g.queue) }
