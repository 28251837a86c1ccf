package keystring

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Numbers of all types are encoded on one scale. NaN and zero are only a type byte. Any other
// number is a type byte for its sign and size, and a payload for its absolute value. The payload is
// inverted for negative numbers:
//
//	1 ≤ x < 2^63   whole part << 1 | has a fraction, in 1 to 8 bytes (the type byte tells how many);
//	               then, if there is a fraction: groups of fraction × 2^63, digits of the fraction
//	other x        groups of the 63 bits of x as a double; exponent (2 bytes) and digits of x
//
// Groups hold 63 bits as up to nine bytes of seven bits each. The lowest bit of each byte is a
// flag: more bytes follow. Zero groups at the end are left out.
//
// Only a decimal can be a number that 63 bits do not hold exactly. It is truncated toward zero, and
// all nine groups have their flags set. Its decimal digits follow, two in a byte, stored as 1 + the
// number, and ended by 00. The digits repeat the information of the groups. That does not disturb
// the order, because digits are compared only if all groups are equal.
//
// As a result a small integer takes two bytes, an int32 at most five, and an int64 at most nine.

const (
	groups = 9
	// fracBits is the number of bits of a fraction in the groups.
	fracBits = 63
	// exponentBias makes the adjusted exponent of a decimal positive.
	exponentBias = 0x4000
)

func appendInt(dst []byte, tb *TypeBits, i int64, kind typeKind) []byte {
	if tb != nil {
		if kind == kindInt64 && i != int64(int32(i)) {
			kind = kindDefault
		}
		tb.note(kind)
	}
	switch {
	case i > 0:
		return appendWhole(dst, uint64(i)<<1)
	case i == 0:
		return append(dst, typeZero)
	case i == math.MinInt64:
		return appendDoubleBits(dst, -1<<63)
	}
	start := len(dst)
	dst = appendWhole(dst, uint64(-i)<<1)
	return negate(dst, start)
}

// appendWhole appends a whole part of at least 1, shifted left, with the flag for a fraction in the
// lowest bit.
func appendWhole(dst []byte, w uint64) []byte {
	n := (bits.Len64(w) + 7) / 8
	dst = append(dst, byte(typePosWhole+n))
	dst = binary.BigEndian.AppendUint64(dst, w<<(64-8*n))
	return dst[:len(dst)-8+n]
}

// negate turns the encoding of a positive number at start into the encoding of its negative.
func negate(dst []byte, start int) []byte {
	dst[start] = 2*typeZero - dst[start]
	invert(dst[start+1:])
	return dst
}

func appendDouble(dst []byte, tb *TypeBits, f float64) []byte {
	if tb != nil {
		tb.noteDouble(f)
	}
	return appendDoubleBits(dst, f)
}

func appendDoubleBits(dst []byte, f float64) []byte {
	switch {
	case f == 0:
		return append(dst, typeZero)
	case math.IsNaN(f):
		return append(dst, typeNaN)
	}
	start := len(dst)
	abs := math.Abs(f)
	switch {
	case abs < 1:
		dst = appendGroups(append(dst, typePosSmall), math.Float64bits(abs), true)
	case abs >= 1<<63:
		dst = appendGroups(append(dst, typePosLarge), math.Float64bits(abs), true)
	default:
		whole := uint64(abs)
		if frac := abs - float64(whole); frac != 0 {
			dst = appendWhole(dst, whole<<1|1)
			dst = appendGroups(dst, uint64(frac*(1<<fracBits)), true)
		} else {
			dst = appendWhole(dst, whole<<1)
		}
	}
	if f < 0 {
		return negate(dst, start)
	}
	return dst
}

// appendGroups appends 63 bits. If the bits are not exact, it sets the last flag, and the caller
// must append the digits.
func appendGroups(dst []byte, word uint64, exact bool) []byte {
	word <<= 1
	for range groups {
		group := byte(word>>56) &^ 1
		word <<= 7
		if exact && word == 0 {
			return append(dst, group)
		}
		dst = append(dst, group|1)
	}
	return dst
}

func appendDecimal(dst []byte, tb *TypeBits, v bsonx.Value) []byte {
	d := v.Decimal()
	if tb != nil {
		tb.noteDecimal(v, d)
	}
	switch {
	case d.Kind == bsonx.DecimalNaN:
		return append(dst, typeNaN)
	case d.IsZero():
		return append(dst, typeZero)
	}
	start := len(dst)
	dst = appendDecimalMagnitude(dst, d)
	if d.Neg {
		return negate(dst, start)
	}
	return dst
}

func appendDecimalMagnitude(dst []byte, d bsonx.Decimal) []byte {
	if d.Kind == bsonx.DecimalInf {
		return appendDoubleBits(dst, math.Inf(1))
	}
	var buf [64]byte
	whole, hi, lo, places, ok := d.Split()
	if ok && whole > 0 && whole < 1<<63 {
		if hi|lo == 0 {
			return appendWhole(dst, whole<<1)
		}
		word, exact := fractionWord(hi, lo, places)
		dst = appendGroups(appendWhole(dst, whole<<1|1), word, exact)
		if exact {
			return dst
		}
		frac := bsonx.Decimal{Hi: hi, Lo: lo}.AppendDigits(buf[:0])
		return appendPairs(dst, padLeft(frac, places))
	}
	f, exact := d.TruncFloat64()
	if ok && whole == 0 {
		dst = append(dst, typePosSmall)
	} else {
		dst = append(dst, typePosLarge)
	}
	dst = appendGroups(dst, math.Float64bits(f), exact)
	if exact {
		return dst
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(d.Exp+d.Digits()+exponentBias))
	return appendPairs(dst, d.AppendDigits(buf[:0]))
}

// fractionWord returns frac/10^places × 2^63, truncated, and whether the result is exact.
func fractionWord(hi, lo uint64, places int) (uint64, bool) {
	if places <= 19 {
		scale := uint64(1)
		for range places {
			scale *= 10
		}
		q, r := bits.Div64(lo>>1, lo<<63, scale)
		return q, r == 0
	}
	n := new(big.Int).SetUint64(hi)
	n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(lo)).Lsh(n, fracBits)
	scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	q, r := n.QuoRem(n, scale, new(big.Int))
	return q.Uint64(), r.Sign() == 0
}

// padLeft puts zeros before the digits until there are n digits. The slice must have the capacity.
func padLeft(digits []byte, n int) []byte {
	k := len(digits)
	if k >= n {
		return digits
	}
	digits = digits[:n]
	copy(digits[n-k:], digits[:k])
	for i := range n - k {
		digits[i] = '0'
	}
	return digits
}

// appendPairs appends digits without trailing zeros, two in a byte, and the terminator 00.
func appendPairs(dst, digits []byte) []byte {
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	for ; len(digits) > 1; digits = digits[2:] {
		dst = append(dst, 1+(digits[0]-'0')*10+(digits[1]-'0'))
	}
	if len(digits) == 1 {
		dst = append(dst, 1+(digits[0]-'0')*10)
	}
	return append(dst, 0)
}
