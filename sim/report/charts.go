package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/sheafdb/sheaf/sim/result"
)

var none = math.NaN()

// second returns when slot i of a scenario begins, in seconds. The middle of the slot is half a
// slot later.
func second(s *result.Scenario, i float64) float64 {
	return (float64(s.Load.DelayMillis) + i*float64(s.Load.ResolutionMillis)) / 1000
}

// over returns a point for each slot: the middle of the slot in seconds, and a value that is
// computed from the slot.
func over(s *result.Scenario, slots int, value func(*result.Slot) float64) (out []point) {
	for i, slot := range s.Series[:slots] {
		out = append(out, point{X: second(s, float64(i)+0.5), Y: value(slot)})
	}
	return out
}

// at returns a function that computes a percentile of a slot in milliseconds. A slot without
// latencies leaves a gap in the line.
func at(p float64) func(*result.Slot) float64 {
	return func(s *result.Slot) float64 {
		if s.Latency.Count() == 0 {
			return none
		}
		return max(0.001, result.Millis(s.Latency.Percentile(p)))
	}
}

func greatest(s *result.Slot) float64 {
	if s.Latency.Count() == 0 {
		return none
	}
	return max(0.001, result.Millis(s.Latency.Max()))
}

// latencyChart shows the latency over the slots in which users were due.
func latencyChart(o one) *chart {
	s, n := o.s, o.s.Load.Iterations
	c := &chart{
		Title: "Latency over time", Note: "by the second at which users were due",
		x:      axis{label: "seconds since the beginning", min: 0, max: second(s, float64(n)), ticks: plainTicks{}},
		y:      axis{log: true, ticks: timeTicks{}},
		Header: []string{"second", "users", "p50 ms", "p95 ms", "p99 ms", "max ms"},
		lines: []line{
			{
				name: "max", color: ink{inkMuted, 100, 0}, width: 1.2, dashes: dotted,
				points: over(s, scheduled(s), greatest),
			},
			{
				name: "p99", color: ink{inkAccent, 85, 0}, width: 1.6, dashes: dashed,
				points: over(s, scheduled(s), at(99)),
			},
			{name: "p95", color: ink{inkAccent, 55, 0}, width: 1.8, points: over(s, scheduled(s), at(95))},
			{name: "p50", color: ink{inkAccent, 100, 0}, width: 2.4, points: over(s, scheduled(s), at(50))},
		},
	}
	if o.warm > 0 {
		c.marks = append(c.marks, mark{0, second(s, o.warm), "warm-up"})
	}
	if o.cool > 0 {
		c.marks = append(c.marks, mark{second(s, float64(n)-o.cool), second(s, float64(n)), "cool-down"})
	}
	for i, slot := range s.Series[:scheduled(s)] {
		cells := []string{digits3(second(s, float64(i))), fmt.Sprint(slot.Started)}
		for _, f := range []func(*result.Slot) float64{at(50), at(95), at(99), greatest} {
			cells = append(cells, orNone(f(slot)))
		}
		c.Lines = append(c.Lines, chartLine{Cells: cells, at: second(s, float64(i)+0.5)})
	}
	return c
}

func orNone(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fixed(x)
}

// percentileChart shows the distribution of the latencies of several scenarios, or of a scenario in
// several runs.
func percentileChart(title string, ones []one) *chart {
	c := &chart{
		Title: title, Note: "so many percent of the users were not slower",
		x: axis{label: "percentile", ticks: nineTicks{}}, y: axis{log: true, ticks: timeTicks{}},
		Header: []string{"percentile"},
	}
	furthest := 0.0
	for _, o := range ones {
		l := line{name: o.name, color: o.color, width: 2.2}
		if len(ones) == 1 {
			l.name, l.area = "", true
		}
		last := nines(100 * (1 - 1/float64(max(2, o.s.Latency.Count()))))
		for x := 0.0; x < last; x += 0.02 {
			l.points = append(l.points, point{X: x, Y: quantile(o.s.Latency, 100*(1-math.Pow(10, -x)))})
		}
		l.points = append(l.points, point{X: last, Y: max(0.001, result.Millis(o.s.Latency.Max()))})
		furthest = max(furthest, last)
		c.lines = append(c.lines, l)
		c.Header = append(c.Header, o.name+" ms")
	}
	c.x.min, c.x.max = 0, max(1, furthest)
	for _, p := range []float64{0, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999} {
		if nines(p) > furthest {
			break
		}
		cells := []string{fmt.Sprintf("%g %%", p)}
		for _, o := range ones {
			cells = append(cells, fixed(quantile(o.s.Latency, p)))
		}
		c.Lines = append(c.Lines, chartLine{Cells: cells, at: nines(p)})
	}
	return c
}

// stepsChart shows the distributions of the steps of a scenario. It returns nil if there are no
// steps.
func stepsChart(s *result.Scenario) *chart {
	var ones []one
	for _, name := range slices.Sorted(maps.Keys(s.Steps)) {
		if t := s.Steps[name]; t.Count() > 0 {
			step := &result.Scenario{Measured: result.Measured{Latency: t}}
			ones = append(ones, one{name: name, color: ink{inkSeries, 100, uint8(len(ones))}, s: step})
		}
	}
	if len(ones) == 0 {
		return nil
	}
	c := percentileChart("Steps", ones)
	c.Note = "parts of the users' time, so many percent of which were not longer"
	if len(ones) == 1 {
		c.lines[0].name = ones[0].name
	}
	return c
}

func quantile(t *result.Timing, p float64) float64 {
	if p <= 0 {
		return max(0.001, result.Millis(t.Min()))
	}
	return max(0.001, result.Millis(t.Percentile(p)))
}

// histogramChart shows how many users had which latency, in bars of equal width on a logarithmic
// axis.
func histogramChart(s *result.Scenario) *chart {
	const bars = 48
	c := &chart{
		Title: "Histogram", Note: "share of the users by latency", color: ink{inkAccent, 80, 0},
		x: axis{label: "latency", log: true, ticks: timeTicks{}}, y: axis{ticks: plainTicks{unit: " %"}},
		Header: []string{"from ms", "to ms", "users", "share %"},
	}
	low, high := roundDown(max(0.001, result.Millis(s.Latency.Min()))), roundUp(max(0.01,
		result.Millis(s.Latency.Max())))
	c.x.min, c.x.max = low, high
	edge := func(i int) float64 { return low * math.Pow(high/low, float64(i)/bars) }
	counts := make([]int64, bars)
	for _, b := range s.Latency.Bars() {
		i := int(math.Log(max(middle(b), low)/low) / math.Log(high/low) * bars)
		counts[min(max(i, 0), bars-1)] += b.Count
	}
	most := 0.0
	for i, n := range counts {
		share := 100 * float64(n) / float64(s.Latency.Count())
		most = max(most, share)
		gap := math.Pow(high/low, 0.1/bars)
		c.bars = append(c.bars, bin{Min: edge(i) * gap, Max: edge(i+1) / gap, Weight: share})
		if n > 0 {
			c.Lines = append(c.Lines,
				chartLine{Cells: []string{
					fixed(edge(i)), fixed(edge(i + 1)), fmt.Sprint(n),
					fmt.Sprintf("%.2f", share),
				}, at: math.Sqrt(edge(i) * edge(i+1))})
		}
	}
	c.y.min, c.y.max = 0, 1.06*most
	return c
}

// throughputChart shows how many users started, ended and failed in each second.
func throughputChart(s *result.Scenario) *chart {
	rate := func(of func(*result.Slot) int64) []point {
		return over(s, len(s.Series), func(slot *result.Slot) float64 {
			return float64(of(slot)) * 1000 / float64(max(1, s.Load.ResolutionMillis))
		})
	}
	started, ended := func(s *result.Slot) int64 { return s.Started }, func(s *result.Slot) int64 { return s.Ended }
	c := &chart{
		Title: "Throughput", Note: "users for each second of the run",
		x: axis{
			label: "seconds since the beginning", min: 0,
			max: second(s, float64(max(len(s.Series), s.Load.Iterations))), ticks: plainTicks{},
		},
		y:      axis{ticks: plainTicks{unit: "/s"}},
		Header: []string{"second", "started", "ended", "failed"},
		lines: []line{
			{name: "started", color: ink{inkMuted, 100, 0}, width: 1.6, dashes: dashed, points: rate(started)},
			{name: "ended", color: ink{inkAccent, 100, 0}, width: 2.2, area: true, points: rate(ended)},
		},
	}
	if s.Failed > 0 {
		c.lines = append(c.lines,
			line{
				name: "failed", color: ink{inkBad, 100, 0}, width: 1.8,
				points: rate(func(s *result.Slot) int64 { return s.Failed }),
			})
	}
	if len(s.Series) > s.Load.Iterations {
		c.marks = append(c.marks, mark{at: second(s, float64(s.Load.Iterations)), text: "end of the schedule"})
	}
	for i, slot := range s.Series {
		c.Lines = append(c.Lines, chartLine{
			Cells: []string{
				digits3(second(s, float64(i))), fmt.Sprint(slot.Started), fmt.Sprint(slot.Ended),
				fmt.Sprint(slot.Failed),
			}, at: second(s, float64(i)+0.5),
		})
	}
	return c
}
