package report

import "github.com/sheafdb/sheaf/sim/result"

// mostSlots is the maximum number of slots or samples in a chart, and of rows in the table below
// the chart.
const mostSlots = 400

// one is a scenario of a run, with its name and colour in a chart of several scenarios.
type one struct {
	name  string
	color ink
	s     *result.Scenario
	// warm and cool are the numbers of slots at the beginning and at the end that are not measured.
	warm, cool float64
}

// newOne prepares a scenario for a chart. In a long run it merges neighbouring slots, so that there
// are at most mostSlots.
func newOne(name string, color ink, s *result.Scenario, o result.Options) one {
	n := (len(s.Series) + mostSlots - 1) / mostSlots
	if n <= 1 {
		return one{name, color, s, float64(o.WarmUp), float64(o.CoolDown)}
	}
	thin := *s
	thin.Series = nil
	for i, from := range s.Series {
		to := thin.Slot(i / n)
		to.Started += from.Started
		to.Ended += from.Ended
		to.Failed += from.Failed
		to.Latency.Merge(from.Latency)
	}
	thin.Load.ResolutionMillis *= int64(n)
	thin.Load.Iterations = (s.Load.Iterations + n - 1) / n
	return one{name, color, &thin, float64(o.WarmUp) / float64(n), float64(o.CoolDown) / float64(n)}
}

// thinned returns at most mostSlots of the samples, evenly spread.
func thinned(samples []result.ServerSample) (out []result.ServerSample) {
	n := max(1, (len(samples)+mostSlots-1)/mostSlots)
	for i := 0; i < len(samples); i += n {
		out = append(out, samples[i])
	}
	return out
}
