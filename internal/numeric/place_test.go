package numeric

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/apd/v3"
)

// TestRoundDouble compares the fast way to round doubles with the decimal arithmetic.
func TestRoundDouble(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	values := []float64{
		0, math.Copysign(0, -1), 0.5, -0.5, 0.125, 0.375, -0.001, 1.005, 1.015, 0.285, 0.29, 2.675, 1e-300, 5e-324,
		4503599627370495.5, 1e22, 0.1, 0.05,
		0.045, 1234567.125, 0.49999999999999994, 99.995, 0.000244140625, 8.5, 1e15, 123456789.5,
	}
	for range 200_000 {
		switch rng.IntN(4) {
		case 0:
			values = append(values, math.Float64frombits(rng.Uint64()))
		case 1:
			values = append(values, (rng.Float64()-0.5)*math.Pow10(rng.IntN(18)))
		case 2: // close to decimals of few digits
			values = append(values, float64(rng.IntN(2_000_000)-1_000_000)/math.Pow10(rng.IntN(12)))
		default: // exact middles
			values = append(values, float64(rng.IntN(1<<20)-1<<19)/float64(int(1)<<rng.IntN(16)))
		}
	}
	fast := 0
	for _, f := range values {
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		place := rng.IntN(18) - 1
		for name, way := range map[string]struct {
			whole    func(float64) float64
			rounding apd.Rounder
		}{"round": {math.RoundToEven, apd.RoundHalfEven}, "trunc": {math.Trunc, apd.RoundDown}} {
			got, ok := roundDouble(f, place, way.whole)
			if !ok {
				continue
			}
			fast++
			if want := float(quantize(doubleToDecimal(f, digits), place,
				way.rounding)); math.Float64bits(got) != math.Float64bits(want) {
				t.Fatalf("%s %v at %d: got %v, want %v", name, f, place, got, want)
			}
		}
	}
	if fast < len(values)/4 {
		t.Errorf("only %d of %d numbers were rounded the fast way", fast, len(values))
	}
}
