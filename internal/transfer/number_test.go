package transfer

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestKeepsDouble checks that every text that a program prints for a double is kept. It also checks
// that a kept number is the double, rounded to the number's digits.
func TestKeepsDouble(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return
		}
		for _, layout := range []string{"%v", "%.17g", "%.16e", "%.25e"} {
			text := fmt.Sprintf(layout, f)
			if got, ok := keepsDouble(text); !ok || got != f {
				t.Errorf("%s, which is how %s prints a double: %v, %v", text, layout, got, ok)
			}
		}
		number := rapid.StringMatching(`-?[0-9]{1,25}(\.[0-9]{1,25})?(e-?[0-9]{1,3})?`).Draw(t, "number")
		got, ok := keepsDouble(number)
		want, tie := isRounded(number, got)
		if tie {
			return // a program may print either neighbour
		}
		if ok != want {
			t.Errorf("%s as %v: %v, want %v", number, got, ok, want)
		}
	})
}

// isRounded reports, by exact arithmetic, whether a number is f rounded to the number's digits. If
// tie is true, f is exactly in the middle between the number and a neighbour with as many digits.
func isRounded(number string, f float64) (rounded, tie bool) {
	want, ok := new(big.Rat).SetString(number)
	have := new(big.Rat)
	if !ok || have.SetFloat64(f) == nil {
		return false, false
	}
	if want.Sign() == 0 || f == 0 {
		return want.Sign() == 0, false
	}
	// Half a unit of the last digit that is not zero.
	digits := strings.TrimLeft(strings.TrimSuffix(want.FloatString(1100), "."), "-")
	point := strings.IndexByte(digits, '.')
	last := strings.LastIndexAny(digits, "123456789")
	exponent := point - last
	if last < point {
		exponent--
	}
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent < 0 {
		unit.Inv(unit)
	}
	unit.Quo(unit, big.NewRat(2, 1))
	difference := new(big.Rat).Sub(want, have)
	order := difference.Abs(difference).Cmp(unit)
	return order <= 0, order == 0
}
