package main

import (
	"math"
	"math/big"
	"slices"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// hasLastDigits reports whether the replies differ only in the last digits of the results of
// transcendental functions. The manual does not promise a number of digits. A covariance multiplies
// such an error (up to 2^-52 near 1) by a deviation, which is up to about 30 for the generated
// values. If the covariance is about 0, the product is visible.
func hasLastDigits(cmd bson.D, d *difference) bool {
	if !slices.ContainsFunc(transcendental, func(name string) bool { return mentionsKey(cmd, name) }) {
		return false
	}
	nearly := nearlyEqual(0)
	if mentionsKey(cmd, "$covariancePop") || mentionsKey(cmd, "$covarianceSamp") {
		nearly = nearlyEqual(-14)
	}
	a, b := d.A, d.B
	if mentionsKey(cmd, "$addToSet") { // MongoDB does not define the order of the elements
		a, b = sortArrays(a).(bson.D), sortArrays(b).(bson.D)
	}
	return equalReplyBy(a, b, nearly)
}

// transcendental lists the operators whose decimal results are not exact.
var transcendental = []string{
	"$exp", "$ln", "$log", "$log10", "$pow", "$sqrt", "$sin", "$cos", "$tan", "$asin", "$acos", "$atan",
	"$atan2", "$sinh", "$cosh", "$tanh",
	"$asinh", "$acosh", "$atanh", "$degreesToRadians", "$radiansToDegrees", "$stdDevPop", "$stdDevSamp",
}

// nearlyEqual returns a function like equalValue that lets decimals differ by 1e-30 of the first
// decimal. If exponent is negative, all numbers may also differ by 10^exponent.
func nearlyEqual(exponent int64) func(a, b any) bool {
	absolute := new(big.Rat)
	if exponent < 0 {
		absolute.SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(-exponent), nil))
	}
	return func(a, b any) bool { return nearly(a, b, absolute) }
}

func nearly(a, b any, absolute *big.Rat) bool {
	switch x := a.(type) {
	case bson.D:
		y, ok := b.(bson.D)
		return ok && slices.EqualFunc(x, y,
			func(p, q bson.E) bool { return p.Key == q.Key && nearly(p.Value, q.Value, absolute) })
	case bson.A:
		y, ok := b.(bson.A)
		return ok && slices.EqualFunc(x, y, func(p, q any) bool { return nearly(p, q, absolute) })
	case primitive.Decimal128:
		y, ok := b.(primitive.Decimal128)
		return ok && nearDecimals(x, y, absolute)
	case float64:
		limit, _ := absolute.Float64()
		y, ok := b.(float64)
		return ok && (equalValue(a, b) || math.Abs(x-y) <= limit)
	}
	return equalValue(a, b)
}

func nearDecimals(x, y primitive.Decimal128, absolute *big.Rat) bool {
	p, pok := numberRat(x)
	q, qok := numberRat(y)
	if !pok || !qok {
		return x.String() == y.String()
	}
	gap := new(big.Rat).Sub(p, q)
	limit := new(big.Rat).Mul(p.Abs(p), big.NewRat(1, 1_000_000_000_000_000))
	limit.Mul(limit, big.NewRat(1, 1_000_000_000_000_000))
	if limit.Cmp(absolute) < 0 {
		limit = absolute
	}
	return gap.Abs(gap).Cmp(limit) <= 0
}

// numberRat returns the value of a decimal. It fails for NaN and infinities.
func numberRat(d primitive.Decimal128) (*big.Rat, bool) {
	text, _ := numberText(d)
	return new(big.Rat).SetString(text)
}
