package numeric

import "math"

// powersOfTen are the powers for which roundDouble is exact.
var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// roundDouble rounds a double at a decimal place. It gives the same result as the decimal
// arithmetic, much faster. It reports false if it cannot decide: for places other than 0 to 15, and
// if the relevant digits exceed the precision of a double.
//
// It keeps the product with the power of ten exactly, as a sum of two doubles. So it knows on which
// side of an integer, or of the middle between two integers, the product is. The quotient is then
// the double nearest to the decimal result.
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

// exactWhole corrects the integer n, computed from high, by the lower part low. The lower part
// matters only if high is an integer or the middle between two integers.
func exactWhole(high, low, n float64, whole func(float64) float64) float64 {
	// A step from high toward low is on the same side of all integers and middles as the exact
	// number.
	to := math.Inf(1)
	if low < 0 {
		to = math.Inf(-1)
	}
	if beside := math.Nextafter(high, to); high == math.Trunc(high) || math.Abs(high-n) == 0.5 {
		return whole(beside)
	}
	return n
}
