package numeric

import "github.com/cockroachdb/apd/v3"

// large is an exponent for which e^large is beyond the range of decimal128.
const large = 20000

func (m *wide) sinh(x *apd.Decimal) *apd.Decimal {
	switch {
	case x.IsZero() || x.Form == apd.Infinite:
		return x
	case m.abs(x).Cmp(m.int(1)) < 0:
		return m.series(x, m.mul(x, x), always1, func(n int64) int64 { return 2 * n * (2*n + 1) })
	case m.abs(x).Cmp(m.int(large)) > 0:
		return &apd.Decimal{Form: apd.Infinite, Negative: x.Negative}
	}
	up := m.exp(m.abs(x))
	return m.sign(m.quo(m.sub(up, m.quo(m.int(1), up)), m.int(2)), x)
}

func (m *wide) cosh(x *apd.Decimal) *apd.Decimal {
	switch {
	case x.IsZero():
		return m.int(1)
	case x.Form == apd.Infinite || m.abs(x).Cmp(m.int(large)) > 0:
		return &apd.Decimal{Form: apd.Infinite}
	}
	up := m.exp(m.abs(x))
	return m.quo(m.add(up, m.quo(m.int(1), up)), m.int(2))
}

func (m *wide) tanh(x *apd.Decimal) *apd.Decimal {
	if x.IsZero() {
		return x
	}
	// Beyond 100 the difference from 1 is smaller than the last digit.
	if x.Form == apd.Infinite || m.abs(x).Cmp(m.int(100)) > 0 {
		return m.sign(m.int(1), x)
	}
	return m.quo(m.sinh(x), m.cosh(x))
}

// asinh computes asinh x = atanh(x / √(1 + x²)) for small x, and ln(x + √(1 + x²)) for others.
func (m *wide) asinh(x *apd.Decimal) *apd.Decimal {
	if x.IsZero() || x.Form == apd.Infinite {
		return x
	}
	a := m.abs(x)
	root := m.sqrt(m.add(m.int(1), m.mul(a, a)))
	if a.Cmp(apd.New(1, -1)) < 0 {
		return m.atanh(m.quo(x, root))
	}
	return m.sign(m.ln(m.add(a, root)), x)
}

// acosh computes acosh x = 2 asinh √((x - 1) / 2), which loses no digits near 1.
func (m *wide) acosh(x *apd.Decimal) *apd.Decimal {
	if x.Form == apd.Infinite {
		return x
	}
	return m.mul(m.int(2), m.asinh(m.sqrt(m.quo(m.sub(x, m.int(1)), m.int(2)))))
}

func (m *wide) atanh(x *apd.Decimal) *apd.Decimal {
	a := m.abs(x)
	switch {
	case x.IsZero():
		return x
	case a.Cmp(m.int(1)) == 0:
		return &apd.Decimal{Form: apd.Infinite, Negative: x.Negative}
	case a.Cmp(apd.New(1, -1)) < 0:
		return m.odd(x, m.mul(x, x))
	}
	return m.sign(m.quo(m.ln(m.quo(m.add(m.int(1), a), m.sub(m.int(1), a))), m.int(2)), x)
}
