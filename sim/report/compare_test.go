package report_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sim/report"
	"github.com/sheafdb/sheaf/sim/result"
)

func verdicts(p report.Pair) map[string]report.Verdict {
	out := map[string]report.Verdict{}
	for _, r := range p.Ratios {
		out[r.Figure] = r.Verdict
	}
	return out
}

// TestCompare compares a run with three other runs. One is twice as fast except for a stall, which
// shows in its p99. One is the same run. One is faster, but by too little for a verdict.
func TestCompare(t *testing.T) {
	t.Parallel()
	a := synthetic(1, 1)
	c := report.Compare(a, synthetic(100, 0.5))
	if len(c.Pairs) != 2 || len(c.Differs)+len(c.Pairs[0].Doubts)+len(c.Pairs[0].Differs) > 0 {
		t.Fatalf("%+v", c)
	}
	for figure, want := range map[string]report.Verdict{
		"mean": report.Better, "p50": report.Better,
		"p99": report.Open, "throughput": report.Same, "write, mean": report.None,
	} {
		if got := verdicts(c.Pairs[0])[figure]; got != want {
			t.Errorf("%s is %s, want %s", figure, got, want)
		}
	}
	for _, r := range c.Pairs[0].Ratios[:4] {
		if r.Low > 0.5 || r.High < 0.5 {
			t.Errorf("%s: %.3f to %.3f is not about 0.5", r.Figure, r.Low, r.High)
		}
	}
	if got := verdicts(report.Compare(synthetic(100, 0.5), a).Pairs[0])["p50"]; got != report.Worse {
		t.Errorf("the other way round it is %s", got)
	}
	if got := verdicts(report.Compare(a, a).Pairs[0])["p99"]; got != report.Open {
		t.Errorf("the p99 of a run and itself, with a stall, is %s", got)
	}
	if got := verdicts(report.Compare(a, synthetic(1, 0.97)).
		Pairs[0])["mean"]; got == report.Better || got == report.Worse {
		t.Errorf("three percent are %s", got)
	}
	text1 := text(t, func(b *strings.Builder) error { return c.Text(b) })
	want(t, text1, "a: carts and queues", "b: ", "a: FAILURES, cart-reserve", "scenario", "b/a", "95 % interval",
		"b is", "cart-reserve", "mean", "better", "queue-publish")
	want(t, text(t, func(b *strings.Builder) error { return c.Markdown(b) }), "- a: ",
		"| cart-reserve | mean | ms |", "×0.5")
	if again := text(t, func(b *strings.Builder) error {
		return report.Compare(a, synthetic(100, 0.5)).Text(b)
	}); again != text1 {
		t.Error("the same results give another comparison")
	}
}

// TestCompareRefuses: if scenarios differ in parameters or load, Compare lists the differences and
// computes no ratios.
func TestCompareRefuses(t *testing.T) {
	t.Parallel()
	a, b := synthetic(1, 1), synthetic(100, 0.5)
	b.Scenarios[0].Params["products"] = "6"
	b.Scenarios[0].Load.Users = 100
	b.Scenarios[1].Label = "another"
	b.Environment.ServerVersion = "0.4.0"
	c := report.Compare(a, b)
	if len(c.Pairs) != 1 || len(c.Pairs[0].Ratios) > 0 || len(c.OnlyA) != 1 || len(c.OnlyB) != 1 {
		t.Fatalf("%+v", c)
	}
	want(t, text(t, func(w *strings.Builder) error { return c.Text(w) }), "The runs differ in Server: Sheaf 0.3.0 (MongoDB 8.0.0), Sheaf 0.4.0",
		"NOT COMPARED: cart-reserve differ in load: 25 iterations of 1000 ms, each with 200 users", "NOT COMPARED: cart-reserve differ in parameter products: 5, 6", "Only a has queue-publish", "Only b has another")
	p := report.CompareScenarios(a.Scenarios[0], b.Scenarios[0])
	if verdicts(p)["mean"] != report.None || len(p.Differs) != 2 || len(p.Ratios) == 0 || len(p.Doubts) != 1 {
		t.Errorf("two designs under different loads: %+v", p)
	}
	b.Scenarios[0].Load.Users = 200
	p = report.CompareScenarios(a.Scenarios[0], b.Scenarios[0])
	if verdicts(p)["mean"] != report.Better || len(p.Differs) != 1 {
		t.Errorf("two designs: %+v", p)
	}
	want(t, text(t, func(w *strings.Builder) error { return report.PairsText(w, p) }),
		"cart-reserve differ in parameter", "better")
}

// TestCompareDoubts: some runs are too weak for a verdict. Then Doubts says why.
func TestCompareDoubts(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(r *result.Result){
		"is wrong": func(r *result.Result) {
			r.Scenarios[0].Check.Total = 1
			r.Scenarios[0].Check.Violations = []string{"x"}
		},
		"were cut":       func(r *result.Result) { r.Scenarios[0].Cut = 3 },
		"users failed":   func(r *result.Result) { r.Scenarios[0].Failed = 400 },
		"are too few":    func(r *result.Result) { r.Scenarios[0].Series = r.Scenarios[0].Series[:6] },
		"run is partial": func(r *result.Result) { r.Partial = "interrupted" },
	}
	for doubt, fn := range spoil {
		b := synthetic(100, 0.5)
		fn(b)
		p := report.Compare(synthetic(1, 1), b).Pairs[0]
		if len(p.Doubts) != 1 || !strings.Contains(p.Doubts[0], doubt) || verdicts(p)["mean"] != report.None {
			t.Errorf("%s: %q, mean is %s", doubt, p.Doubts, verdicts(p)["mean"])
		}
		if r := p.Ratios[0]; doubt == "are too few" && (r.Low != 0 || r.High != 0) {
			t.Errorf("six slots have an interval: %+v", r)
		}
	}
}

// TestCompareIsHonest compares runs of the same kind, in which a slow slot also slows down the next
// slot. Only few of these runs may be called better or worse.
func TestCompareIsHonest(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	const n = 60
	wrong := map[string]int{}
	for i := range uint64(n) {
		for figure, verdict := range verdicts(report.CompareScenarios(sluggish(2*i), sluggish(2*i+1))) {
			if verdict == report.Better || verdict == report.Worse {
				wrong[figure]++
			}
		}
	}
	for figure, of := range wrong {
		if of > n/8 {
			t.Errorf("%s: %d of %d comparisons of the same are not open", figure, of, n)
		}
	}
}

// sluggish returns a run whose consecutive slots are slow or fast together: each slot takes over a
// third of the slowness of the preceding slot.
func sluggish(seed uint64) *result.Scenario {
	random, slow := rand.New(rand.NewPCG(seed, 99)), 0.0
	s := &result.Scenario{
		Measured: *result.NewMeasured(), Check: result.Check{Done: true},
		Load: result.Load{Iterations: 25, ResolutionMillis: 1000, Users: 100},
	}
	for i := range 25 {
		slow = 0.33*slow + 0.94*random.NormFloat64()
		slot := s.Slot(i)
		for range 100 {
			d := time.Duration(4e6 * math.Exp(0.2*slow+0.5*random.NormFloat64()))
			slot.Latency.Add(d)
			s.Latency.Add(d)
		}
		slot.Ended += 100
		s.Started += 100
		s.Succeeded += 100
	}
	return s
}
