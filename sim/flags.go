package sim

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// runFlags are the flags of the commands that run scenarios. A flag on the command line overrides
// the plan file.
type runFlags struct {
	uri, dir string
	memory   bool
	title    string
	params   []string
	plan     engine.Plan
	load     load.Load
	alone    bool
	output
	agents  []string
	token   string
	changed func(name string) bool
}

func (f *runFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.uri, "uri", "", "connection string of the server (default: an embedded store in a temporary directory)")
	flags.StringVar(&f.dir, "dir", "", "use an embedded store in this directory")
	flags.BoolVar(&f.memory, "memory", false, "use an embedded store in memory")
	cmd.MarkFlagsMutuallyExclusive("uri", "dir", "memory")
	flags.StringVar(&f.title, "title", "", "title of the report")
	flags.StringArrayVarP(&f.params, "param", "p", nil, "parameter NAME=VALUE for every scenario that has it, or SCENARIO.NAME=VALUE for one scenario")
	flags.IntVar(&f.load.Users, "users", 0, "users who start in each iteration (default: the scenario's own)")
	flags.IntVar(&f.load.Iterations, "iterations", load.DefaultIterations, "number of iterations")
	flags.DurationVar(&f.load.Resolution, "resolution", load.DefaultResolution, "length of an iteration")
	flags.StringVar(&f.load.Shape, "shape", load.Constant, "users per iteration: constant, ramp (from --from to --users), steps (--steps) or poisson")
	flags.IntVar(&f.load.From, "from", 0, "users of the first iteration of a ramp")
	flags.IntSliceVar(&f.load.Steps, "steps", nil, "users of each step: 100,500,1000")
	flags.StringVar(&f.load.Spread, "spread", load.Slice, "starts within an iteration: slice (evenly) or burst (all at once)")
	flags.DurationVar(&f.load.Delay, "delay", 0, "waiting time before the first iteration")
	flags.IntVar(&f.plan.WarmUp, "warm-up", 0, "number of iterations at the beginning that are not measured")
	flags.IntVar(&f.plan.CoolDown, "cool-down", 0, "number of iterations at the end that are not measured")
	flags.DurationVar(&f.plan.Grace, "grace", load.DefaultGrace, "how long users may continue after the last user has started")
	flags.IntVar(&f.plan.MaxInFlight, "max-in-flight", load.DefaultMaxInFlight, "maximum of active users of a scenario; more users wait, and their time runs")
	flags.IntVar(&f.plan.PoolSize, "pool-size", engine.DefaultPoolSize, "maximum number of connections of a process")
	flags.StringVar(&f.plan.WriteConcern, "write-concern", "", "1, 2, … or majority (default: the server's)")
	flags.BoolVar(&f.plan.Journal, "journal", false, "wait until writes are on disk (j: true)")
	flags.StringVar(&f.plan.ReadConcern, "read-concern", "", "local, majority, … (default: the server's)")
	flags.StringVar(&f.plan.ReadPreference, "read-preference", "", "primary, secondaryPreferred, …")
	flags.Uint64Var(&f.plan.Seed, "seed", 0, "seed of the random numbers; the same seed gives the same users")
	flags.BoolVar(&f.plan.Keep, "keep", false, "keep the databases at the end")
	flags.BoolVar(&f.plan.Force, "force", false, "use databases that are not the simulator's, and DELETE their content")
	flags.BoolVar(&f.alone, "alone", false, "do not add the scenarios that usually run at the same time")
	flags.StringSliceVar(&f.agents, "agents", nil, "load generators, host:port,…, started by 'sheaf sim agent'")
	flags.StringVar(&f.token, "token", "", "token of the agents (default: $SHEAF_SIM_TOKEN)")
	f.output.register(cmd)
	flags.Lookup("book").Usage = "run the books' load, and compare with their figures, which are from another machine and era"
	f.changed = flags.Changed
}

// makePlan returns the plan of a file or of scenarios, with the flags applied.
func (f *runFlags) makePlan(set scenario.Set, args []string) (*engine.Plan, error) {
	if err := f.check(args); err != nil {
		return nil, err
	}
	p := &engine.Plan{}
	for _, arg := range args {
		if !isFile(arg) {
			p.Scenarios = append(p.Scenarios, engine.Entry{Scenario: arg})
			continue
		}
		read, err := engine.ReadPlan(arg)
		if err != nil {
			return nil, err
		}
		read.Scenarios = append(p.Scenarios, read.Scenarios...)
		p = read
	}
	if !f.alone {
		if err := addCompanions(set, p); err != nil {
			return nil, err
		}
	}
	f.apply(p)
	if p.Title == "" {
		p.Title = titleOf(p)
	}
	return p, f.addParams(set, p)
}

// loadFlags are the flags that choose a load.
var loadFlags = []string{
	"book", "users", "iterations", "resolution", "shape", "from", "steps", "spread",
	"delay", "warm-up", "cool-down",
}

// loadIsOpen reports whether neither a flag nor a plan file chooses a load.
func (f *runFlags) loadIsOpen(args []string) bool {
	return !slices.ContainsFunc(loadFlags, f.changed) && !slices.ContainsFunc(args, isFile)
}

// titleOf returns the scenarios' names for a plan without a title.
func titleOf(p *engine.Plan) string {
	names := make([]string, len(p.Scenarios))
	for i, e := range p.Scenarios {
		names[i] = e.Scenario
		if e.Label != "" {
			names[i] = e.Label
		}
	}
	return strings.Join(names, ", ")
}

// isFile reports whether an argument is a plan file, and not the name of a scenario.
func isFile(arg string) bool {
	return strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") ||
		strings.ContainsRune(arg, os.PathSeparator)
}

// addCompanions adds to a plan the companions of its scenarios: scenarios that usually run at the
// same time. A companion uses the same database as its scenario.
func addCompanions(set scenario.Set, p *engine.Plan) error {
	var all []engine.Entry
	for _, e := range p.Scenarios {
		d, err := set.Find(e.Scenario)
		if err != nil {
			return err
		}
		if len(d.Companion) > 0 && e.Database == "" {
			e.Database = "sim_" + strings.ReplaceAll(d.Group, "-", "_")
		}
		all = append(all, e)
		for _, name := range d.Companion {
			same := func(o engine.Entry) bool { return o.Scenario == name }
			if !slices.ContainsFunc(p.Scenarios, same) && !slices.ContainsFunc(all, same) {
				all = append(all, engine.Entry{Scenario: name, Database: e.Database})
			}
		}
	}
	for i, e := range all { // a companion that the plan already has gets the same database
		for _, o := range all {
			if d, err := set.Find(o.Scenario); err == nil &&
				slices.Contains(d.Companion, e.Scenario) && e.Database == "" {
				all[i].Database = o.Database
			}
		}
	}
	p.Scenarios = all
	return nil
}

// apply applies the flags of the command line to a plan.
func (f *runFlags) apply(p *engine.Plan) {
	switch {
	case f.uri != "":
		p.Target = f.uri
	case f.dir != "":
		p.Target = f.dir
	case f.memory:
		p.Target = engine.Memory
	}
	given := func(name string, set func()) {
		if f.changed(name) {
			set()
		}
	}
	given("title", func() { p.Title = f.title })
	given("warm-up", func() { p.WarmUp = f.plan.WarmUp })
	given("cool-down", func() { p.CoolDown = f.plan.CoolDown })
	given("grace", func() { p.Grace = f.plan.Grace })
	given("max-in-flight", func() { p.MaxInFlight = f.plan.MaxInFlight })
	given("pool-size", func() { p.PoolSize = f.plan.PoolSize })
	given("write-concern", func() { p.WriteConcern = f.plan.WriteConcern })
	given("journal", func() { p.Journal = f.plan.Journal })
	given("read-concern", func() { p.ReadConcern = f.plan.ReadConcern })
	given("read-preference", func() { p.ReadPreference = f.plan.ReadPreference })
	given("seed", func() { p.Seed = f.plan.Seed })
	given("keep", func() { p.Keep = f.plan.Keep })
	given("force", func() { p.Force = f.plan.Force })
	for i := range p.Scenarios {
		e := &p.Scenarios[i]
		given("users", func() { e.Users = f.load.Users })
		given("iterations", func() { e.Iterations = f.load.Iterations })
		given("resolution", func() { e.Resolution = f.load.Resolution })
		given("shape", func() { e.Shape = f.load.Shape })
		given("from", func() { e.From = f.load.From })
		given("steps", func() { e.Steps, e.Shape = f.load.Steps, load.Steps })
		given("spread", func() { e.Spread = f.load.Spread })
		given("delay", func() { e.Delay = f.load.Delay })
	}
}

// addParams sets parameters of the scenarios that have them. A parameter of no scenario is an
// error.
func (f *runFlags) addParams(set scenario.Set, p *engine.Plan) error {
	for _, text := range f.params {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("-p %s: a parameter is NAME=VALUE", text)
		}
		only, short, scoped := strings.Cut(name, ".")
		if !scoped {
			only, short = "", name
		}
		found := false
		var refusal error
		for i := range p.Scenarios {
			e := &p.Scenarios[i]
			d, err := set.Find(e.Scenario)
			if err != nil {
				return err
			}
			if only != "" && only != e.Scenario && only != e.Label {
				continue
			}
			if !slices.ContainsFunc(d.Params, func(p scenario.Param) bool { return p.Name == short }) {
				_, refusal = d.Values(map[string]any{short: value})
				continue
			}
			found = true
			params := maps.Clone(e.Parameters)
			if params == nil {
				params = map[string]any{}
			}
			params[short] = value
			e.Parameters = params
		}
		if !found && refusal != nil {
			return refusal
		}
		if !found {
			return fmt.Errorf("-p %s: the plan has no scenario %q", text, only)
		}
	}
	return nil
}

// resolvedToken returns the agents' token: the flag, or else the environment variable.
func (f *runFlags) resolvedToken() string {
	if f.token != "" {
		return f.token
	}
	return os.Getenv(tokenVariable)
}

// tokenVariable is the environment variable that holds the agents' token.
const tokenVariable = "SHEAF_SIM_TOKEN"
