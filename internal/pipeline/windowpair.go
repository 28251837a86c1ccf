package pipeline

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

// covariance is $covariancePop and $covarianceSamp by the incremental method, over values that are pairs of numbers. A pair
// with one that is not finite is not counted: it makes an infinity or NaN of the sum where there are enough others.
type covariance struct {
	sample  bool
	x, y    slidingAvg
	sum     slidingSum // of products of deviations
	strange slidingSum // of the numbers of the pairs that are not counted
	count   int64
	failed  error
}

func parseCovariance(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	var e expr.Expr
	bounds, err := bounded(name, spec, order, func(arg bsonx.Value) (err error) {
		e, err = expr.Parse(arg, vars)
		return err
	})
	if err != nil {
		return nil, err
	}
	return slidingFunction(bounds, e, nil, order, func(*expr.Context) (windowState, error) {
		return &covariance{sample: name == "$covarianceSamp"}, nil
	}), nil
}

// pair returns the two numbers of a value, and whether they are finite.
func (c *covariance) pair(v bsonx.Value) (x, y bsonx.Value, finite, ok bool) {
	if v.Type != bsonx.TypeArray || v.Doc().Len() != 2 {
		return x, y, false, false
	}
	x, y = v.Doc().Index(0), v.Doc().Index(1)
	if !x.Type.IsNumber() || !y.Type.IsNumber() {
		return x, y, false, false
	}
	return x, y, numeric.IsFinite(x) && numeric.IsFinite(y), true
}

func (c *covariance) add(e windowEntry) error {
	x, y, finite, ok := c.pair(e.value)
	if !ok {
		return nil
	}
	if !finite {
		c.special(x, 1)
		c.special(y, 1)
		return nil
	}
	dx := c.deviation(x, &c.x)
	c.x.change(x, 1)
	c.y.change(y, 1)
	if c.count++; c.count > 1 { // the first deviates by nothing, nor has the sum its type
		c.sum.update(c.product(dx, c.deviation(y, &c.y)), 1)
	}
	return c.failed
}

func (c *covariance) remove(e windowEntry) error {
	x, y, finite, ok := c.pair(e.value)
	if !ok {
		return nil
	}
	if !finite {
		c.special(x, -1)
		c.special(y, -1)
		return nil
	}
	if c.count == 1 {
		*c = covariance{sample: c.sample, strange: c.strange}
		return nil
	}
	c.x.change(x, -1)
	c.sum.update(c.product(c.deviation(x, &c.x), c.deviation(y, &c.y)), -1)
	c.y.change(y, -1)
	c.count--
	return c.failed
}

// special notes a number of a pair that is not finite. A NaN makes no decimal of the sum.
func (c *covariance) special(v bsonx.Value, quantity int) {
	if numeric.IsNaN(v) {
		v = bsonx.Double(math.NaN())
	}
	c.strange.update(v, quantity)
}

// deviation returns how far a number is from a mean, which is 0 at first.
func (c *covariance) deviation(v bsonx.Value, mean *slidingAvg) bsonx.Value {
	if mean.count == 0 {
		return v
	}
	m, err := mean.result()
	if err == nil {
		v, err = numeric.Subtract(v, m)
	}
	c.fail(err)
	return v
}

func (c *covariance) product(a, b bsonx.Value) bsonx.Value {
	v, err := numeric.Multiply(a, b)
	c.fail(err)
	return v
}

func (c *covariance) fail(err error) {
	if c.failed == nil {
		c.failed = err
	}
}

func (c *covariance) result() (bsonx.Value, error) {
	n := c.count
	if c.sample {
		n--
	}
	switch {
	case n <= 0:
		return bsonx.Null, nil
	case c.count == 1:
		return bsonx.Double(0), nil
	}
	total := &c.sum
	if _, ok := c.strange.special(); ok {
		total = &slidingSum{}
		*total = c.strange
		total.decimals += c.sum.decimals
	}
	sum, err := total.result()
	if err != nil {
		return bsonx.Missing, err
	}
	return numeric.Divide(sum, bsonx.Double(float64(n)))
}

func (c *covariance) bytes() int { return 0 }

// parseSlope compiles $derivative and $integral: {input, unit} over a window, which $derivative must have.
func parseSlope(name string, spec bsonx.Doc, order *windowSort, vars *expr.Vars) (*windowFunction, error) {
	arg, window, err := windowArguments(name, spec)
	if err != nil {
		return nil, err
	}
	switch {
	case order.fields == 0:
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires a sortBy", name)
	case !order.single():
		return nil, mongoerr.New(mongoerr.FailedToParse, "%s requires a non-compound sortBy", name)
	}
	bounds := wholePartition()
	if !window.IsMissing() {
		if bounds, err = parseWindowBounds(window, order); err != nil {
			return nil, err
		}
	}
	input, unit, err := parseSlopeArgument(name, arg, vars)
	if err != nil {
		return nil, err
	}
	if name == "$derivative" && window.IsMissing() {
		return nil, mongoerr.New(mongoerr.FailedToParse, "$derivative requires explicit window bounds")
	}
	open := func(*expr.Context) (windowState, error) {
		if name == "$integral" {
			return &integral{unit: unit}, nil
		}
		return &derivative{unit: unit}, nil
	}
	return slidingFunction(bounds, input, order.by, order, open), nil
}

// parseSlopeArgument returns the input and the unit in milliseconds, 0 where none is given.
func parseSlopeArgument(name string, arg bsonx.Value, vars *expr.Vars) (expr.Expr, int64, error) {
	if arg.Type != bsonx.TypeDocument {
		return nil, 0, mongoerr.New(mongoerr.FailedToParse, "%s expects an object, but got a %s: %s: %s", name, arg.Type, name, bsonx.FormatShell(arg))
	}
	var input expr.Expr
	var unit timeUnit
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
			if unit, err = parseTimeUnit(v.Str()); err == nil && unit.months > 0 {
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

// subtractValues subtracts numbers, or dates, whose difference is in milliseconds.
func subtractValues(a, b bsonx.Value) (bsonx.Value, error) {
	if a.Type == bsonx.TypeDate && b.Type == bsonx.TypeDate {
		return bsonx.Int64(a.Int64() - b.Int64()), nil
	}
	if !a.Type.IsNumber() || !b.Type.IsNumber() {
		return bsonx.Missing, mongoerr.New(mongoerr.TypeMismatch, "can't $subtract %s from %s", b.Type, a.Type)
	}
	return numeric.Subtract(a, b)
}

func (e windowEntry) clone() windowEntry { return windowEntry{e.value.Clone(), e.key.Clone()} }

// derivative is the slope between the first and the last document of a window.
type derivative struct {
	unit  int64
	queue []windowEntry // of windows whose documents leave, else the first entry only
	last  windowEntry
	count int
}

func (d *derivative) add(e windowEntry) error {
	d.queue = append(d.queue, e.clone())
	d.last = d.queue[len(d.queue)-1]
	d.count++
	return nil
}

func (d *derivative) remove(windowEntry) error {
	d.queue = d.queue[1:]
	return nil
}

func (d *derivative) check(e windowEntry) error {
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
	for _, e := range []windowEntry{first, last} {
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

func (d *derivative) bytes() int { return windowEntryBytes * len(d.queue) }

// integral is the area under the line through the documents of a window.
type integral struct {
	unit       int64
	queue      []windowEntry
	sum        slidingSum
	notNumbers int // how many entries in the window have a NaN
}

func (g *integral) add(e windowEntry) error {
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

func isNaN(e windowEntry) bool {
	key, _ := e.key.AsFloat64()
	value, _ := e.value.AsFloat64()
	return math.IsNaN(key) || math.IsNaN(value)
}

func (g *integral) remove(windowEntry) error {
	err := g.change(0, -1)
	if isNaN(g.queue[0]) {
		g.notNumbers--
	}
	g.queue = g.queue[1:]
	return err
}

// change adds or takes away the area between an entry and the following one, where both are there.
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

func (g *integral) bytes() int { return windowEntryBytes * len(g.queue) }
