package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of operations. Each wraps what the driver said last, if it was asked.
var (
	// ErrReadOnly is returned by Write while there is no primary. Nothing was written.
	ErrReadOnly = errors.New("failover: there is no primary, or none that answers: nothing can be written at the moment")
	// ErrEmergency is returned by Read while no member of the deployment answers.
	ErrEmergency = errors.New("failover: no member of the deployment answers")
	// ErrUncertain is returned by Write where the answer was lost: it was executed or not.
	ErrUncertain = errors.New("failover: it is not known whether the write was executed")
)

// Mode is what a deployment is good for.
type Mode int

// The modes, from the best to the worst.
const (
	// Normal: everything is asked of the primary.
	Normal Mode = iota
	// Searching: the primary does not answer. Reads are from any member, writes wait for the next
	// primary.
	Searching
	// ReadOnly: that has taken too long. Writes fail at once.
	ReadOnly
	// Emergency: no member answers. Reads fail at once; Answer returns what it remembers.
	Emergency
)

// String names the mode.
func (m Mode) String() string {
	switch m {
	case Normal:
		return "normal"
	case Searching:
		return "searching"
	case ReadOnly:
		return "read-only"
	case Emergency:
		return "emergency"
	default:
		return fmt.Sprintf("Mode(%d)", int(m))
	}
}

// Config configures Failover. The zero value works.
type Config struct {
	patterns.Env
	// Patience is how long an operation is tried, 15 seconds if zero: longer than most elections.
	Patience time.Duration
	// Attempt is how long one attempt may take, 5 seconds if zero.
	Attempt time.Duration
	// Pause is the first one between attempts, 50 milliseconds if zero; each is up to twice as long
	// as the one before, to a second.
	Pause time.Duration
	// Probe is how often a deployment that is away is asked whether it is back, a second if zero.
	Probe time.Duration
	// Store is where Answer remembers what it has read: 1,000 answers in memory if nil.
	Store Store
	// Refresh is how often an answer is remembered anew, a minute if zero.
	Refresh time.Duration
	// OnMode, if not nil, is told when the mode has changed, by the goroutines of operations,
	// perhaps by several at once. It returns at once; Mode tells what holds now.
	OnMode func(from, to Mode)
}

// longestPause is between two attempts.
const longestPause = time.Second

// Failover executes operations of a database as the state of its deployment allows. It is safe for
// concurrent use.
type Failover struct {
	env     patterns.Env
	cfg     Config
	primary *mongo.Database
	any     *mongo.Database

	mu     sync.Mutex
	mode   Mode
	forced Mode
	probe  time.Time // when the deployment is asked next
	kept   map[string]time.Time
}

// New returns the operations of a database. They are with read and write concern majority, so that
// a fail-over takes nothing back.
func New(db *mongo.Database, cfg Config) (*Failover, error) {
	for _, d := range []struct {
		of *time.Duration
		to time.Duration
	}{
		{&cfg.Patience, 15 * time.Second},
		{&cfg.Attempt, 5 * time.Second},
		{&cfg.Pause, 50 * time.Millisecond},
		{&cfg.Probe, time.Second},
		{&cfg.Refresh, time.Minute},
	} {
		if *d.of < 0 {
			return nil, fmt.Errorf("failover: a time of %v", *d.of)
		}
		if *d.of == 0 {
			*d.of = d.to
		}
	}
	if cfg.Store == nil {
		cfg.Store = NewMemory(0)
	}
	cfg.Env = cfg.WithDefaults()
	handle := func(rp *readpref.ReadPref) *mongo.Database {
		return db.Client().Database(db.Name(), options.Database().SetReadPreference(rp).
			SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()))
	}
	return &Failover{
		env: cfg.Env, cfg: cfg, kept: map[string]time.Time{},
		primary: handle(readpref.Primary()), any: handle(readpref.Nearest()),
	}, nil
}

// Mode returns what the deployment is good for, as far as is known.
func (f *Failover) Mode() Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(f.mode, f.forced)
}

// Switch makes the mode at least m until it is switched again, for instance to ReadOnly or
// Emergency during maintenance. Normal leaves it to what is seen.
func (f *Failover) Switch(m Mode) {
	f.change(func() { f.forced = m })
}

// change changes the mode, and tells.
func (f *Failover) change(set func()) {
	f.mu.Lock()
	from := max(f.mode, f.forced)
	set()
	to := max(f.mode, f.forced)
	f.mu.Unlock()
	if from == to {
		return
	}
	f.env.Logger.Warn("the mode of the deployment has changed", "database", f.primary.Name(), "from",
		from.String(), "to", to.String())
	f.env.Metrics.Add("failover."+to.String(), 1)
	if f.cfg.OnMode != nil {
		f.cfg.OnMode(from, to)
	}
}

// seen notes that a member has answered.
func (f *Failover) seen(at *mongo.Database) {
	f.change(func() {
		switch {
		case at == f.primary:
			f.mode = Normal
		case f.mode == Emergency:
			f.mode = ReadOnly
		}
	})
}

// missed notes that the deployment has not answered; it is at least as bad as that.
func (f *Failover) missed(mode Mode) {
	f.change(func() {
		f.mode = max(f.mode, mode)
		f.probe = f.env.Now().Add(f.cfg.Probe)
	})
}

// turn returns the mode, and whether the caller is the one to ask whether it has become better.
func (f *Failover) turn() (mode Mode, probe bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	mode, now := max(f.mode, f.forced), f.env.Now()
	if f.mode == Normal || f.forced == Emergency || now.Before(f.probe) {
		return mode, false
	}
	f.probe = now.Add(f.cfg.Probe)
	return mode, true
}

// refused reports whether writes are refused whatever the deployment is good for.
func (f *Failover) refused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.forced >= ReadOnly
}

// attempts calls fn until it is done or leads nowhere, ctx ends or the patience does.
func (f *Failover) attempts(ctx context.Context, fn func() (done, stop bool, err error)) (done bool, err error) {
	until := f.env.Now().Add(f.cfg.Patience)
	for pause := f.cfg.Pause; ; pause = min(2*pause, longestPause) {
		var stop bool
		if done, stop, err = fn(); done || stop || ctx.Err() != nil {
			return done, err
		}
		// Between half of it and all: those who failed together do not come back together.
		wait := pause/2 + rand.N(pause/2+1) //nolint:gosec // no secret
		if f.env.Now().Add(wait).After(until) {
			return false, err
		}
		f.env.Metrics.Add("failover.repeated", 1)
		if slept := f.env.Clock.Sleep(ctx, wait); slept != nil {
			return false, err
		}
	}
}
