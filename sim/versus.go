package sim

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/report"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

// maxRounds bounds --rounds. A round takes at least a second for each design.
const maxRounds = 1000

func newVersus(with withSet) *cobra.Command {
	f, rounds := &runFlags{}, 0
	cmd := &cobra.Command{
		Use:   "versus [CONTEST]",
		Short: "Compare the designs for a problem under the same load; without a name, list the contests",
		Long: "Run the designs for a problem under the same load, one after the other, in several rounds with changing order. Print which design is\n" +
			"best in each figure. Without a load (--users, --iterations and so on), all get the load that the slowest can serve.\n\n" +
			contestList(),
		Example: "  sheaf sim versus cart --users 300\n  sheaf sim versus comments --uri mongodb://127.0.0.1:27017 --html comments.html",
		Args:    cobra.MaximumNArgs(1),
		RunE: with(func(set scenario.Set, cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprint(cmd.OutOrStdout(), contestList())
				return err
			}
			c, err := findContest(args[0])
			if err != nil {
				return err
			}
			if rounds < 1 || rounds > maxRounds {
				return fmt.Errorf("--rounds %d: it must be between 1 and %d", rounds, maxRounds)
			}
			results, err := f.contest(cmd, set, c, rounds)
			if err != nil {
				return err
			}
			f.output.designs = true
			if err := f.output.write(cmd, results...); err != nil {
				return err
			}
			if err := standing(cmd.OutOrStdout(), results); err != nil {
				return err
			}
			return verdict(results...)
		}),
	}
	f.register(cmd)
	cmd.Flags().IntVar(&rounds, "rounds", 1, "how often each design runs; what they measure is added up")
	return cmd
}

func contestList() string {
	var b strings.Builder
	b.WriteString("Contests:\n")
	for _, c := range scenarios.Contests() {
		fmt.Fprintf(&b, "  %-18s %s\n", c.Name, c.Title)
	}
	return b.String()
}

func findContest(name string) (scenarios.Contest, error) {
	var names []string
	for _, c := range scenarios.Contests() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return scenarios.Contest{}, fmt.Errorf("there is no contest %q; there are %s", name, strings.Join(names, ", "))
}

// contest runs the variants in rounds, and returns a result for each.
func (f *runFlags) contest(cmd *cobra.Command, set scenario.Set, c scenarios.Contest,
	rounds int,
) ([]*result.Result, error) {
	plans, err := f.plans(cmd, set, c)
	if err != nil {
		return nil, err
	}
	results := make([]*result.Result, len(c.Variants))
	for round := range rounds {
		for k := range c.Variants {
			i := (k + round) % len(c.Variants)
			if results[i] != nil || k > 0 { // before the first run there is nothing to wait for
				if err := rest(cmd.Context()); err != nil {
					return nil, err
				}
			}
			r, err := f.run(cmd, set, plans[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Variants[i].Label, err)
			}
			if results[i] == nil {
				results[i] = r
				continue
			}
			addRound(results[i], r)
		}
	}
	return results, nil
}

// rest waits a second, until the after-effects of the preceding run are over: compactions and
// closing connections.
func rest(ctx context.Context) error { return patterns.SystemClock{}.Sleep(ctx, time.Second) }

// plans returns the plans of the variants. If flags choose no load, every plan gets the smallest
// load that all variants can serve.
func (f *runFlags) plans(cmd *cobra.Command, set scenario.Set, c scenarios.Contest) ([]*engine.Plan, error) {
	plans, least := make([]*engine.Plan, len(c.Variants)), 0
	for i := range c.Variants {
		p, err := f.variant(set, c, i)
		if err != nil {
			return nil, err
		}
		if plans[i] = p; !f.loadIsOpen(nil) {
			continue
		}
		if plans[i], err = f.runner(cmd, set).Size(cmd.Context(), p); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Variants[i].Label, err)
		}
		if users := plans[i].Scenarios[0].Users; least == 0 || users < least {
			least = users
		}
	}
	for _, p := range plans {
		if least > 0 {
			p.Scenarios[0].Users = least
		}
	}
	return plans, nil
}

func (f *runFlags) variant(set scenario.Set, c scenarios.Contest, i int) (*engine.Plan, error) {
	v := c.Variants[i]
	p, err := f.makePlan(set, []string{v.Scenario})
	if err != nil {
		return nil, err
	}
	p.Title = c.Title + ": " + v.Label
	e := &p.Scenarios[0]
	params := map[string]any{}
	maps.Copy(params, e.Parameters)
	maps.Copy(params, v.Params)
	e.Parameters, e.Label, e.Database = params, v.Label, ""
	return p, nil
}

// addRound adds the measurements of a further round to the result of the earlier rounds.
func addRound(to, r *result.Result) {
	for i, s := range r.Scenarios {
		t := to.Scenarios[i]
		runtime := t.RuntimeSeconds + s.RuntimeSeconds
		t.Merge(&s.Measured)
		t.RuntimeSeconds = runtime
		t.Check.Done = t.Check.Done && s.Check.Done
		t.Check.Total += s.Check.Total
		t.Check.Violations = append(t.Check.Violations, s.Check.Violations...)
		if t.Check.Error == "" {
			t.Check.Error = s.Check.Error
		}
	}
	to.RuntimeSeconds += r.RuntimeSeconds
	to.ScheduleSeconds += r.ScheduleSeconds
	to.ClientCPUSeconds += r.ClientCPUSeconds
	if to.Partial == "" {
		to.Partial = r.Partial
	}
}

// measure is a figure by which designs are compared. A smaller value is better.
type measure struct {
	name string
	of   func(*result.Result) time.Duration
}

func measures() []measure {
	latency := func(fn func(*result.Timing) time.Duration) func(*result.Result) time.Duration {
		return func(r *result.Result) time.Duration { return fn(r.Scenarios[0].Latency) }
	}
	percentile := func(p float64) func(*result.Timing) time.Duration {
		return func(t *result.Timing) time.Duration { return t.Percentile(p) }
	}
	return []measure{
		{"mean", latency((*result.Timing).Mean)},
		{"median", latency(percentile(50))},
		{"p95", latency(percentile(95))},
		{"p99", latency(percentile(99))},
		{"processor time of a user", func(r *result.Result) time.Duration {
			cpu := r.ClientCPUSeconds
			if r.Server != nil && r.Environment.Target != engine.Embedded && r.Environment.Target != engine.Memory {
				cpu += r.Server.CPUSeconds
			}
			return time.Duration(cpu / float64(max(1, r.Scenarios[0].Started)) * float64(time.Second))
		}},
	}
}

// standing prints which design is best in each figure. It also compares the design with the best
// mean to each other design.
func standing(out io.Writer, results []*result.Result) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprint(w, "\n")
	for _, r := range results {
		fmt.Fprintf(w, "\t%s", r.Scenarios[0].Label)
	}
	fmt.Fprintln(w, "\tleast")
	var winner *result.Result
	for i, m := range measures() {
		fmt.Fprint(w, m.name)
		best := results[0]
		for _, r := range results {
			fmt.Fprintf(w, "\t%s", report.Readable(m.of(r)))
			if m.of(r) < m.of(best) {
				best = r
			}
		}
		fmt.Fprintf(w, "\t%s\n", best.Scenarios[0].Label)
		if i == 0 {
			winner = best
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	var pairs []report.Pair
	for _, r := range results {
		if r != winner {
			pairs = append(pairs, report.CompareScenarios(winner.Scenarios[0], r.Scenarios[0]))
		}
	}
	fmt.Fprintln(out)
	return report.PairsText(out, pairs...)
}
