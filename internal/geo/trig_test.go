package geo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestSinCos requires that results equal the results of package math, except for the last bit. They
// must be the nearest doubles in cases where the nearest doubles are known.
func TestSinCos(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ x, sin, cos float64 }{
		{0, 0, 1},
		{math.Pi, 1.2246467991473532e-16, -1},
		{-math.Pi, -1.2246467991473532e-16, -1},
		{math.Pi / 2, 1, 6.123233995736766e-17},
		{math.Pi / 4, 0.7071067811865475, 0.7071067811865476},
		{1, 0.8414709848078965, 0.5403023058681398},
		{-2, -0.9092974268256817, -0.4161468365471424},
	} {
		if sin, cos := sinCos(c.x); sin != c.sin || cos != c.cos {
			t.Errorf("%v: %v, %v; want %v, %v", c.x, sin, cos, c.sin, c.cos)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(-math.Pi, math.Pi).Draw(t, "x")
		sin, cos := sinCos(x)
		if math.Abs(sin-math.Sin(x)) > 3e-16 || math.Abs(cos-math.Cos(x)) > 3e-16 {
			t.Fatalf("%v: %v, %v", x, sin, cos)
		}
	})
}
