package geo

import "math"

// sinCos returns the sine and cosine of an angle of at most π. With rare exceptions, they are
// rounded to the nearest float64, as in the C library that MongoDB uses. The last bit of a point
// affects the sixth digit of the distance between neighbours.
func sinCos(x float64) (sin, cos float64) {
	k := math.Round(x * (2 / math.Pi))
	r := reduced(x, k)
	square := r.mul(r)
	s := r.add(r.mul(square.mul(square.series(sines))))
	c := pair{1, 0}.add(square.mul(square.series(cosines)))
	switch int(k) {
	case 0:
		return s.hi, c.hi
	case 1:
		return c.hi, -s.hi
	case -1:
		return -c.hi, s.hi
	default: // ±2
		return -s.hi, -c.hi
	}
}

// reduced returns x - k·π/2, where π/2 is the sum of three float64s.
func reduced(x, k float64) pair {
	const middle, last = 6.123233995736766e-17, -1.4973849048591833e-33
	r := twoSum(x, -k*(math.Pi/2))
	return twoSum(r.hi, r.lo-k*middle-k*last)
}

// pair is the sum of two float64s. The first one is the rounded sum.
type pair struct{ hi, lo float64 }

func twoSum(a, b float64) pair {
	s := a + b
	v := s - a
	return pair{s, (a - (s - v)) + (b - v)}
}

func (a pair) add(b pair) pair {
	s := twoSum(a.hi, b.hi)
	return twoSum(s.hi, s.lo+a.lo+b.lo)
}

func (a pair) mul(b pair) pair {
	p := a.hi * b.hi
	return twoSum(p, math.FMA(a.hi, b.hi, -p)+(a.hi*b.lo+a.lo*b.hi))
}

func (a pair) over(n float64) pair {
	q := a.hi / n
	return twoSum(q, (math.FMA(-q, n, a.hi)+a.lo)/n)
}

// series returns the sum of c[i]·aⁱ.
func (a pair) series(c []pair) pair {
	sum := c[len(c)-1]
	for i := len(c) - 2; i >= 0; i-- {
		sum = sum.mul(a).add(c[i])
	}
	return sum
}

// These are the coefficients of the two series after the first term: ∓1/3!, ±1/5! … and ∓1/2!,
// ±1/4! …. sinCos adds the first term, and the power of the angle that all other terms have in
// common.
var sines, cosines = reciprocals(3), reciprocals(2)

// reciprocals returns -1/n!, 1/(n+2)!, … as far as they matter for angles up to π/4.
func reciprocals(n int) []pair {
	const terms = 12
	out := make([]pair, terms)
	for i := range out {
		f := pair{1, 0}
		for m := 2; m <= n+2*i; m++ {
			f = f.over(float64(m))
		}
		if i%2 == 0 {
			f = pair{-f.hi, -f.lo}
		}
		out[i] = f
	}
	return out
}
