package window

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/numeric"
)

func covarianceFunctions() []definition {
	return []definition{
		{Name: "$covariancePop", Parse: parseCovariance(false)},
		{Name: "$covarianceSamp", Parse: parseCovariance(true)},
	}
}

// covariance is $covariancePop or $covarianceSamp, computed incrementally. Its values are pairs of
// numbers. A pair with an infinity or NaN is kept apart in strange; it makes the result infinite or
// NaN if there are enough other pairs.
type covariance struct {
	sample  bool
	x, y    slidingAvg
	sum     slidingSum // the sum of the products of deviations from the means
	strange slidingSum // the sum of the numbers in pairs that contain an infinity or NaN
	count   int64
	failed  error
}

// parseCovariance returns the Parse of $covariancePop or, if sample is true, $covarianceSamp.
func parseCovariance(sample bool) parseFunc {
	return func(def *definition, spec bsonx.Doc, order *Order, vars *expr.Vars) (*Function, error) {
		var e expr.Expr
		bounds, err := def.bounded(spec, order, func(arg bsonx.Value) (err error) {
			e, err = expr.Parse(arg, vars)
			return err
		})
		if err != nil {
			return nil, err
		}
		return slidingFunction(bounds, e, nil, order,
			func(*expr.Context) (state, error) { return &covariance{sample: sample}, nil }), nil
	}
}

// pair returns the two numbers of v. finite is false if one is infinite or NaN. ok is false if v is
// not a pair of numbers.
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

func (c *covariance) add(e entry) error {
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
	// The first pair has no deviation, and must not determine the numeric type of the sum.
	if c.count++; c.count > 1 {
		c.sum.update(c.product(dx, c.deviation(y, &c.y)), 1)
	}
	return c.failed
}

func (c *covariance) remove(e entry) error {
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

// special adds a number of a pair that is not finite to strange, or removes it if quantity is -1. A
// decimal NaN becomes a double, so that it does not make the result a decimal.
func (c *covariance) special(v bsonx.Value, quantity int) {
	if numeric.IsNaN(v) {
		v = bsonx.Double(math.NaN())
	}
	c.strange.update(v, quantity)
}

// deviation returns v minus the mean, or v itself while the mean has no values.
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
