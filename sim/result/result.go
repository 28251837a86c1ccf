// Package result defines the measurements of a run of the simulator: how they are stored, read and
// added up.
//
// A result is a JSON document with a version of its format; docs/simulator.md describes its fields.
// Times are in milliseconds, unless a name says otherwise. Histograms are in the text form of
// HdrHistogram (V2, compressed), in microseconds.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Format is the version of the format of results. It changes when a program that reads the older
// format would misread the new one.
const Format = 1

// ErrFormat is returned if a file is not a result, or has a format that this version does not know.
var ErrFormat = errors.New("sim: not a result")

// Result holds the measurements of a run.
type Result struct {
	Format  int       `json:"format"`
	Title   string    `json:"title"`
	Started time.Time `json:"started"`
	// RuntimeSeconds is the time from the first start to the last end. ScheduleSeconds is how long
	// users are started. If the runtime is much longer, the server did not keep up.
	RuntimeSeconds  float64 `json:"runtimeSeconds"`
	ScheduleSeconds float64 `json:"scheduleSeconds"`
	// Partial says why the run is not complete. It is empty if the run is complete.
	Partial     string      `json:"partial,omitempty"`
	Environment Environment `json:"environment"`
	Options     Options     `json:"options"`
	Scenarios   []*Scenario `json:"scenarios"`
	// Server holds the server's counters over the run. It is nil if the server has none.
	Server *Server `json:"server,omitempty"`
	// ClientCPUSeconds is the processor time of the load generators. With an embedded store, it
	// includes the store.
	ClientCPUSeconds float64 `json:"clientCpuSeconds"`
	Agents           []Agent `json:"agents,omitempty"`
	// Limit is set if the run is the last one of a search for the greatest load.
	Limit *Limit `json:"limit,omitempty"`
}

// Limit is the result of a search for the greatest load with which a server keeps up.
type Limit struct {
	// Users is the greatest number of users per iteration with which every probe kept up, summed
	// over the scenarios; 0 if no probe kept up. Over is the smallest number with which a probe did
	// not keep up; 0 if every probe did.
	Users int `json:"users"`
	Over  int `json:"over"`
	// Confirmed is how many runs with Users users kept up at the end of the search, out of at most
	// Repeats.
	Confirmed int `json:"confirmed"`
	Repeats   int `json:"repeats"`
	// P99Millis is the bound for the 99th percentile of the latency.
	P99Millis float64 `json:"p99Millis"`
	// Generator says that the load generator was too slow, so the limit of the server is higher.
	Generator bool    `json:"generator,omitempty"`
	Probes    []Probe `json:"probes"`
}

// Probe is one run of a search.
type Probe struct {
	Users          int     `json:"users"`
	RuntimeSeconds float64 `json:"runtimeSeconds"`
	P99Millis      float64 `json:"p99Millis"`
	KeptUp         bool    `json:"keptUp"`
	// Why says which bound was exceeded.
	Why string `json:"why,omitempty"`
}

// Environment holds facts about where a run took place.
type Environment struct {
	// Target is "embedded", "memory", or the URI without a password.
	Target         string `json:"target"`
	Server         string `json:"server"` // "Sheaf" or "MongoDB"
	ServerVersion  string `json:"serverVersion"`
	Topology       string `json:"topology"` // "standalone", "replica set" or "sharded cluster"
	SimulatorBuild string `json:"simulatorBuild"`
	GoVersion      string `json:"goVersion"`
	OS             string `json:"os"`
	Arch           string `json:"arch"`
	CPU            string `json:"cpu"`
	Cores          int    `json:"cores"`
	MemoryBytes    uint64 `json:"memoryBytes"`
	Host           string `json:"host,omitempty"`
}

// Options are the settings that all scenarios of a run share.
type Options struct {
	PoolSize       int    `json:"poolSize"`
	WriteConcern   string `json:"writeConcern,omitempty"`
	ReadConcern    string `json:"readConcern,omitempty"`
	ReadPreference string `json:"readPreference,omitempty"`
	// WarmUp and CoolDown are the numbers of iterations, at the beginning and the end, that are not
	// measured.
	WarmUp      int    `json:"warmUp"`
	CoolDown    int    `json:"coolDown"`
	Seed        uint64 `json:"seed"`
	MaxInFlight int    `json:"maxInFlight"`
}

// Load is the load of a scenario.
type Load struct {
	Iterations        int    `json:"iterations"`
	ResolutionMillis  int64  `json:"resolutionMillis"`
	Users             int    `json:"users"`
	Shape             string `json:"shape"`
	From              int    `json:"from,omitempty"`
	Steps             []int  `json:"steps,omitempty"`
	Spread            string `json:"spread"`
	DelayMillis       int64  `json:"delayMillis,omitempty"`
	Resident          bool   `json:"resident,omitempty"`
	MeasuredIteration int    `json:"measuredIterations"`
}

// Scenario holds the measurements of a scenario.
type Scenario struct {
	// Name is the scenario's name. Label distinguishes entries of a run that have the same
	// scenario.
	Name     string            `json:"name"`
	Label    string            `json:"label"`
	Title    string            `json:"title"`
	Group    string            `json:"group"`
	Params   map[string]string `json:"params,omitempty"`
	Load     Load              `json:"load"`
	Database string            `json:"database"`
	Measured
	Check Check `json:"check"`
}

// Check is the outcome of the scenario's Check.
type Check struct {
	Done bool `json:"done"`
	// Violations holds the first hundred violations; Total counts all.
	Violations []string `json:"violations,omitempty"`
	Total      int      `json:"total"`
	Error      string   `json:"error,omitempty"`
}

func (c Check) first() string {
	if len(c.Violations) == 0 {
		return "not known"
	}
	return c.Violations[0]
}

// OK reports whether the check ran and found no violation.
func (c Check) OK() bool { return c.Done && c.Total == 0 && c.Error == "" }

// Server holds the counters of the server over a run.
type Server struct {
	// CPUSeconds is the server's processor time, if the server reports it.
	CPUSeconds float64          `json:"cpuSeconds,omitempty"`
	Deltas     map[string]int64 `json:"deltas"` // how much each counter grew: "opcounters.insert"
	Samples    []ServerSample   `json:"samples,omitempty"`
}

// ServerSample describes the server at one moment.
type ServerSample struct {
	Second float64 `json:"second"`
	// Rates maps the names of counters to their increase per second since the preceding sample.
	Rates         map[string]float64 `json:"rates"`
	CPU           float64            `json:"cpu,omitempty"` // cores in use
	ResidentBytes int64              `json:"residentBytes,omitempty"`
	Connections   int64              `json:"connections,omitempty"`
}

// Agent is one of several load generators.
type Agent struct {
	Address string `json:"address"`
	// Lost says why, and at which second, the monitor lost the agent.
	Lost       string  `json:"lost,omitempty"`
	CPUSeconds float64 `json:"cpuSeconds"`
}

// Wrong lists what makes the run invalid, whatever its figures are: broken invariants, and checks
// that could not run.
func (r *Result) Wrong() (out []string) {
	for _, s := range r.Scenarios {
		switch {
		case s.Check.Error != "":
			out = append(out, s.Label+": the check failed: "+s.Check.Error)
		case s.Check.Total > 0:
			out = append(out, fmt.Sprintf("%s: %d violations, the first: %s", s.Label, s.Check.Total, s.Check.first()))
		}
	}
	return out
}

// Write writes the result as JSON.
func (r *Result) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Read reads a result.
func Read(r io.Reader) (*Result, error) {
	out := &Result{}
	if err := json.NewDecoder(r).Decode(out); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	switch {
	case out.Format == 0:
		return nil, fmt.Errorf("%w: it has no format", ErrFormat)
	case out.Format > Format:
		return nil, fmt.Errorf("%w of this version: format %d, known are up to %d", ErrFormat, out.Format, Format)
	case out.Format < 0 || slices.Contains(out.Scenarios, nil):
		return nil, fmt.Errorf("%w: format %d, %d scenarios", ErrFormat, out.Format, len(out.Scenarios))
	}
	for _, s := range out.Scenarios {
		s.Measured = s.whole()
	}
	return out, nil
}

// ReadFile reads the result in a file.
func ReadFile(path string) (*Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	defer func() { _ = f.Close() }() // the file was only read
	out, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return out, nil
}
