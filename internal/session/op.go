package session

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Op is one running operation. A connection has one Op and reuses it for each command, so that
// running a command allocates no Op. ID distinguishes the uses.
//
// Op implements context.Context with one exception: Err returns the *mongoerr.Error that ended the
// operation instead of context.Canceled. It can be the parent of context.WithCancel and similar
// functions. The context ends when the operation finishes, at the latest, so no derived context
// outlives the command.
type Op struct {
	// Client describes the connection. It is set once, before the first Begin.
	Client Client
	// Looks is called when the operation first checks whether it has ended, or first waits for its
	// end. Short operations never check. Looks may be nil. It is set once, before the first Begin.
	Looks func()

	mu       sync.Mutex
	parent   context.Context
	id       int64
	active   bool
	started  time.Time
	deadline time.Time
	timer    clock.Timer
	done     chan struct{}
	info     OpInfo
	awaiting bool
	waiting  bool

	// cause is read by Err without the lock. It is nil while the operation may continue.
	cause atomic.Pointer[mongoerr.Error]
	// looked means that the operation has checked whether it has ended.
	looked atomic.Bool

	// Stamp is the greatest stamp of the operation's commits, or 0 if it has not committed. The
	// client gets it as operationTime. Only the operation's own goroutine may use it.
	Stamp storage.Stamp

	// Memory counts the memory of the operation in the server's budget.
	Memory memory.Operation

	// Debug has the counters of the running operation. Only its own goroutine may use them.
	Debug OpDebug
}

// Client describes the connection that an operation came from.
type Client struct {
	ConnectionID int64
	Remote       string
	AppName      string
	Metadata     bsonx.Doc
}

// OpInfo is the information about an operation for currentOp. Collection and Command borrow the
// request's bytes while the operation runs.
type OpInfo struct {
	// Kind is currentOp's "op": command, query, getmore, insert, update, remove.
	Kind string
	DB   string
	// Collection is "$cmd" for a command without a collection. If DB is empty, Collection is the
	// whole namespace.
	Collection []byte
	Command    bsonx.Doc
	SessionID  SessionID
	// EndsWithClient means that nobody needs the result once the client is gone, as for a read.
	EndsWithClient bool
	// Writes means that the operation may change data.
	Writes bool
	// Spared means that the operation is not ended to free memory.
	Spared bool
	// Plan is the running plan. It may be nil. Other goroutines call it.
	Plan PlanSummary
	// Origin is the command that opened the cursor that is being read, or nil.
	Origin bsonx.Doc
}

// Namespace returns "db.collection".
func (i *OpInfo) Namespace() string {
	if i.DB == "" {
		return string(i.Collection)
	}
	return i.DB + "." + string(i.Collection)
}

// PlanSummary describes a plan in one line. It is called only when the line is written, because
// most operations are not slow.
type PlanSummary interface{ Summary() string }

// summary is the text of a plan's summary.
type summary string

// Summary implements PlanSummary.
func (s summary) Summary() string { return string(s) }

// OpDebug has a command's report about its work, for the slow-operation log and the profiler. A
// negative number means that the command did not report it.
type OpDebug struct {
	// Origin is the command that opened the cursor that is being read, or nil.
	Origin bsonx.Doc
	// PlanSummary is nil for operations without a plan.
	PlanSummary     PlanSummary
	CursorID        int64
	KeysExamined    int64
	DocsExamined    int64
	NReturned       int64
	NMatched        int64
	NModified       int64
	NInserted       int64
	NDeleted        int64
	NUpserted       int64
	WriteConflicts  int64
	HasSortStage    bool
	UsedDisk        bool
	FromPlanCache   bool
	CursorExhausted bool
	ResponseLength  int
	// Waited is how long the operation only waited for new data or a new topology.
	Waited time.Duration
}

// Count is a figure of an operation with its name in MongoDB's log.
type Count struct {
	Name  string
	Value int64
}

// Counts returns how many keys and documents the operation read and changed. A negative number
// means that the operation did not report it.
func (d *OpDebug) Counts() [8]Count {
	return [...]Count{
		{"keysExamined", d.KeysExamined},
		{"docsExamined", d.DocsExamined},
		{"nMatched", d.NMatched},
		{"nModified", d.NModified},
		{"ninserted", d.NInserted},
		{"ndeleted", d.NDeleted},
		{"nUpserted", d.NUpserted},
		{"nreturned", d.NReturned},
	}
}

// Inserted counts inserted documents.
func (d *OpDebug) Inserted(n int64) { d.NInserted = max(d.NInserted, 0) + n }

// Deleted counts deleted documents.
func (d *OpDebug) Deleted(n int64) { d.NDeleted = max(d.NDeleted, 0) + n }

// Updated counts the documents of an update.
func (d *OpDebug) Updated(matched, modified, upserted int64) {
	d.NMatched = max(d.NMatched, 0) + matched
	d.NModified = max(d.NModified, 0) + modified
	d.NUpserted = max(d.NUpserted, 0) + upserted
}

func (d *OpDebug) reset() {
	*d = OpDebug{
		KeysExamined: -1, DocsExamined: -1, NReturned: -1, NMatched: -1, NModified: -1, NInserted: -1, NDeleted: -1,
		NUpserted: -1,
	}
}

// The errors with which other goroutines end an operation.
var (
	errInterrupted = mongoerr.New(mongoerr.Interrupted, "operation was interrupted")
	errTimeLimit   = mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
	errShutdown    = mongoerr.New(mongoerr.InterruptedAtShutdown, "interrupted at shutdown")
	errClientGone  = mongoerr.New(mongoerr.ClientDisconnect, "operation was interrupted because a client disconnected")
	errFinished    = mongoerr.New(mongoerr.CallbackCanceled, "operation has finished")
)

// Begin starts an operation. parent only provides context values. The caller must call Finish.
func (o *Op) Begin(parent context.Context, id int64, now time.Time) {
	o.mu.Lock()
	o.parent, o.id, o.active, o.started = parent, id, true, now
	o.done = nil // a context derived from the previous operation may have called Done after the end
	o.cause.Store(nil)
	o.mu.Unlock()
	if o.looked.Load() {
		o.looked.Store(false)
	}
	o.Debug.reset()
	o.Stamp = 0
}

// SetInfo lets fill set the information for currentOp, which is empty after Begin.
func (o *Op) SetInfo(fill func(info *OpInfo)) {
	o.mu.Lock()
	fill(&o.info)
	o.mu.Unlock()
}

// SetPlan sets the plan for currentOp, and the command that opened the cursor if a cursor is being
// read.
func (o *Op) SetPlan(plan PlanSummary, origin bsonx.Doc) {
	o.mu.Lock()
	o.info.Plan, o.info.Origin = plan, origin
	o.mu.Unlock()
}

// Planned implements storage.PlanObserver. The first plan is the operation's own plan. Later plans
// are parts of it.
func (o *Op) Planned(plan interface{ Summary() string }) {
	o.mu.Lock()
	first := o.info.Plan == nil
	if first {
		o.info.Plan = plan
	}
	o.mu.Unlock()
	if first {
		o.Debug.PlanSummary = plan
	}
}

// Worked implements storage.PlanObserver.
func (o *Op) Worked(w storage.PlanWork) {
	d := &o.Debug
	if w.Conflicts > 0 {
		d.WriteConflicts += w.Conflicts
		return
	}
	d.KeysExamined, d.DocsExamined = max(d.KeysExamined, 0)+w.Keys, max(d.DocsExamined, 0)+w.Docs
	d.HasSortStage = d.HasSortStage || w.Sorts
	d.UsedDisk = d.UsedDisk || w.Spilled
	d.FromPlanCache = d.FromPlanCache || w.FromCache
}

// LimitTime ends the operation with MaxTimeMSExpired when d has passed on the clock.
func (o *Op) LimitTime(c clock.Clock, d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := o.id
	o.deadline = o.started.Add(d)
	o.timer = clock.AfterFunc(c, d, func() { o.kill(id, errTimeLimit) })
}

// Finish ends the operation and drops the request's bytes.
func (o *Op) Finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	o.deadline = time.Time{}
	o.end(errFinished)
	o.done = nil
	o.active, o.info, o.parent = false, OpInfo{}, nil
	o.Debug.PlanSummary = nil
	o.Memory.Release()
}

// end ends the operation. The caller holds the lock.
func (o *Op) end(cause *mongoerr.Error) {
	if !o.cause.CompareAndSwap(nil, cause) {
		return
	}
	if o.done != nil {
		close(o.done)
	}
}

func (o *Op) kill(id int64, cause *mongoerr.Error) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.active || o.id != id {
		return false
	}
	o.end(cause)
	return true
}

// Kill ends the operation, if it still runs, as killOp does.
func (o *Op) Kill(id int64) bool { return o.kill(id, errInterrupted) }

// Shutdown ends the running operation, if any, because the server stops.
func (o *Op) Shutdown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active {
		o.end(errShutdown)
	}
}

// InterruptAwait ends the running operation only if it waits for new data or a new topology
// (awaitData, an awaitable hello). A graceful shutdown lets other operations finish.
func (o *Op) InterruptAwait() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active && o.awaiting {
		o.end(errShutdown)
	}
}

// Disconnect ends the running operation if nobody needs its result, because its client is gone.
func (o *Op) Disconnect() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.active && (o.info.EndsWithClient || o.awaiting) {
		o.end(errClientGone)
	}
}

// SetAwaiting marks whether the operation only waits for new data or a new topology.
func (o *Op) SetAwaiting(awaiting bool) {
	o.mu.Lock()
	o.awaiting = awaiting
	o.mu.Unlock()
}

// SetWaiting marks whether the operation waits for permission to write. A shutdown and the end of
// its client end such a wait.
func (o *Op) SetWaiting(waiting bool) {
	o.mu.Lock()
	o.waiting, o.awaiting = waiting, waiting
	o.mu.Unlock()
}

// ID returns the operation's number.
func (o *Op) ID() int64 { return o.id }

// Deadline implements context.Context.
func (o *Op) Deadline() (time.Time, bool) { return o.deadline, !o.deadline.IsZero() }

// Done implements context.Context. The first call makes the channel, because most operations never
// wait.
func (o *Op) Done() <-chan struct{} {
	o.look()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil {
		o.done = make(chan struct{})
		if o.cause.Load() != nil {
			close(o.done)
		}
	}
	return o.done
}

// Err implements context.Context. The error is the *mongoerr.Error for the reply.
func (o *Op) Err() error {
	if cause := o.cause.Load(); cause != nil {
		return cause
	}
	o.look()
	return nil
}

// look records that the operation checks whether it has ended.
func (o *Op) look() {
	if o.looked.Load() {
		return
	}
	o.looked.Store(true)
	if o.Looks != nil {
		o.Looks()
	}
}

// Looked reports whether the running operation has checked whether it has ended. An operation that
// has not would not notice its end.
func (o *Op) Looked() bool { return o.looked.Load() }

// Value implements context.Context.
func (o *Op) Value(key any) any {
	switch key.(type) {
	case storage.PlanKey:
		return o
	}
	if key == memory.OperationKey() {
		return &o.Memory
	}
	if o.parent == nil {
		return nil
	}
	return o.parent.Value(key)
}

// Cause turns an error that came from a context into the user error that ended the operation.
func (o *Op) Cause(err error) error {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if cause := o.cause.Load(); cause != nil {
		return cause
	}
	return err
}

// Snapshot is a copy of a running operation's description.
type Snapshot struct {
	OpInfo
	Client  Client
	ID      int64
	Started time.Time
	Killed  bool
	Active  bool
	// Waiting operations wait for permission to write.
	Waiting bool
}

// Snapshot returns a copy of the description. Active is false between operations.
func (o *Op) Snapshot() Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := Snapshot{OpInfo: o.info, Client: o.Client, ID: o.id, Started: o.started, Active: o.active, Waiting: o.waiting}
	s.Command, s.Collection = s.Command.Clone(), bytes.Clone(s.Collection)
	s.Killed = o.active && o.cause.Load() != nil
	if s.Plan != nil {
		s.Plan = summary(s.Plan.Summary()) // the plan belongs to the operation and may be gone when the copy is read
	}
	return s
}

// SetClient records the client's metadata from the handshake.
func (o *Op) SetClient(appName string, metadata bsonx.Doc) {
	o.mu.Lock()
	o.Client.AppName, o.Client.Metadata = appName, metadata
	o.mu.Unlock()
}
