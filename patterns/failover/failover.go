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

// Errors of operations. Each wraps the last error of the driver, if an attempt was made.
var (
	// ErrReadOnly is returned by Write if there is no primary. Nothing was written.
	ErrReadOnly = errors.New("failover: there is no primary, or none that answers: nothing can be written at the moment")
	// ErrEmergency is returned by Read if no member of the deployment answers.
	ErrEmergency = errors.New("failover: no member of the deployment answers")
	// ErrUncertain is returned by Write if the reply was lost: the write may or may not have been
	// executed.
	ErrUncertain = errors.New("failover: it is not known whether the write was executed")
)

// Mode says which operations a deployment can currently serve.
type Mode int

// These are the modes of a Failover, from the best to the worst.
const (
	// Normal: all operations go to the primary.
	Normal Mode = iota
	// Searching: the primary does not answer. Reads go to any member, writes wait for the next
	// primary.
	Searching
	// ReadOnly: the search for a primary has taken too long. Writes fail at once.
	ReadOnly
	// Emergency: no member answers. Reads fail at once; Answer returns stored answers.
	Emergency
)

// String returns the name of the mode.
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
	// Patience is the longest time for all attempts of an operation; 15 seconds if zero, which is
	// longer than most elections.
	Patience time.Duration
	// Attempt is the longest time for one attempt; 5 seconds if zero.
	Attempt time.Duration
	// Pause is the first wait between two attempts; 50 milliseconds if zero. Each wait is up to
	// twice as long as the preceding one, at most a second.
	Pause time.Duration
	// Probe is the interval at which an operation tests whether an unavailable deployment is back;
	// a second if zero.
	Probe time.Duration
	// Store is the store of Answer; 1,000 answers in memory if nil.
	Store Store
	// Refresh is the interval at which Answer stores an answer again; a minute if zero.
	Refresh time.Duration
	// OnMode, if not nil, is called when the mode has changed. Goroutines of operations call it,
	// perhaps several at the same time. It must return quickly; Mode returns the current mode.
	OnMode func(from, to Mode)
}

// longestPause is the longest wait between two attempts.
const longestPause = time.Second

// Failover executes operations of a database as the mode of its deployment allows. It is safe for
// concurrent use.
type Failover struct {
	env     patterns.Env
	cfg     Config
	primary *mongo.Database
	any     *mongo.Database

	mu     sync.Mutex
	mode   Mode
	forced Mode
	probe  time.Time // from this time on, the next operation tests whether the primary is back
	kept   map[string]time.Time
}

// New returns a Failover for db. Its operations use read and write concern majority, so that a
// failover rolls nothing back.
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

// Mode returns the current mode of the deployment, as far as this process knows.
func (f *Failover) Mode() Mode {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(f.mode, f.forced)
}

// Switch makes the mode at least m until the next Switch, for example ReadOnly or Emergency during
// maintenance. Switch(Normal) returns to the detected mode.
func (f *Failover) Switch(m Mode) {
	f.change(func() { f.forced = m })
}

// change changes the mode, and logs and reports the change.
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

// seen records that a member has answered.
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

// missed records that the deployment has not answered: its mode is at least the given one.
func (f *Failover) missed(mode Mode) {
	f.change(func() {
		f.mode = max(f.mode, mode)
		f.probe = f.env.Now().Add(f.cfg.Probe)
	})
}

// turn returns the mode, and whether the caller shall probe the deployment.
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

// refused reports whether Switch forbids writes, whatever the state of the deployment is.
func (f *Failover) refused() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.forced >= ReadOnly
}

// attempts calls fn until it reports done or stop, ctx ends, or Config.Patience is over.
func (f *Failover) attempts(ctx context.Context, fn func() (done, stop bool, err error)) (done bool, err error) {
	until := f.env.Now().Add(f.cfg.Patience)
	for pause := f.cfg.Pause; ; pause = min(2*pause, longestPause) {
		var stop bool
		if done, stop, err = fn(); done || stop || ctx.Err() != nil {
			return done, err
		}
		// The wait is random, between half of the pause and all of it, so that operations that
		// failed together are not repeated together.
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
