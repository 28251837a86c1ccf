package report

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/sheafdb/sheaf/sim/result"
)

const (
	leastSlots = 8 // if a scenario has fewer slots, the intervals of a bootstrap are too narrow
	resamples  = 1000
	least      = 1e-6 // replaces 0, which has no logarithm
	confidence = 0.95
)

// sample holds the measurements of a scenario's slots in a form from which figures are computed
// fast.
type sample struct {
	values []float64 // the measured values in milliseconds, ascending
	slots  []slot
	second float64 // the length of a slot in seconds
}

// slot holds the measurements of one slot of a scenario.
type slot struct {
	bars  []bar
	n     int64
	sum   float64 // in milliseconds
	ended int64
}

// bar is a bar of a histogram: the index of the measured value in sample.values, and how often it
// was measured.
type bar struct{ value, count int32 }

// scheduled returns how many slots belong to the schedule. In later slots, users end, but none
// start.
func scheduled(s *result.Scenario) int { return min(max(s.Load.Iterations, 0), len(s.Series)) }

// slotsOf returns the measured slots of the schedule, without slots at its start and end that have
// no latency.
func slotsOf(s *result.Scenario) []*result.Slot {
	slots := s.Series[:scheduled(s)]
	for len(slots) > 0 && slots[0].Latency.Count() == 0 {
		slots = slots[1:]
	}
	for len(slots) > 0 && slots[len(slots)-1].Latency.Count() == 0 {
		slots = slots[:len(slots)-1]
	}
	return slots
}

func newSample(s *result.Scenario) *sample {
	out := &sample{second: max(0.001, float64(s.Load.ResolutionMillis)/1000)}
	places := map[float64]int{}
	slots := slotsOf(s)
	for _, from := range slots {
		for _, b := range from.Latency.Bars() {
			places[middle(b)] = 0
		}
	}
	out.values = slices.Sorted(maps.Keys(places))
	for i, v := range out.values {
		places[v] = i
	}
	for _, from := range slots {
		to := slot{n: from.Latency.Count(), ended: from.Ended}
		to.sum = result.Millis(from.Latency.Mean()) * float64(to.n)
		for _, b := range from.Latency.Bars() {
			to.bars = append(to.bars, bar{int32(places[middle(b)]), int32(b.Count)})
		}
		out.slots = append(out.slots, to)
	}
	return out
}

func middle(b result.Bar) float64 { return (result.Millis(b.From) + result.Millis(b.To)) / 2 }

// figures are the compared figures, computed from some slots of a scenario.
type figures struct{ mean, p50, p75, p95, p99, throughput float64 }

func (f figures) list() []float64 {
	return []float64{f.mean, f.p50, f.p75, f.p95, f.p99, f.throughput}
}

// of computes the figures of the slots with these indexes. An index may occur several times.
func (s *sample) of(choice []int) (f figures) {
	counts, n, ended := make([]int64, len(s.values)), int64(0), int64(0)
	for _, i := range choice {
		slot := &s.slots[i]
		n += slot.n
		ended += slot.ended
		f.mean += slot.sum
		for _, b := range slot.bars {
			counts[b.value] += int64(b.count)
		}
	}
	f.throughput = float64(ended) / (float64(max(1, len(choice))) * s.second)
	f.mean /= float64(max(n, 1))
	wanted := []struct {
		share float64
		to    *float64
	}{{0.50, &f.p50}, {0.75, &f.p75}, {0.95, &f.p95}, {0.99, &f.p99}}
	seen := int64(0)
	for j, c := range counts {
		seen += c
		for len(wanted) > 0 && c > 0 && float64(seen) >= wanted[0].share*float64(n) {
			*wanted[0].to = s.values[j]
			wanted = wanted[1:]
		}
	}
	return f
}

// drawSlots draws n of n slots with replacement. It draws blocks of consecutive slots; after the
// last slot, a block continues with the first.
func drawSlots(random *rand.Rand, n int) []int {
	length := blockLength(n)
	out := make([]int, 0, n+length)
	for len(out) < n {
		at := random.IntN(n)
		for i := range length {
			out = append(out, (at+i)%n)
		}
	}
	return out[:n]
}

// ratios compares the measurements of two scenarios. Only figures that can be computed from slots
// have an interval, so steps have none.
func ratios(a, b *result.Scenario) (out []Ratio) {
	if a.Latency.Count() > 0 && b.Latency.Count() > 0 {
		out = latencyRatios(a, b)
	}
	for _, f := range pairs(a.Steps) {
		ta, tb := a.Steps[f.Name], b.Steps[f.Name]
		if tb != nil && ta.Count() > 0 && tb.Count() > 0 {
			out = append(out, newRatio(f.Name+", mean", "ms", result.Millis(ta.Mean()), result.Millis(tb.Mean())),
				newRatio(f.Name+", p99", "ms", result.Millis(ta.Percentile(99)), result.Millis(tb.Percentile(99))))
		}
	}
	return out
}

func newRatio(figure, unit string, a, b float64) Ratio {
	r := Ratio{Figure: figure, Unit: unit, A: a, B: b, Verdict: None}
	if a > 0 {
		r.Ratio = b / a
	}
	return r
}

func latencyRatios(a, b *result.Scenario) (out []Ratio) {
	sa, sb := newSample(a), newSample(b)
	ta, tb := timesOf(a.Latency), timesOf(b.Latency)
	median := func(s *result.Scenario) float64 { return result.Millis(s.Latency.Percentile(50)) }
	whole := func(s *sample) float64 { return s.of(every(len(s.slots))).throughput }
	out = []Ratio{
		newRatio("mean", "ms", ta[0], tb[0]), newRatio("p50", "ms", median(a), median(b)),
		newRatio("p75", "ms", ta[2], tb[2]),
		newRatio("p95", "ms", ta[3], tb[3]), newRatio("p99", "ms", ta[4], tb[4]),
		newRatio("throughput", "/s", whole(sa), whole(sb)),
	}
	paired := (a.Load.Shape == "ramp" || a.Load.Shape == "steps") && len(sa.slots) == len(sb.slots)
	drawn := bootstrap(sa, sb, paired)
	for i := range out {
		if len(drawn) == 0 {
			break
		}
		column := make([]float64, len(drawn))
		for j := range drawn {
			column[j] = drawn[j][i]
		}
		width := margin(column, len(sa.slots), len(sb.slots), paired)
		out[i].Low, out[i].High = out[i].Ratio*math.Exp(-width), out[i].Ratio*math.Exp(width)
		out[i].judge()
	}
	return out
}

// bootstrap draws slots of both scenarios many times. For each draw it returns the logarithms of
// the ratios of the figures. With paired, both scenarios get the same slots.
func bootstrap(a, b *sample, paired bool) (out [][]float64) {
	if min(len(a.slots), len(b.slots)) < leastSlots {
		return nil
	}
	// A fixed seed: the same results always give the same intervals.
	random := rand.New(rand.NewPCG(1, uint64(len(a.slots))))
	for range resamples {
		choice := drawSlots(random, len(a.slots))
		other := choice
		if !paired {
			other = drawSlots(random, len(b.slots))
		}
		fa, fb := a.of(choice).list(), b.of(other).list()
		ratios := make([]float64, len(fa))
		for i := range fa {
			ratios[i] = math.Log(max(fb[i], least) / max(fa[i], least))
		}
		out = append(out, ratios)
	}
	return out
}

// blockLength returns how many consecutive slots are drawn together if there are n slots.
func blockLength(n int) int { return max(1, int(math.Round(math.Sqrt(float64(n))))) }

// margin returns the half-width of the interval of a logarithm of a ratio. It computes the
// half-width from the drawn logarithms, and from the numbers of slots of the two scenarios.
func margin(drawn []float64, a, b int, paired bool) float64 {
	blocks := func(n int) float64 { return float64(n) / float64(blockLength(n)) }
	fewest := min(blocks(a), blocks(b))
	freedom := blocks(a) + blocks(b) - 2
	if paired {
		freedom = blocks(a) - 1
	}
	return quantileT(freedom, 1-(1-confidence)/2) * deviation(drawn) * math.Sqrt(fewest/(fewest-1))
}

// quantileT returns a quantile of Student's t distribution, for a share above one half. It is not
// the function of gonum's package distuv, because its matrix packages would make the program 2 MB
// larger.
func quantileT(freedom, share float64) float64 {
	t := mathext.InvRegIncBeta(freedom/2, 0.5, 2*(1-share))
	return math.Sqrt(freedom * (1 - t) / t)
}

// deviation returns the standard deviation of a sample.
func deviation(sample []float64) float64 {
	mean, squares := 0.0, 0.0
	for _, x := range sample {
		mean += x / float64(len(sample))
	}
	for _, x := range sample {
		squares += (x - mean) * (x - mean)
	}
	return math.Sqrt(squares / float64(len(sample)-1))
}

func every(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// judge sets the verdict that follows from the interval of the ratio.
func (r *Ratio) judge() {
	less, more := Better, Worse
	if r.Unit == "/s" {
		less, more = Worse, Better
	}
	switch {
	case r.Low >= 1/Margin && r.High <= Margin:
		r.Verdict = Same
	case r.High < 1:
		r.Verdict = less
	case r.Low > 1:
		r.Verdict = more
	default:
		r.Verdict = Open
	}
}
