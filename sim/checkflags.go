package sim

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sheafdb/sheaf/sim/engine"
	"github.com/sheafdb/sheaf/sim/load"
)

// maxRepeats bounds --repeats. Each repeat is a run.
const maxRepeats = 1000

// check refuses invalid values of flags before anything runs. Its errors name the flags; the errors
// of the plan's check do not, because a plan may also come from a file. A given 0 is an error where
// 0 means the default.
func (f *runFlags) check(args []string) error {
	p, l := &f.plan, &f.load
	err := cmp.Or(
		within(f.changed, "users", l.Users, 1, load.MaxUsers),
		within(f.changed, "iterations", l.Iterations, 1, load.MaxIterations),
		within(f.changed, "resolution", l.Resolution, time.Millisecond, time.Hour),
		within(f.changed, "from", l.From, 0, load.MaxUsers),
		within(f.changed, "delay", l.Delay, 0, load.MaxDelay),
		within(f.changed, "warm-up", p.WarmUp, 0, load.MaxIterations),
		within(f.changed, "cool-down", p.CoolDown, 0, load.MaxIterations),
		within(f.changed, "grace", p.Grace, time.Nanosecond, engine.MaxGrace),
		within(f.changed, "max-in-flight", p.MaxInFlight, 1, engine.MaxInFlight),
		within(f.changed, "pool-size", p.PoolSize, 1, engine.MaxPoolSize),
		oneOf(f.changed, "shape", l.Shape, load.Constant, load.Ramp, load.Steps, load.Poisson),
		oneOf(f.changed, "spread", l.Spread, load.Slice, load.Burst),
	)
	switch {
	case err != nil:
		return err
	case f.changed("uri") && !(engine.Settings{Target: f.uri}).IsURI():
		return fmt.Errorf("--uri %s: it must begin with mongodb:// or mongodb+srv://", f.uri)
	case f.changed("dir") && f.dir == "":
		return errors.New("--dir is empty: name a directory, or leave it out")
	case f.changed("steps") && f.changed("shape") && l.Shape != load.Steps:
		return fmt.Errorf("--steps is for the shape %s, not %s: leave one of them out", load.Steps, l.Shape)
	case f.changed("from") && l.Shape != load.Ramp && (f.changed("shape") || !slices.ContainsFunc(args, isFile)):
		return fmt.Errorf("--from is for the shape %s, not %s: give --shape %s, or leave it out", load.Ramp, l.Shape, load.Ramp)
	case f.changed("agents") && (len(f.agents) == 0 || slices.Contains(f.agents, "")):
		return fmt.Errorf("--agents %s: it must be a list of addresses, such as 10.0.0.1:27900", strings.Join(f.agents, ","))
	}
	return f.output.check()
}

// checkSearch refuses impossible bounds of a search. It also refuses flags of a search without
// --find-limit.
func checkSearch(s engine.Search, find bool, given func(flag string) bool) error {
	for _, flag := range []string{"p99", "repeats", "max-users"} {
		if given(flag) && !find {
			return fmt.Errorf("--%s is for --find-limit: use both, or neither", flag)
		}
	}
	return cmp.Or(
		within(given, "p99", s.P99, time.Microsecond, time.Hour),
		within(given, "repeats", s.Repeats, 1, maxRepeats),
		within(given, "max-users", s.MaxUsers, 1, load.MaxUsers),
	)
}

// within refuses the value of a given flag if it is out of its bounds.
func within[T int | time.Duration](given func(flag string) bool, flag string, value, least, most T) error {
	if !given(flag) || least <= value && value <= most {
		return nil
	}
	return fmt.Errorf("--%s %v: it must be between %v and %v", flag, value, least, most)
}

// oneOf refuses the value of a given flag if it is not in a list.
func oneOf(given func(flag string) bool, flag, value string, values ...string) error {
	if !given(flag) || slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("--%s %s: it must be one of %s", flag, value, strings.Join(values, ", "))
}

// check refuses output files that cannot be written. Otherwise the run would be lost when it ends.
func (o *output) check() error {
	for _, file := range []struct {
		flag, path string
		orDir      bool
	}{{"out", o.out, true}, {"html", o.html, false}, {"markdown", o.markdown, false}} {
		if file.path == "" {
			continue
		}
		if dir := filepath.Dir(file.path); !isDir(dir) {
			return fmt.Errorf("--%s %s: there is no directory %s", file.flag, file.path, dir)
		}
		if !file.orDir && isDir(file.path) {
			return fmt.Errorf("--%s %s: it is a directory; name a file", file.flag, file.path)
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
