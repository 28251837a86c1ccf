package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.yaml.in/yaml/v3"

	"github.com/sheafdb/sheaf/sim/load"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// ErrPlan is returned for an invalid plan.
var ErrPlan = errors.New("sim: invalid plan")

// DefaultPoolSize is the default for the maximum number of connections of a process. The MongoDB
// books that the scenarios come from used as many in total: 4 processes of 50 connections.
const DefaultPoolSize = 200

// Bounds of a plan.
const (
	MaxPoolSize = 65_536
	MaxInFlight = load.MaxUsers
	MaxGrace    = 24 * time.Hour
	// maxNodes is the greatest number in a write concern that MongoDB accepts.
	maxNodes = 50
)

// Plan says what to run. It is the content of a plan file.
type Plan struct {
	Title string `yaml:"title,omitempty"`
	// Target is Embedded (also if empty), Memory, a directory, or a URI.
	Target string `yaml:"target,omitempty"`
	// PoolSize is the maximum number of connections of a process.
	PoolSize int `yaml:"poolSize,omitempty"`
	// WriteConcern is a number, "majority" or empty. Journal asks for j: true.
	WriteConcern string `yaml:"writeConcern,omitempty"`
	Journal      bool   `yaml:"journal,omitempty"`
	// ReadConcern and ReadPreference have the values of a URI.
	ReadConcern    string `yaml:"readConcern,omitempty"`
	ReadPreference string `yaml:"readPreference,omitempty"`
	// WarmUp and CoolDown are the numbers of iterations that are not measured, at the start and at
	// the end of every scenario.
	WarmUp   int `yaml:"warmUp,omitempty"`
	CoolDown int `yaml:"coolDown,omitempty"`
	// Grace is how long the users of a scenario may continue after its last user has started. Zero
	// means load.DefaultGrace.
	Grace       time.Duration `yaml:"grace,omitempty"`
	MaxInFlight int           `yaml:"maxInFlight,omitempty"`
	Seed        uint64        `yaml:"seed,omitempty"`
	// Keep leaves the databases in place at the end. Force allows databases that are not the
	// simulator's, and empties them.
	Keep      bool    `yaml:"keep,omitempty"`
	Force     bool    `yaml:"force,omitempty"`
	Scenarios []Entry `yaml:"scenarios"`
}

// Entry is a scenario of a plan.
type Entry struct {
	Scenario string `yaml:"scenario"`
	// Label distinguishes the entry from others of the plan. Empty means the scenario's name.
	Label string `yaml:"label,omitempty"`
	// Database is "sim_" and the label if empty. Entries with the same database share the setup of
	// the first one.
	Database   string         `yaml:"database,omitempty"`
	Parameters map[string]any `yaml:"parameters,omitempty"`
	load.Load  `yaml:",inline"`
}

// ReadPlan reads a plan file. An unknown field is an error.
func ReadPlan(path string) (*Plan, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the plan: %w", err)
	}
	p, d := &Plan{}, yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(p); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w %s: %w", ErrPlan, path, err)
	}
	return p, nil
}

// resolved is an entry with its scenario, parameters and load.
type resolved struct {
	Entry
	definition *scenario.Definition
	values     scenario.Values
	given      map[string]string // the values of the parameters as text
}

var databaseName = regexp.MustCompile(`[^a-z0-9_]+`)

// resolve finds the scenarios of a plan, and sets defaults.
func (p *Plan) resolve(set scenario.Set) ([]resolved, error) {
	if len(p.Scenarios) == 0 {
		return nil, fmt.Errorf("%w: it has no scenarios", ErrPlan)
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	out := make([]resolved, len(p.Scenarios))
	for i, e := range p.Scenarios {
		r, err := e.resolve(set)
		if err != nil {
			return nil, err
		}
		if seen[r.Label] {
			return nil, fmt.Errorf("%w: two scenarios have the label %q", ErrPlan, r.Label)
		}
		if !r.definition.Resident && p.WarmUp+p.CoolDown >= r.Iterations {
			return nil, fmt.Errorf("%w: %d iterations of warm-up and %d of cool-down leave none of the %d of %s", ErrPlan, p.WarmUp, p.CoolDown, r.Iterations, r.Label)
		}
		seen[r.Label] = true
		out[i] = r
	}
	return out, nil
}

// validate checks the settings that all scenarios share. A setting of zero means the default.
func (p *Plan) validate() error {
	concerns := []string{"", "local", "available", "majority", "linearizable", "snapshot"}
	w, notNumber := strconv.Atoi(p.WriteConcern)
	switch {
	case p.PoolSize < 0 || p.PoolSize > MaxPoolSize:
		return fmt.Errorf("%w: a pool of %d connections; there can be 1 to %d", ErrPlan, p.PoolSize, MaxPoolSize)
	case p.MaxInFlight < 0 || p.MaxInFlight > MaxInFlight:
		return fmt.Errorf("%w: a maximum of %d active users; it can be 1 to %d", ErrPlan, p.MaxInFlight, MaxInFlight)
	case p.Grace < 0 || p.Grace > MaxGrace:
		return fmt.Errorf("%w: a grace of %v; it can be up to %v", ErrPlan, p.Grace, MaxGrace)
	case p.WarmUp < 0 || p.CoolDown < 0:
		return fmt.Errorf("%w: %d iterations of warm-up and %d of cool-down", ErrPlan, p.WarmUp, p.CoolDown)
	case notNumber == nil && (w < 1 || w > maxNodes):
		return fmt.Errorf("%w: write concern %d; it can be 1 to %d, or majority: a write without an acknowledgement cannot be measured", ErrPlan, w, maxNodes)
	case !slices.Contains(concerns, p.ReadConcern):
		return fmt.Errorf("%w: read concern %q; it can be%s", ErrPlan, p.ReadConcern, strings.Join(concerns, " "))
	case strings.Contains(p.Target, "://") && !(Settings{Target: p.Target}).IsURI():
		return fmt.Errorf("%w: the target %s; a URI begins with mongodb:// or mongodb+srv://", ErrPlan, p.Target)
	}
	if p.ReadPreference != "" {
		if _, err := readpref.ModeFromString(p.ReadPreference); err != nil {
			return fmt.Errorf("%w: read preference %q: %w", ErrPlan, p.ReadPreference, err)
		}
	}
	return nil
}

func (e Entry) resolve(set scenario.Set) (resolved, error) {
	d, err := set.Find(e.Scenario)
	if err != nil {
		return resolved{}, err
	}
	values, err := d.Values(e.Parameters)
	if err != nil {
		return resolved{}, err
	}
	e.Load = e.WithDefaults(d.Users)
	if err := e.Validate(); err != nil {
		return resolved{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	if e.Label == "" {
		e.Label = d.Name
	}
	if e.Database == "" {
		e.Database = "sim_" + strings.Trim(databaseName.ReplaceAllString(strings.ToLower(e.Label), "_"), "_")
	}
	given := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		given[name] = fmt.Sprint(values[name])
	}
	return resolved{Entry: e, definition: d, values: values, given: given}, nil
}
