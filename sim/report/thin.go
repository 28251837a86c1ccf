package report

import "github.com/sheafdb/sheaf/sim/result"

// mostSlots is how many points a line of a chart has at most, and how many rows the table beneath.
const mostSlots = 400

// one is a scenario of a run under a name, for charts of several.
type one struct {
	name  string
	color ink
	s     *result.Scenario
	// warm and cool are how many slots of s at the beginning and the end are not measured.
	warm, cool float64
}

// newOne puts the slots of a long run together.
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

// thinned are at most about mostSlots of the samples of a server, evenly spread.
func thinned(samples []result.ServerSample) (out []result.ServerSample) {
	n := max(1, (len(samples)+mostSlots-1)/mostSlots)
	for i := 0; i < len(samples); i += n {
		out = append(out, samples[i])
	}
	return out
}
