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

// Points are switches by which drivers' tests make commands fail. Without test commands they are
// never on.
type Points struct {
	active atomic.Int32
	mu     sync.Mutex
	points map[string]*Point
	// counts says how often fail points fired that are off now.
	counts map[string]int64
	// changed is closed when one fires; nil where nobody waits for that.
	changed chan struct{}
}

// Point is one switch.
type Point struct {
	AlwaysOn bool
	Times    int64 // how often it still fires unless it is always on
	Skip     int64 // how often it does not fire first
	// Chance, if not 0, is the probability with which a point that is always on fires.
	Chance float64
	Data   Data

	entered int64
}

// Data says what a point does.
type Data struct {
	// Commands are the commands that failCommand fails.
	Commands     map[string]bool
	ErrorCode    int32
	HasErrorCode bool
	Labels       []string
	Close        bool          // the connection is closed
	Block        time.Duration // the command waits first
	AppName      string        // only commands of this application; empty for all
	WCError      bsonx.Doc
	Namespace    string // only commands on this namespace; empty for all

	// KeepsConnection says that onPrimaryTransactionalWrite leaves the connection open.
	KeepsConnection bool
	// BeforeCommit is the error of onPrimaryTransactionalWrite.
	BeforeCommit mongoerr.Code
}

// Failure is what a fail point does to a reply beside failing the command.
type Failure struct {
	CloseConn bool
	WCError   bsonx.Doc
	Labels    []string
}

// Call is a command that failCommand may fail.
type Call interface {
	// Names returns the command's name, and the name by which it was sent.
	Names() (command, sent string)
	// AppName returns the name of the client's application.
	AppName() string
	// Namespace returns the namespace that the command names.
	Namespace() string
	// Operation returns the running operation.
	Operation() *session.Op
	// Clock returns the clock by which a command waits.
	Clock() clock.Clock
	// LimitBlock limits the time of a command that is blocked for d by the command's maxTimeMS.
	LimitBlock(d time.Duration)
}

const codeConnectionClosed = mongoerr.Code(50985)

const (
	failCommand = "failCommand"
	// failWrite makes the statements of retryable writes fail: their connection, or before they are
	// committed.
	failWrite = "onPrimaryTransactionalWrite"
	// failGetMore makes getMores fail when they have their cursor.
	failGetMore = "failGetMoreAfterCursorCheckout"
	// DisableOptimization switches the optimiser of pipelines off.
	DisableOptimization = "disablePipelineOptimization"
	// alwaysTimeOut makes commands with maxTimeMS fail, neverTimeOut lets them take longer.
	alwaysTimeOut = "maxTimeAlwaysTimeOut"
	neverTimeOut  = "maxTimeNeverTimeOut"
)

// Names are the fail points that there are.
var Names = []string{failCommand, failWrite, failGetMore, DisableOptimization, alwaysTimeOut, neverTimeOut}

// IsOn reports whether a fail point without data is on, and counts it.
func (f *Points) IsOn(name string) bool {
	if !f.Active() {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fires(name)
}

// fires counts down a fail point and reports whether it fires. It needs the lock.
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

// Match applies the failCommand fail point to a command. c is not called while no point is on.
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

// take reports whether failCommand fires for a command, and counts it.
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

// Write applies onPrimaryTransactionalWrite to a statement of a retryable write that is about to
// commit. lost says that the connection is closed, and code, if not 0, that the statement fails.
func (f *Points) Write() (lost bool, code mongoerr.Code) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.points[failWrite]
	if p == nil || !f.fires(failWrite) {
		return false, 0
	}
	return !p.Data.KeepsConnection, p.Data.BeforeCommit
}

// GetMore applies failGetMoreAfterCursorCheckout. lost says that the connection is closed.
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

// remove needs the lock.
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

// Set puts a fail point on, or off if p is nil. It returns how often it has fired before.
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

// Entered returns how often a fail point has fired, and a channel that is closed when one fires
// next.
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

// TimeLimit applies the fail points of maxTimeMS, and reports whether the command's limit counts.
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
