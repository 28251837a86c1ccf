package report

import (
	"fmt"
	"math"
)

// timeTicks are the ticks of a logarithmic axis of milliseconds: 1, 2 and 5 of each decade (power
// of ten), or fewer if there would be too many.
type timeTicks struct{}

// Ticks implements ticker.
func (timeTicks) Ticks(low, high float64) (out []tick) {
	decades := math.Log10(high / low)
	for exponent := math.Floor(math.Log10(low)); exponent <= math.Ceil(math.Log10(high)); exponent++ {
		for digit := 1.0; digit < 10; digit++ {
			t := tick{Value: digit * math.Pow(10, exponent)}
			if t.Value < low*0.999 || t.Value > high*1.001 {
				continue
			}
			switch {
			case digit == 1 && (decades <= 6 || math.Mod(exponent, 2) == 0),
				decades < 2.2 && (digit == 2 || digit == 5):
				t.Label = milliText(t.Value)
			case decades > 4:
				continue
			}
			out = append(out, t)
		}
	}
	return out
}

// milliText formats a round number of milliseconds, such as "20 ms" or "5 s".
func milliText(ms float64) string {
	switch {
	case ms < 0.9995:
		return fmt.Sprintf("%.3g µs", ms*1000)
	case ms < 999.5:
		return fmt.Sprintf("%.3g ms", ms)
	default:
		return fmt.Sprintf("%.4g s", ms/1000)
	}
}

// roundDown rounds down to the next number of the form 1, 2 or 5 times a power of ten. roundUp
// rounds up to such a number.
func roundDown(x float64) float64 {
	if x <= 0 {
		return 0.001
	}
	base := math.Pow(10, math.Floor(math.Log10(x)))
	for _, digit := range []float64{5, 2} {
		if x >= digit*base {
			return digit * base
		}
	}
	return base
}

func roundUp(x float64) float64 {
	if x <= 0 {
		return 0.01
	}
	base := math.Pow(10, math.Floor(math.Log10(x)))
	for _, digit := range []float64{1, 2, 5, 10} {
		if x <= digit*base*1.000001 {
			return digit * base
		}
	}
	return 10 * base
}

// nines returns the position of a percentile on the axis of an HdrHistogram plot. Each further
// nine, such as the step from 99 % to 99.9 %, is equally wide.
func nines(percentile float64) float64 { return -math.Log10(1 - percentile/100) }

// nineTicks are the ticks of an axis of percentiles that are placed by the function nines.
type nineTicks struct{}

// Ticks implements ticker.
func (nineTicks) Ticks(low, high float64) (out []tick) {
	for _, p := range []float64{0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999} {
		if x := nines(p); x >= low-1e-9 && x <= high+1e-9 {
			out = append(out, tick{Value: x, Label: fmt.Sprintf("%g %%", p)})
		}
	}
	return out
}

// plainTicks are the ticks of a linear axis: round numbers with separated thousands.
type plainTicks struct{ unit string }

// Ticks implements ticker.
func (t plainTicks) Ticks(low, high float64) (out []tick) {
	const most = 7
	step := roundUp((high - low) / most)
	// An integer counter avoids the label -0.
	for i := int(math.Ceil(low/step - 1e-9)); float64(i)*step <= high*1.000001; i++ {
		value := float64(i) * step
		out = append(out, tick{Value: value, Label: plain(value) + t.unit})
	}
	return out
}

// plain formats a number with as few digits as possible, and with thin spaces between thousands.
func plain(x float64) string {
	if math.Abs(x) < 1000 {
		return fmt.Sprintf("%.4g", x)
	}
	text := fmt.Sprintf("%.0f", x)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + " " + text[i:]
	}
	return text
}

// ratioTicks are the ticks of a logarithmic axis of ratios.
type ratioTicks struct{}

// Ticks implements ticker.
func (ratioTicks) Ticks(low, high float64) (out []tick) {
	for _, r := range []float64{
		0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2,
		3, 5, 10, 20, 50, 100, 1000,
	} {
		wide := math.Log10(high / low)
		between := r > 0.5 && r < 2 && r != 1
		if r < low || r > high || between && wide > 0.9 || (r == 0.9 || r == 1.1) && wide > 0.35 {
			continue
		}
		out = append(out, tick{Value: r, Label: fmt.Sprintf("×%g", r)})
	}
	return out
}
