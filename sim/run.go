package sim

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/report"
	"github.com/sheafdb/sheaf/sim/result"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func newRun(with withSet) *cobra.Command {
	f, search, find, each := &runFlags{}, engine.Search{}, false, false
	cmd := &cobra.Command{
		Use:   "run FILE.yaml|NAME…",
		Short: "Run scenarios, or the plan in a file",
		Long: "Run scenarios, or the plan in a file. Users start on schedule, whether or not the server keeps up. The time of a user counts from the\n" +
			"moment when the user should have started. After the run, the invariants of the pattern are checked; if one is broken, the run fails.\n\n" +
			"Without a load (--users, --iterations and so on), the run first finds a load that the machine can serve, and prints it. It takes less\n" +
			"than half a minute. --book runs the whole load of each scenario, as in the books, however long it takes.\n\n" +
			"The exit code is 1 if users failed or an invariant is broken.",
		Example: "  sheaf sim run cart-reserve --users 200 --iterations 10\n" +
			"  sheaf sim run queue-publish queue-fetch-fifo --out queue.json --html queue.html\n" +
			"  sheaf sim run theater -p numberOfTickets=3 --uri mongodb://127.0.0.1:27017 --find-limit --p99 50ms",
		Args: cobra.MinimumNArgs(1),
		RunE: with(func(set scenario.Set, cmd *cobra.Command, args []string) error {
			if err := checkSearch(search, find, f.changed); err != nil {
				return err
			}
			runs := [][]string{args}
			if each {
				runs = runs[:0]
				for _, arg := range args {
					runs = append(runs, strings.Split(arg, "+"))
				}
			}
			var results []*result.Result
			for _, names := range runs {
				p, err := f.makePlan(set, names)
				if err != nil {
					return err
				}
				if !find && f.loadIsOpen(names) {
					defer boundMemory()()
					if p, err = f.runner(cmd, set).Size(cmd.Context(), p); err != nil {
						return err
					}
				}
				r, err := f.runOrSearch(cmd, set, p, find, search)
				if r != nil {
					results = append(results, r)
				}
				if err != nil {
					return errors.Join(f.write(cmd, results...), err)
				}
			}
			if err := f.write(cmd, results...); err != nil {
				return err
			}
			return verdict(results...)
		}),
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&each, "each", false, "run the arguments one after the other; NAME+NAME run at the same time")
	flags.BoolVar(&find, "find-limit", false, "search for the greatest number of users with which the server keeps up")
	flags.DurationVar(&search.P99, "p99", engine.DefaultP99, "bound of the 99th percentile in the search")
	flags.IntVar(&search.Repeats, "repeats", engine.DefaultRepeats, "number of runs at the limit that must keep up")
	flags.IntVar(&search.MaxUsers, "max-users", 0, "end the search at this number of users (default: 1000000)")
	return cmd
}

// defaultMemory bounds Go's memory in a run without a given load. With the store's other memory,
// the process takes 512 MB. At the limit, Go collects garbage more often.
const defaultMemory = 384 << 20

// boundMemory sets the limit of Go's memory to defaultMemory, unless GOMEMLIMIT is set. The
// returned function resets it.
func boundMemory() (release func()) {
	before := debug.SetMemoryLimit(-1)
	if before != math.MaxInt64 {
		return func() {}
	}
	debug.SetMemoryLimit(defaultMemory)
	return func() { debug.SetMemoryLimit(before) }
}

// runner returns a Runner that prints notes and progress.
func (f *runFlags) runner(cmd *cobra.Command, set scenario.Set) engine.Runner {
	r := engine.Runner{Set: set}
	if !f.quiet {
		var live *report.Live // a new one for each load
		r.Note = func(line string) {
			if live != nil {
				live.Finish()
			}
			live = report.NewLive(cmd.ErrOrStderr())
			fmt.Fprintln(cmd.ErrOrStderr(), line)
		}
		r.Progress = func(p load.Progress) { live.Show(p) }
	}
	if len(f.agents) > 0 {
		r.Driver = f.fleet()
	}
	return r
}

func (f *runFlags) run(cmd *cobra.Command, set scenario.Set, p *engine.Plan) (*result.Result, error) {
	return f.runner(cmd, set).Run(cmd.Context(), p)
}

// runOrSearch runs a plan, or searches for its limit.
func (f *runFlags) runOrSearch(cmd *cobra.Command, set scenario.Set, p *engine.Plan, find bool,
	search engine.Search,
) (*result.Result, error) {
	if find {
		return f.runner(cmd, set).FindLimit(cmd.Context(), p, search)
	}
	return f.run(cmd, set, p)
}

// verdict returns an error if a result is partial or wrong.
func verdict(results ...*result.Result) error {
	for _, r := range results {
		if wrong := r.Wrong(); len(wrong) > 0 {
			return fmt.Errorf("%w: %s", ErrWrong, strings.Join(wrong, "; "))
		}
		if r.Partial != "" {
			return fmt.Errorf("%w: %s", ErrPartial, r.Partial)
		}
		if err := failures(r); err != nil {
			return err
		}
	}
	return nil
}

// failures returns an error if users failed. Residents that are cut at the end of the run do not
// count as failures.
func failures(r *result.Result) error {
	for _, s := range r.Scenarios {
		if s.Failed > 0 {
			return fmt.Errorf("%w: %d of %d users of %s; see the column errors",
				ErrFailed, s.Failed, s.Started, s.Label)
		}
		if s.Cut > 0 && !s.Load.Resident {
			return fmt.Errorf("%w: %d of %d users of %s did not end within the grace",
				ErrFailed, s.Cut, s.Started, s.Label)
		}
	}
	return nil
}
