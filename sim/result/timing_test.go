package result_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/sim/result"
)

// times returns n durations from microseconds to minutes, most of them short.
func times(seed uint64, n int) []time.Duration {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = time.Duration(math.Exp(random.Float64()*18) * float64(time.Microsecond))
	}
	return out
}

func timing(digits int, of ...time.Duration) *result.Timing {
	t := result.NewTiming(digits)
	for _, d := range of {
		t.Add(d)
	}
	return t
}

// near reports whether two durations differ by at most a given share of the second one.
func near(got, want time.Duration, part float64) bool {
	return math.Abs(float64(got-want)) <= part*float64(want)+float64(2*time.Nanosecond)
}

// TestTiming compares the figures of a Timing with figures that are computed from the sorted times.
func TestTiming(t *testing.T) {
	t.Parallel()
	all := times(1, 20_000)
	sum, squares := 0.0, 0.0
	for _, d := range all {
		sum += float64(d)
	}
	mean := sum / float64(len(all))
	for _, d := range all {
		squares += (float64(d) - mean) * (float64(d) - mean)
	}
	sorted := slices.Sorted(slices.Values(all))
	for digits := 1; digits <= 4; digits++ {
		got := timing(digits, all...)
		if got.Count() != int64(len(all)) || got.Min() != sorted[0] || got.Max() != sorted[len(all)-1] {
			t.Errorf("%d digits: count %d, min %v, max %v", digits, got.Count(), got.Min(), got.Max())
		}
		if deviation := time.Duration(math.Sqrt(squares / float64(len(all)))); !near(got.Mean(), time.Duration(mean),
			1e-9) || !near(got.StdDev(), deviation, 1e-9) {
			t.Errorf("%d digits: mean %v, not %v; deviation %v, not %v", digits, got.Mean(),
				time.Duration(mean), got.StdDev(), deviation)
		}
		for _, p := range []float64{1, 50, 75, 95, 99, 99.9, 100} {
			want := sorted[int(math.Ceil(p/100*float64(len(all))-1e-6))-1]
			// The histogram has a resolution of a microsecond.
			if d := got.Percentile(p); !near(d, want, math.Pow10(-digits)) &&
				d.Truncate(time.Microsecond) != want.Truncate(time.Microsecond) {
				t.Errorf("%d digits: p%v is %v, not %v", digits, p, d, want)
			}
		}
		bars, last := int64(0), time.Duration(-1)
		for _, b := range got.Bars() {
			if b.From <= last || b.To < b.From || b.Count <= 0 {
				t.Fatalf("%d digits: bar %+v after %v", digits, b, last)
			}
			bars, last = bars+b.Count, b.To
		}
		if bars != got.Count() {
			t.Errorf("%d digits: the bars have %d", digits, bars)
		}
	}
}

// TestTimingEdges checks a Timing without times and with one time, and adds negative and very long
// times.
func TestTimingEdges(t *testing.T) {
	t.Parallel()
	none := timing(3)
	if none.Mean() != 0 || none.StdDev() != 0 || none.Percentile(99) != 0 || none.Bars() != nil || none.Max() != 0 {
		t.Errorf("%+v", none)
	}
	one := timing(3, 1234567*time.Nanosecond)
	if one.Mean() != 1234567 || one.StdDev() != 0 || one.Percentile(50) != 1234567 || one.Min() != one.Max() {
		t.Errorf("mean %v, deviation %v, p50 %v", one.Mean(), one.StdDev(), one.Percentile(50))
	}
	if odd := timing(3, -time.Second, 3*time.Hour); odd.Min() != 0 || odd.Max() != 3*time.Hour ||
		odd.Mean() != 90*time.Minute || odd.Percentile(100) > 3*time.Hour {
		t.Errorf("min %v, max %v, mean %v", odd.Min(), odd.Max(), odd.Mean())
	}
	for _, digits := range []int{-1, 0, 9} { // the nearest valid number of digits is used
		if got := timing(digits, time.Second); got.Count() != 1 || len(got.Bars()) != 1 {
			t.Errorf("%d digits: %+v", digits, got)
		}
	}
}

// TestTimingMerge: a Timing that is merged from parts equals a Timing of all times, also if the
// parts have another number of digits.
func TestTimingMerge(t *testing.T) {
	t.Parallel()
	all := times(2, 3_000)
	whole, sum := timing(3, all...), timing(3)
	for part := range slices.Chunk(all, 700) {
		sum.Merge(timing(3, part...))
	}
	sum.Merge(nil)
	sum.Merge(timing(3))
	same(t, sum, whole)
	if !slices.Equal(sum.Bars(), whole.Bars()) {
		t.Error("other bars")
	}
	coarse := timing(3)
	coarse.Merge(timing(2, all...))
	if coarse.Count() != whole.Count() || !near(coarse.Percentile(95), whole.Percentile(95), 0.02) {
		t.Errorf("of two digits: p95 %v, not %v", coarse.Percentile(95), whole.Percentile(95))
	}
}

// same compares two timings by all their figures.
func same(t *testing.T, got, want *result.Timing) {
	t.Helper()
	if got.Count() != want.Count() || got.Min() != want.Min() || got.Max() != want.Max() ||
		!near(got.Mean(), want.Mean(), 1e-12) || !near(got.StdDev(), want.StdDev(), 1e-9) {
		t.Errorf("%d from %v to %v, %v ± %v; want %d from %v to %v, %v ± %v", got.Count(), got.Min(),
			got.Max(), got.Mean(), got.StdDev(),
			want.Count(), want.Min(), want.Max(), want.Mean(), want.StdDev())
	}
	for _, p := range []float64{0, 50, 75, 95, 99, 99.9, 100} {
		if got.Percentile(p) != want.Percentile(p) {
			t.Errorf("p%v is %v, not %v", p, got.Percentile(p), want.Percentile(p))
		}
	}
}

// TestTimingJSON writes a Timing as JSON and reads it again.
func TestTimingJSON(t *testing.T) {
	t.Parallel()
	for _, want := range []*result.Timing{
		timing(3), timing(3, time.Minute), timing(2, times(3, 1_000)...),
		timing(3, times(4, 1_000)...), timing(0, time.Second),
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := &result.Timing{}
		if err := json.Unmarshal(text, got); err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		got.Add(time.Second) // a Timing that was read accepts further times
		if got.Count() != want.Count()+1 {
			t.Error(got.Count())
		}
	}
}

// TestTimingRefused: stored figures that contradict each other are an error.
func TestTimingRefused(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(timing(3, time.Second, time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"count":        {`"count":2`, `"count":3`},
		"negative":     {`"count":2`, `"count":-2`},
		"no count":     {`"count":2`, `"count":0`},
		"digits":       {`"digits":3`, `"digits":2`},
		"many digits":  {`"digits":3`, `"digits":7`},
		"min":          {`"min":1000`, `"min":-1`},
		"max":          {`"max":60000`, `"max":1e300`},
		"max of min":   {`"max":60000`, `"max":10`},
		"text":         {`"count":2`, `"count":"2"`},
		"histogram":    {`"histogram":"`, `"histogram":"!`},
		"no histogram": {`"histogram":"`, `"other":"`},
	} {
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s changes nothing: %s", name, text)
		}
		if err := json.Unmarshal([]byte(changed), &result.Timing{}); err == nil {
			t.Errorf("%s: read", name)
		}
	}
}
