package numeric

import "math"

// powersOfTen are those up to which roundDouble is exact.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// roundDouble rounds a double at a decimal place as the decimal arithmetic does, much faster. It
// reports false where it cannot tell: at other places than 0 to 15, and where the digits in
// question are beyond what a double counts.
//
// The product with the power of ten is kept exactly, as a sum of two doubles, so that it is known
// on which side of an integer, or of the middle between two, it is. The quotient is then the double
// next to the decimal number.
func roundDouble(f float64, place int, whole func(float64) float64) (float64, bool) {
	if place < 0 || place >= len(powersOfTen) {
		return 0, false
	}
	scale := powersOfTen[place]
	high := f * scale
	if !(math.Abs(high) < 1<<51) {
		return 0, false
	}
	low := math.FMA(f, scale, -high)
	n := whole(high)
	if low != 0 {
		n = exactWhole(high, low, n, whole)
	}
	return math.Copysign(n/scale, f), true
}

// exactWhole corrects the integer n of high for the rest low, which matters where high is an
// integer or in the middle of two.
func exactWhole(high, low, n float64, whole func(float64) float64) float64 {
	// A step beside high in the direction of low is on the same side of all integers and middles as
	// the exact number is.
	to := math.Inf(1)
	if low < 0 {
		to = math.Inf(-1)
	}
	if beside := math.Nextafter(high, to); high == math.Trunc(high) || math.Abs(high-n) == 0.5 {
		return whole(beside)
	}
	return n
}
