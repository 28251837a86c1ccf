package bsonx

import (
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// FormatDecimal formats a decimal like MongoDB: "1.50", "1E+3", "-Infinity", "NaN".
func FormatDecimal(v Value) string { return string(appendDecimal(nil, v)) }

// appendDecimal appends the text of FormatDecimal.
func appendDecimal(dst []byte, v Value) []byte {
	d := v.Decimal()
	if d.Kind == DecimalNaN {
		return append(dst, "NaN"...)
	}
	if d.Neg {
		dst = append(dst, '-')
	}
	if d.Kind == DecimalInf {
		return append(dst, "Infinity"...)
	}
	var buf [maxDigits]byte
	digits := d.AppendDigits(buf[:0])
	point := len(digits) + d.Exp // the number of digits before the point
	switch {
	case d.Exp > 0 || point-1 < -6:
		dst = append(dst, digits[0])
		if len(digits) > 1 {
			dst = append(dst, '.')
			dst = append(dst, digits[1:]...)
		}
		dst = append(dst, 'E')
		if point-1 >= 0 {
			dst = append(dst, '+')
		}
		return strconv.AppendInt(dst, int64(point-1), 10)
	case d.Exp == 0:
		return append(dst, digits...)
	case point > 0:
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	default:
		dst = append(dst, "0."...)
		for ; point < 0; point++ {
			dst = append(dst, '0')
		}
		return append(dst, digits...)
	}
}

// ParseDecimal parses a decimal in the format of FormatDecimal. A number with more than 34 digits
// is rounded half to even. A number that is too large becomes infinite, and a number that is too
// small becomes zero. ParseDecimal fails if the text is not a number.
func ParseDecimal(s string) (Value, error) {
	v, ok := parseDecimal(s)
	if !ok {
		return Value{}, mongoerr.New(mongoerr.FailedToParse, "Failed to parse string to decimal: '%s'", s)
	}
	return v, nil
}

func parseDecimal(s string) (Value, bool) {
	var d Decimal
	if s != "" && (s[0] == '-' || s[0] == '+') {
		d.Neg = s[0] == '-'
		s = s[1:]
	}
	switch {
	case strings.EqualFold(s, "inf"), strings.EqualFold(s, "infinity"):
		d.Kind = DecimalInf
		return d.Value(), true
	case strings.EqualFold(s, "nan"):
		return Decimal{Kind: DecimalNaN}.Value(), true
	}
	mantissa, exp, ok := cutExponent(s)
	if !ok {
		return Value{}, false
	}
	// seen reports whether there was a digit, and before is the index of the point, or -1.
	seen, before := false, -1
	digits := make([]byte, 0, 64)
	for i := range len(mantissa) {
		switch c := mantissa[i]; {
		case c == '.' && before < 0:
			before = i
		case c < '0' || c > '9':
			return Value{}, false
		default:
			seen = true
			if c != '0' || len(digits) > 0 {
				digits = append(digits, c)
			}
		}
	}
	if !seen {
		return Value{}, false
	}
	if before >= 0 {
		exp -= len(mantissa) - before - 1
	}
	return roundDigits(d.Neg, digits, exp).Value(), true
}

// cutExponent splits a text such as "12.5e-3" at the exponent. It clamps exponents far outside of
// the range of decimals.
func cutExponent(s string) (mantissa string, exp int, ok bool) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, true
	}
	text := s[i+1:]
	exp, err := strconv.Atoi(text)
	if err != nil {
		sign := strings.TrimLeft(text, "+-")
		if len(text)-len(sign) > 1 || sign == "" || strings.Trim(sign, "0123456789") != "" {
			return "", 0, false
		}
		exp = 1 << 30
		if text[0] == '-' {
			exp = -exp
		}
	}
	return s[:i], min(max(exp, -1<<30), 1<<30), true
}

// roundDigits returns the decimal nearest to digits × 10^exp. digits must not have leading zeros.
func roundDigits(neg bool, digits []byte, exp int) Decimal {
	d := Decimal{Neg: neg}
	if len(digits) == 0 {
		d.Exp = min(max(exp, MinDecimalExp), MaxDecimalExp)
		return d
	}
	drop := max(len(digits)-maxDigits, MinDecimalExp-exp, 0)
	up := false
	if drop > len(digits) {
		digits = nil
	} else if drop > 0 {
		keep := len(digits) - drop
		up = roundsUp(digits[:keep], digits[keep:])
		digits = digits[:keep]
	}
	exp += drop
	var c uint128
	for _, digit := range digits {
		c = c.mul64(10).add64(uint64(digit - '0'))
	}
	if up {
		if c = c.add64(1); c == pow10[maxDigits] {
			c = pow10[maxDigits-1]
			exp++
		}
	}
	if c.isZero() {
		exp = MinDecimalExp
	}
	if exp > MaxDecimalExp {
		if exp-MaxDecimalExp+c.digits() > maxDigits {
			d.Kind = DecimalInf
			return d
		}
		c = c.mul(pow10[exp-MaxDecimalExp])
		exp = MaxDecimalExp
	}
	d.Hi, d.Lo, d.Exp = c.hi, c.lo, exp
	return d
}

// roundsUp reports whether the digits keep must be rounded up when the digits rest are dropped,
// half to even.
func roundsUp(keep, rest []byte) bool {
	if rest[0] != '5' {
		return rest[0] > '5'
	}
	for _, c := range rest[1:] {
		if c != '0' {
			return true
		}
	}
	return len(keep) > 0 && (keep[len(keep)-1]-'0')%2 == 1
}
