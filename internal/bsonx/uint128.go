package bsonx

import (
	"cmp"
	"math/bits"
	"strconv"
)

// uint128 is the coefficient of a decimal. It is less than 10^34, so that products with small
// powers of ten fit.
type uint128 struct{ hi, lo uint64 }

// maxDigits is the precision of a decimal128 in decimal digits.
const maxDigits = 34

// pow10 contains 10^0 to 10^34.
var pow10 = func() (t [maxDigits + 1]uint128) {
	t[0] = uint128{0, 1}
	for i := 1; i < len(t); i++ {
		t[i] = t[i-1].mul64(10)
	}
	return t
}()

func (u uint128) isZero() bool { return u.hi|u.lo == 0 }

func (u uint128) cmp(v uint128) int {
	if c := cmp.Compare(u.hi, v.hi); c != 0 {
		return c
	}
	return cmp.Compare(u.lo, v.lo)
}

// mul64 returns u*m. The caller ensures that the product fits.
func (u uint128) mul64(m uint64) uint128 {
	hi, lo := bits.Mul64(u.lo, m)
	return uint128{hi + u.hi*m, lo}
}

// mul returns u*v. The caller ensures that the product fits.
func (u uint128) mul(v uint128) uint128 {
	hi, lo := bits.Mul64(u.lo, v.lo)
	return uint128{hi + u.hi*v.lo + u.lo*v.hi, lo}
}

func (u uint128) add64(v uint64) uint128 {
	lo, carry := bits.Add64(u.lo, v, 0)
	return uint128{u.hi + carry, lo}
}

// divmod64 returns the quotient and remainder of u/d.
func (u uint128) divmod64(d uint64) (q uint128, r uint64) {
	q.hi, r = u.hi/d, u.hi%d
	q.lo, r = bits.Div64(r, u.lo, d)
	return q, r
}

// divmodPow10 returns the quotient and remainder of u/10^k, for k up to 34.
func (u uint128) divmodPow10(k int) (q, r uint128) {
	if k <= 19 {
		q, rest := u.divmod64(pow10[k].lo)
		return q, uint128{0, rest}
	}
	// The remainder is combined from its upper and lower digits.
	q, low := u.divmod64(pow10[19].lo)
	q, high := q.divmod64(pow10[k-19].lo)
	r = uint128{0, high}.mul(pow10[19]).add64(low)
	return q, r
}

// digits returns the number of decimal digits. It returns 0 for zero.
func (u uint128) digits() int {
	// 1233/4096 is slightly less than log10(2), so the estimate is the number of digits or one
	// less.
	n := bits.Len64(u.lo)
	if u.hi != 0 {
		n = 64 + bits.Len64(u.hi)
	}
	n = n * 1233 >> 12
	if n < len(pow10) && u.cmp(pow10[n]) >= 0 {
		return n + 1
	}
	return n
}

// trim removes trailing decimal zeros, and returns their number.
func (u uint128) trim() (uint128, int) {
	n := 0
	if u.isZero() {
		return u, 0
	}
	for {
		q, r := u.divmod64(10)
		if r != 0 {
			return u, n
		}
		u = q
		n++
	}
}

// appendDigits appends the decimal digits; "0" for zero.
func (u uint128) appendDigits(dst []byte) []byte {
	if u.hi == 0 {
		return strconv.AppendUint(dst, u.lo, 10)
	}
	high, low := u.divmod64(pow10[19].lo)
	dst = strconv.AppendUint(dst, high.lo, 10)
	for n := (uint128{0, max(low, 1)}).digits(); n < 19; n++ {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, low, 10)
}
