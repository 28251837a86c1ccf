package failpoint

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// Points holds the fail points of a server. Without test commands they are never on.
type Points struct {
	active atomic.Int32
	mu     sync.Mutex
	points map[string]*Point
	// counts has the number of times that each fail point which is off now has fired.
	counts map[string]int64
	// changed is closed when a fail point fires. It is nil if nobody waits for that.
	changed chan struct{}
}

// Point is one fail point.
type Point struct {
	AlwaysOn bool
	Times    int64 // how often it fires before it turns itself off; unused if AlwaysOn
	Skip     int64 // how often it is skipped before it fires
	// Chance is the probability with which a point with AlwaysOn fires. 0 means that it always
	// fires.
	Chance float64
	Data   Data

	entered int64
}

// Data are the parameters of a fail point.
type Data struct {
	// Commands are the names of the commands that failCommand applies to.
	Commands     map[string]bool
	ErrorCode    int32
	HasErrorCode bool
	Labels       []string
	Close        bool          // close the connection
	Block        time.Duration // how long the command waits before it continues
	AppName      string        // apply only to commands of this application; empty for all
	WCError      bsonx.Doc
	Namespace    string // apply only to commands on this namespace; empty for all

	// KeepsConnection keeps the connection open when onPrimaryTransactionalWrite fires.
	KeepsConnection bool
	// BeforeCommit is the error code with which onPrimaryTransactionalWrite fails a statement.
	BeforeCommit mongoerr.Code
}

// Failure describes how a fail point changes a reply, in addition to an error.
type Failure struct {
	CloseConn bool
	WCError   bsonx.Doc
	Labels    []string
}

// Call is a command to which fail points apply.
type Call interface {
	// Names returns the command's name, and the name that the client sent.
	Names() (command, sent string)
	// AppName returns the name of the client's application.
	AppName() string
	// Namespace returns the namespace of the command.
	Namespace() string
	// Operation returns the running operation.
	Operation() *session.Op
	// Clock returns the clock for the time that the command is blocked.
	Clock() clock.Clock
	// LimitBlock applies the command's maxTimeMS to its operation before the command is blocked for
	// d.
	LimitBlock(d time.Duration)
}

const codeConnectionClosed = mongoerr.Code(50985)

const (
	failCommand = "failCommand"
	// failWrite affects statements of retryable writes: it closes the connection, or makes the
	// statement fail before its commit.
	failWrite = "onPrimaryTransactionalWrite"
	// failGetMore makes a getMore fail after it has found its cursor.
	failGetMore = "failGetMoreAfterCursorCheckout"
	// DisableOptimization turns the optimiser of pipelines off.
	DisableOptimization = "disablePipelineOptimization"
	// alwaysTimeOut makes commands with maxTimeMS fail. neverTimeOut ignores maxTimeMS.
	alwaysTimeOut = "maxTimeAlwaysTimeOut"
	neverTimeOut  = "maxTimeNeverTimeOut"
)

// Names are the names of all fail points.
var Names = []string{failCommand, failWrite, failGetMore, DisableOptimization, alwaysTimeOut, neverTimeOut}

// IsOn reports whether a fail point without parameters fires. If it does, IsOn counts the firing.
func (f *Points) IsOn(name string) bool {
	if !f.Active() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fires(name)
}

// fires reports whether a fail point fires. If it does, fires counts the firing. The caller holds
// the lock.
func (f *Points) fires(name string) bool {
	p := f.points[name]
	if p == nil {
		return false
	}
	if p.Skip > 0 {
		p.Skip--
		return false
	}
	if p.Chance > 0 && rand.Float64() >= p.Chance {
		return false
	}
	p.entered++
	if !p.AlwaysOn {
		if p.Times--; p.Times <= 0 {
			f.remove(name)
		}
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
	return true
}

// Active reports whether any point is on.
func (f *Points) Active() bool { return f.active.Load() != 0 }

// Match applies the fail point failCommand to a command. It does not call c while no fail point is
// on.
func (f *Points) Match(c Call) (Failure, error) {
	if !f.Active() {
		return Failure{}, nil
	}
	data, ok := f.take(c)
	if !ok {
		return Failure{}, nil
	}
	if data.Block > 0 {
		c.LimitBlock(data.Block)
		op := c.Operation()
		if err := clock.Sleep(op, c.Clock(), data.Block); err != nil {
			return Failure{}, err
		}
	}
	if data.Close {
		_, sent := c.Names()
		return Failure{CloseConn: true}, mongoerr.New(codeConnectionClosed,
			"Failing '%s' command via 'failCommand' failpoint and closing connection", sent)
	}
	if data.HasErrorCode {
		err := mongoerr.New(mongoerr.Code(data.ErrorCode), "Failing command via 'failCommand' failpoint")
		err.Labels = data.Labels
		return Failure{}, err
	}
	return Failure{WCError: data.WCError, Labels: data.Labels}, nil
}

// take reports whether failCommand fires for a command. If it does, take counts the firing.
func (f *Points) take(c Call) (Data, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failCommand]
	if p == nil {
		return Data{}, false
	}
	d := &p.Data
	switch command, sent := c.Names(); {
	case !d.Commands[command] && !d.Commands[sent]:
		return Data{}, false
	case d.AppName != "" && d.AppName != c.AppName():
		return Data{}, false
	case d.Namespace != "" && d.Namespace != c.Namespace():
		return Data{}, false
	}
	return *d, f.fires(failCommand)
}

// Write applies onPrimaryTransactionalWrite to a statement of a retryable write before its commit.
// If lost is true, the connection must be closed. If code is not 0, the statement must fail with
// it.
func (f *Points) Write() (lost bool, code mongoerr.Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failWrite]
	if p == nil || !f.fires(failWrite) {
		return false, 0
	}
	return !p.Data.KeepsConnection, p.Data.BeforeCommit
}

// GetMore applies failGetMoreAfterCursorCheckout. If lost is true, the connection must be closed.
func (f *Points) GetMore() (lost bool, err error) {
	if !f.Active() {
		return false, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failGetMore]
	if p == nil || !f.fires(failGetMore) {
		return false, nil
	}
	if p.Data.HasErrorCode {
		err = mongoerr.New(mongoerr.Code(p.Data.ErrorCode), "Hit the '%s' failpoint", failGetMore)
	}
	return p.Data.Close, err
}

// remove turns a fail point off. The caller holds the lock.
func (f *Points) remove(name string) {
	if p, ok := f.points[name]; ok {
		if f.counts == nil {
			f.counts = make(map[string]int64)
		}
		f.counts[name] += p.entered
		delete(f.points, name)
		f.active.Add(-1)
	}
}

// Set turns a fail point on, or off if p is nil. It returns how often the fail point has fired so
// far.
func (f *Points) Set(name string, p *Point) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.remove(name)
	if p == nil {
		return f.counts[name]
	}
	if f.points == nil {
		f.points = make(map[string]*Point)
	}
	f.points[name] = p
	f.active.Add(1)
	return f.counts[name]
}

// Entered returns how often a fail point has fired, and a channel that is closed when the next fail
// point fires.
func (f *Points) Entered(name string) (int64, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.counts[name]
	if p := f.points[name]; p != nil {
		n += p.entered
	}
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return n, f.changed
}

// TimeLimit applies the fail points about maxTimeMS. It returns false if the command's time limit
// must be ignored.
func (f *Points) TimeLimit() (counts bool, err error) {
	switch {
	case !f.Active():
		return true, nil
	case f.IsOn(alwaysTimeOut):
		return true, mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
	default:
		return !f.IsOn(neverTimeOut), nil
	}
}
