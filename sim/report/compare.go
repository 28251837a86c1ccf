package report

import (
	"fmt"
	"slices"

	"github.com/sheafdb/sheaf/sim/result"
)

// Verdict is what the evidence allows to say of b beside a.
type Verdict string

// The verdicts.
const (
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Same says that any difference is smaller than Margin.
	Same Verdict = "no difference"
	// Open says that the evidence does not suffice for any of the others.
	Open Verdict = "cannot be told"
	// None says that no verdict was tried: the Pair's Doubts say why.
	None Verdict = "–"
)

// Margin is the ratio up to which two figures are of no difference to anybody.
const Margin = 1.05

// Ratio is a figure of two scenarios.
type Ratio struct {
	// Figure is mean, p50, p75, p95, p99, throughput, or the name of a step.
	Figure string
	Unit   string // "ms" or "/s"
	A, B   float64
	// Ratio is B/A. Low and High bound it with 95 % confidence; both are zero if there is no such interval.
	Ratio, Low, High float64
	Verdict          Verdict
}

// Pair is a scenario in two runs, or two designs in one.
type Pair struct {
	A, B *result.Scenario
	// Differs says in what the two are not the same scenario, parameters or load. Compare then leaves Ratios empty.
	Differs []string
	// Doubts say why there are no verdicts, whatever the ratios are.
	Doubts []string
	Ratios []Ratio
}

// Comparison is two results side by side.
type Comparison struct {
	A, B *result.Result
	// Differs says in what the runs were not the same: server, machine, options. That may be what the comparison is for.
	Differs []string
	Pairs   []Pair
	// OnlyA and OnlyB are the labels of scenarios that the other does not have.
	OnlyA, OnlyB []string
}

// Compare compares the scenarios that two results have in common, by their labels; if each has one only, those.
// Scenarios whose parameters or load differ are not compared: their Pair says what differs. CompareScenarios does it all the same.
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
			p.doubt("not both runs are whole")
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

// CompareScenarios compares two scenarios even if they differ: two designs for one problem. What differs, other than their names, is said; if the load
// does, there are no verdicts.
//
// The interval of a ratio comes from a bootstrap whose units are slots, not single latencies: users of the same second share its stalls, so that
// thousands of latencies are far less evidence than as many independent ones would be. Slots that follow each other are drawn together, in circular
// blocks of the square root of their number, as a backlog passes from one to the next (H. R. Künsch, The jackknife and the bootstrap for general
// stationary observations, Annals of Statistics 17, 1989; D. N. Politis and J. P. Romano, A circular block-resampling procedure for stationary data,
// 1992). If the load changes from slot to slot, both scenarios get the same slots. The interval is the deviation of the logarithm of the ratio over the
// draws times Student's t, for as many independent observations as there are blocks: the plain percentiles of the draws (B. Efron, 1979) are too narrow
// for 25 slots. Of two runs of the same kind, one in twenty to ten is then called better or worse, the more the slots depend on each other.
//
// A figure is better or worse if the whole interval is on one side of 1, and of no difference if all of it is within Margin (equivalence by the
// inclusion of the interval: D. J. Schuirmann, 1987). Otherwise it cannot be told. What the interval does not know is how much one run differs from the
// next of the same kind: repeat a run, and compare it with itself, to see that.
func CompareScenarios(a, b *result.Scenario) Pair {
	p := Pair{A: a, B: b, Differs: append(differentLoads(a.Load, b.Load), differentMaps("parameter ", a.Params, b.Params)...)}
	p.Ratios = ratios(a, b)
	if len(differentLoads(a.Load, b.Load)) > 0 {
		p.doubt("they had different loads")
	}
	for _, s := range []*result.Scenario{a, b} {
		switch {
		case s.Check.Error != "" || s.Check.Total > 0:
			p.doubt(fmt.Sprintf("%s is wrong (%d violations %s)", s.Label, s.Check.Total, s.Check.Error))
		case s.Cut > 0:
			p.doubt(fmt.Sprintf("%s has %d users who were cut: their latencies, the longest, are not known", s.Label, s.Cut))
		}
	}
	if failed := failures(a) - failures(b); failed > 0.01 || failed < -0.01 {
		p.doubt(fmt.Sprintf("%.1f %% and %.1f %% of the users failed: latencies are those of the others", 100*failures(a), 100*failures(b)))
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

// differentRuns says in what two runs differ.
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

// facts are those that two runs should have in common.
func facts(r *result.Result) map[string]string {
	out := map[string]string{"Agents": fmt.Sprint(len(r.Agents)), "Users under way at most": fmt.Sprint(r.Options.MaxInFlight)}
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
