package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/sim/result"
)

// Fact is a line about a run, with a name and a value.
type Fact struct{ Name, Value string }

// Facts returns the known facts about where and how a run took place.
func Facts(r *result.Result) []Fact {
	e, o := r.Environment, r.Options
	out := []Fact{
		{"Server", strings.TrimSpace(e.Server + " " + e.ServerVersion)},
		{"Target", e.Target},
		{"Topology", e.Topology},
		{"Machine", machine(e)},
		{"System", strings.Trim(e.OS+", "+e.Arch, ", ")},
		{"Host", e.Host},
		{"Simulator", strings.Trim(e.SimulatorBuild+", "+e.GoVersion, ", ")},
		{"Connections", count(o.PoolSize, "in the pool")},
		{"Write concern", o.WriteConcern},
		{"Read concern", o.ReadConcern},
		{"Read preference", o.ReadPreference},
		{"Not measured", unmeasured(o)},
		{"Seed", fmt.Sprint(o.Seed)},
		{"Processor time of the load generator", cpuTime(r.ClientCPUSeconds, r.RuntimeSeconds)},
	}
	if r.Server != nil {
		out = append(out, Fact{"Processor time of the server", cpuTime(r.Server.CPUSeconds, r.RuntimeSeconds)})
	}
	for _, a := range r.Agents {
		text := fmt.Sprintf("%.1f s of processor time", a.CPUSeconds)
		if a.Lost != "" {
			text = "LOST: " + a.Lost
		}
		out = append(out, Fact{"Agent " + a.Address, text})
	}
	return slices.DeleteFunc(out, func(f Fact) bool { return f.Value == "" })
}

func machine(e result.Environment) string {
	var parts []string
	if e.CPU != "" {
		parts = append(parts, e.CPU)
	}
	if e.Cores > 0 {
		parts = append(parts, count(e.Cores, "cores"))
	}
	if e.MemoryBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f GiB", float64(e.MemoryBytes)/(1<<30)))
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, what)
}

func unmeasured(o result.Options) string {
	if o.WarmUp == 0 && o.CoolDown == 0 {
		return ""
	}
	return fmt.Sprintf("%d iterations of warm-up, %d of cool-down", o.WarmUp, o.CoolDown)
}

func cpuTime(seconds, runtime float64) string {
	if seconds == 0 || runtime == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f s, %.2f cores", seconds, seconds/runtime)
}

// shortLoad returns users × iterations, and the length of an iteration if it is not one second.
func shortLoad(l result.Load) string {
	text := fmt.Sprintf("%d × %d", l.Users, l.Iterations)
	switch {
	case l.Resident:
		return fmt.Sprint(l.Users)
	case l.Shape != "constant" && l.Shape != "":
		text = l.Shape + ", " + text
	}
	if l.ResolutionMillis != 1000 {
		text += fmt.Sprintf(" of %d ms", l.ResolutionMillis)
	}
	return text
}

// loadText describes the load of a scenario in words.
func loadText(l result.Load) string {
	if l.Resident {
		return fmt.Sprintf("%d residents", l.Users)
	}
	shape := fmt.Sprintf("%d users", l.Users)
	switch l.Shape {
	case "ramp":
		shape = fmt.Sprintf("from %d to %d users", l.From, l.Users)
	case "steps":
		shape = fmt.Sprintf("steps of %v users", l.Steps)
	case "poisson":
		shape = fmt.Sprintf("%d users on average (Poisson)", l.Users)
	}
	spread := "spread over it"
	if l.Spread == "burst" {
		spread = "all at its beginning"
	}
	text := fmt.Sprintf("%d iterations of %d ms, each with %s, %s", l.Iterations, l.ResolutionMillis, shape, spread)
	if l.DelayMillis > 0 {
		text += fmt.Sprintf("; after %d ms", l.DelayMillis)
	}
	return text
}

// pairs returns the entries of a map, ordered by name.
func pairs[V any](m map[string]V) (out []Fact) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Fact{name, fmt.Sprint(m[name])})
	}
	return out
}
