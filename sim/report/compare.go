package report

import (
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/sim/result"
)

// Verdict says which conclusion about b, compared with a, the evidence supports.
type Verdict string

// The verdicts.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Same says that the difference, if there is one, is smaller than Margin.
	Same Verdict = "no difference"
	// Open says that the evidence supports no other verdict.
	Open Verdict = "cannot be told"
	// None says that there is no verdict. The field Doubts of the Pair says why.
	None Verdict = "–"
)

// Margin is the largest ratio of two figures whose difference does not matter.
const Margin = 1.05

// Ratio compares a figure of two scenarios.
type Ratio struct {
	// Figure is mean, p50, p75, p95, p99, throughput, or the name of a step.
	Figure string
	Unit   string // "ms" or "/s"
	A, B   float64
	// Ratio is B/A. Low and High bound it with 95 % confidence. They are both zero if the figure
	// has no interval.
	Ratio, Low, High float64
	Verdict          Verdict
}

// Pair compares a scenario in two runs, or two designs in one run.
type Pair struct {
	A, B *result.Scenario
	// Differs lists differences in scenario, parameters or load. If it is not empty, Compare leaves
	// Ratios empty.
	Differs []string
	// Doubts says why there are no verdicts.
	Doubts []string
	Ratios []Ratio
}

// Comparison compares two results.
type Comparison struct {
	A, B *result.Result
	// Differs lists differences between the runs in server, machine and options. They may be the
	// purpose of the comparison.
	Differs []string
	Pairs   []Pair
	// OnlyA and OnlyB are the labels of scenarios that the other result does not have.
	OnlyA, OnlyB []string
}

// Compare compares the scenarios that two results have in common, by their labels. If each result
// has a single scenario, it compares these two scenarios, whatever their labels are. It does not
// compare scenarios whose parameters or load differ: their Pair lists the differences.
// CompareScenarios compares them anyway.
func Compare(a, b *result.Result) *Comparison {
	c := &Comparison{A: a, B: b, Differs: differentRuns(a, b)}
	alone := len(a.Scenarios) == 1 && len(b.Scenarios) == 1
	matched := map[*result.Scenario]bool{}
	for _, s := range a.Scenarios {
		i := slices.IndexFunc(b.Scenarios, func(o *result.Scenario) bool { return alone || o.Label == s.Label })
		if i < 0 {
			c.OnlyA = append(c.OnlyA, s.Label)
			continue
		}
		matched[b.Scenarios[i]] = true
		p := CompareScenarios(s, b.Scenarios[i])
		if s.Name != b.Scenarios[i].Name {
			p.Differs = append([]string{fmt.Sprintf("scenario: %s, %s", s.Name, b.Scenarios[i].Name)}, p.Differs...)
		}
		if len(p.Differs) > 0 {
			p.Ratios = nil
		}
		if a.Partial != "" || b.Partial != "" {
			p.doubt("at least one run is partial")
		}
		c.Pairs = append(c.Pairs, p)
	}
	for _, s := range b.Scenarios {
		if !matched[s] {
			c.OnlyB = append(c.OnlyB, s.Label)
		}
	}
	return c
}

// CompareScenarios compares two scenarios even if they differ, such as two designs for one problem.
// The Pair lists their differences, except their names. If the loads differ, there are no verdicts.
//
// The interval of a ratio comes from a bootstrap over slots, not over single latencies. Users of
// the same second share its stalls, so thousands of latencies are much weaker evidence than as many
// independent ones. A backlog passes from one slot to the next, so consecutive slots are drawn
// together, in circular blocks of the square root of their number (H. R. Künsch, The jackknife and
// the bootstrap for general stationary observations, Annals of Statistics 17, 1989; D. N. Politis
// and J. P. Romano, A circular block-resampling procedure for stationary data, 1992). If the load
// changes from slot to slot, both scenarios get the same slots.
//
// The half-width of the interval is the standard deviation of the logarithm of the ratio over the
// draws, times Student's t for as many independent observations as there are blocks. The plain
// percentiles of the draws (B. Efron, 1979) are too narrow for 25 slots. Of two runs of the same
// kind, one in twenty to one in ten is called better or worse; the rate rises if slots depend on
// each other more.
//
// A figure is better or worse if the whole interval is on one side of 1. There is no difference if
// the whole interval is within Margin (equivalence by inclusion of the interval: D. J. Schuirmann,
// 1987). Otherwise the verdict is open. The interval does not show how much runs of the same kind
// differ. To see that, repeat a run and compare the two results.
func CompareScenarios(a, b *result.Scenario) Pair {
	p := Pair{A: a, B: b, Differs: append(differentLoads(a.Load, b.Load),
		differentMaps("parameter ", a.Params, b.Params)...)}
	p.Ratios = ratios(a, b)
	if len(differentLoads(a.Load, b.Load)) > 0 {
		p.doubt("they had different loads")
	}
	for _, s := range []*result.Scenario{a, b} {
		switch {
		case s.Check.Error != "" || s.Check.Total > 0:
			p.doubt(fmt.Sprintf("%s is wrong (%d violations %s)", s.Label, s.Check.Total, s.Check.Error))
		case s.Cut > 0:
			p.doubt(fmt.Sprintf("%s has %d users who were cut: their latencies, the longest ones, are unknown", s.Label, s.Cut))
		}
	}
	if failed := failures(a) - failures(b); failed > 0.01 || failed < -0.01 {
		p.doubt(fmt.Sprintf("%.1f %% and %.1f %% of the users failed: latencies exclude them", 100*failures(a), 100*failures(b)))
	}
	if n := min(len(slotsOf(a)), len(slotsOf(b))); n < leastSlots && !a.Load.Resident {
		p.doubt(fmt.Sprintf("%d iterations are too few for verdicts; %d are enough", n, leastSlots))
	}
	return p
}

func (p *Pair) doubt(why string) {
	p.Doubts = append(p.Doubts, why)
	for i := range p.Ratios {
		p.Ratios[i].Verdict = None
	}
}

func failures(s *result.Scenario) float64 {
	if s.Started == 0 {
		return 0
	}
	return float64(s.Failed) / float64(s.Started)
}

// differentRuns lists the differences between two runs.
func differentRuns(a, b *result.Result) (out []string) {
	fa, fb := facts(a), facts(b)
	for _, f := range pairs(fa) {
		if fb[f.Name] != f.Value {
			out = append(out, fmt.Sprintf("%s: %s, %s", f.Name, named(f.Value), named(fb[f.Name])))
		}
	}
	for _, f := range pairs(fb) {
		if _, ok := fa[f.Name]; !ok {
			out = append(out, fmt.Sprintf("%s: none, %s", f.Name, named(f.Value)))
		}
	}
	return out
}

// facts returns the facts that should be the same in two compared runs.
func facts(r *result.Result) map[string]string {
	out := map[string]string{
		"Agents":                  fmt.Sprint(len(r.Agents)),
		"Users under way at most": fmt.Sprint(r.Options.MaxInFlight),
	}
	for _, f := range Facts(r) {
		switch f.Name {
		case "Processor time of the load generator", "Processor time of the server":
		default:
			out[f.Name] = f.Value
		}
	}
	for _, a := range r.Agents {
		delete(out, "Agent "+a.Address)
	}
	return out
}

func named(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

func differentMaps(kind string, a, b map[string]string) (out []string) {
	for _, f := range pairs(a) {
		if b[f.Name] != f.Value {
			out = append(out, fmt.Sprintf("%s%s: %s, %s", kind, f.Name, f.Value, named(b[f.Name])))
		}
	}
	for _, f := range pairs(b) {
		if _, ok := a[f.Name]; !ok {
			out = append(out, fmt.Sprintf("%s%s: none, %s", kind, f.Name, f.Value))
		}
	}
	return out
}

func differentLoads(a, b result.Load) (out []string) {
	if ta, tb := loadText(a), loadText(b); ta != tb {
		out = append(out, fmt.Sprintf("load: %s, %s", ta, tb))
	}
	if a.MeasuredIteration != b.MeasuredIteration {
		out = append(out, fmt.Sprintf("measured iterations: %d, %d", a.MeasuredIteration, b.MeasuredIteration))
	}
	return out
}
