package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/sim/result"
)

// serverCharts returns charts of the server's counters during a run.
func serverCharts(r *result.Result) (out []*chart) {
	if r.Server == nil || len(r.Server.Samples) == 0 {
		return nil
	}
	samples := thinned(r.Server.Samples)
	has := func(value func(result.ServerSample) float64) bool {
		return slices.ContainsFunc(samples, func(s result.ServerSample) bool { return value(s) > 0 })
	}
	cpu := func(s result.ServerSample) float64 { return s.CPU }
	memory := func(s result.ServerSample) float64 { return float64(s.ResidentBytes) / (1 << 20) }
	if names := operations(samples); len(names) > 0 {
		c := serverChart("Operations of the server", "by its own counters", samples, "/s")
		for i, name := range names {
			c.sampled(strings.TrimPrefix(name, "opcounters."), ink{inkSeries, 100, uint8(i)}, samples,
				func(s result.ServerSample) float64 { return s.Rates[name] })
		}
		out = append(out, c)
	}
	if has(cpu) {
		c := serverChart("Processor", "cores in use by the server", samples, "")
		if r.Environment.Target == "embedded" || r.Environment.Target == "memory" {
			c.Note += "; it is in the same process as the load generator"
		}
		c.sampled("", ink{inkSeries, 100, 0}, samples, cpu)
		c.Header[1] = "cores"
		out = append(out, c)
	}
	if has(memory) {
		c := serverChart("Memory", "resident", samples, " MiB")
		c.sampled("", ink{inkSeries, 100, 4}, samples, memory)
		c.Header[1] = "MiB"
		out = append(out, c)
	}
	return out
}

// operations returns the names of the counters that are not always 0. The counter of commands comes
// last, because it includes the simulator's own requests for samples.
func operations(samples []result.ServerSample) (out []string) {
	seen := map[string]float64{}
	for _, s := range samples {
		for name, rate := range s.Rates {
			if strings.HasPrefix(name, "opcounters.") && rate > 0 && !strings.HasSuffix(name, ".deprecated") {
				seen[name] += rate
			}
		}
	}
	out = slices.SortedFunc(maps.Keys(seen), func(a, b string) int {
		if seen[a] != seen[b] {
			return int(min(max(seen[b]-seen[a], -1), 1) * 2)
		}
		return strings.Compare(a, b)
	})
	return out[:min(len(out), palette)]
}

func serverChart(title, note string, samples []result.ServerSample, unit string) *chart {
	c := &chart{
		Title: title, Note: note, Header: []string{"second"},
		x: axis{
			label: "seconds since the beginning", min: 0, max: max(1, samples[len(samples)-1].Second),
			ticks: plainTicks{},
		}, y: axis{ticks: plainTicks{unit: unit}},
	}
	for _, s := range samples {
		c.Lines = append(c.Lines, chartLine{Cells: []string{fmt.Sprintf("%.1f", s.Second)}, at: s.Second})
	}
	return c
}

// sampled adds a line for a value of the samples to the chart, and a column to its table.
func (c *chart) sampled(name string, color ink, samples []result.ServerSample,
	value func(result.ServerSample) float64,
) {
	l := line{name: name, color: color, width: 2, area: name == ""}
	for i, s := range samples {
		l.points = append(l.points, point{X: s.Second, Y: value(s)})
		c.Lines[i].Cells = append(c.Lines[i].Cells, digits3(value(s)))
	}
	c.lines = append(c.lines, l)
	c.Header = append(c.Header, name)
}

// compareCharts shows one scenario of several runs: the distribution of its latency, and its p99
// over time.
func compareCharts(ones []one) []*chart {
	c := &chart{
		Title: "p99 over time", Note: "by the second at which users were due", Header: []string{"second"},
		x: axis{label: "seconds since the beginning", ticks: plainTicks{}}, y: axis{log: true, ticks: timeTicks{}},
	}
	longest := 0
	for _, o := range ones {
		n := o.s.Load.Iterations
		longest = max(longest, scheduled(o.s))
		c.x.max = max(c.x.max, second(o.s, float64(n)))
		c.lines = append(c.lines,
			line{name: o.name, color: o.color, width: 2, points: over(o.s, scheduled(o.s), at(99))})
		c.Header = append(c.Header, o.name+" ms")
	}
	for i := range longest {
		row := chartLine{Cells: []string{digits3(second(ones[0].s, float64(i)))}, at: second(ones[0].s, float64(i)+0.5)}
		for _, o := range ones {
			value := none
			if i < len(o.s.Series) {
				value = at(99)(o.s.Series[i])
			}
			row.Cells = append(row.Cells, orNone(value))
		}
		c.Lines = append(c.Lines, row)
	}
	return []*chart{percentileChart("Percentiles", ones), c}
}

// forestChart shows the ratios of a pair with their intervals. It returns nil if no ratio has an
// interval.
func forestChart(p Pair, names [2]string) *chart {
	c := &chart{
		Title: "Ratios", Note: fmt.Sprintf("%s divided by %s, with 95 %% intervals; left of ×1 %s has less", names[1], names[0], names[1]), x: axis{log: true, ticks: ratioTicks{}},
		marks: []mark{{at: 1}},
	}
	var ticks fixedTicks
	low, high := 0.8, 1.25
	for _, r := range p.Ratios {
		if r.Low <= 0 || r.Ratio <= 0 {
			continue
		}
		y := -float64(len(ticks))
		ticks = append(ticks, tick{Value: y, Label: r.Figure})
		color := ink{inkMuted, 100, 0}
		switch r.Verdict {
		case Better:
			color = ink{inkGood, 100, 0}
		case Worse:
			color = ink{inkBad, 100, 0}
		default: // neither better nor worse: the neutral colour
		}
		c.lines = append(c.lines, line{color: color, width: 2.5, points: []point{{X: r.Low, Y: y}, {X: r.High, Y: y}}},
			line{color: color, width: 4, points: []point{{X: r.Ratio, Y: y}}})
		low, high = min(low, r.Low/1.05), max(high, r.High*1.05)
	}
	if len(ticks) == 0 {
		return nil
	}
	c.x.min, c.x.max = low, high
	c.y = axis{min: 0.5 - float64(len(ticks)), max: 0.5, ticks: ticks}
	return c
}
