package session

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Ops lists the operations of all connections. It is safe for concurrent use. Running a command
// does not take its lock, because connections are added and removed, not operations.
type Ops struct {
	next atomic.Int64
	mu   sync.Mutex
	all  map[*Op]struct{}
}

// NewOps returns an empty list.
func NewOps() *Ops { return &Ops{all: make(map[*Op]struct{})} }

// TakeIDs returns the first of n new operation numbers.
func (o *Ops) TakeIDs(n int64) int64 { return o.next.Add(n) - n + 1 }

// Add adds an Op to the list until Remove.
func (o *Ops) Add(op *Op) {
	o.mu.Lock()
	o.all[op] = struct{}{}
	o.mu.Unlock()
}

// Remove removes an Op from the list.
func (o *Ops) Remove(op *Op) {
	o.mu.Lock()
	delete(o.all, op)
	o.mu.Unlock()
}

// Kill ends the operation with that number, and reports whether it was running.
func (o *Ops) Kill(id int64) bool {
	for _, op := range o.list() {
		if op.Kill(id) {
			return true
		}
	}
	return false
}

// End ends the operation with that number with an error, and reports whether it was running.
func (o *Ops) End(id int64, cause *mongoerr.Error) bool {
	for _, op := range o.list() {
		if op.kill(id, cause) {
			return true
		}
	}
	return false
}

// KillSession ends the operations of the sessions that match, except the operation with the number
// except, which is the caller.
func (o *Ops) KillSession(match func(SessionID) bool, except int64) {
	for _, op := range o.list() {
		if s := op.Snapshot(); s.Active && s.ID != except && !s.SessionID.IsZero() && match(s.SessionID) {
			op.Kill(s.ID)
		}
	}
}

// Each calls fn for every Op.
func (o *Ops) Each(fn func(*Op)) {
	for _, op := range o.list() {
		fn(op)
	}
}

// OpCounts has the numbers of running operations by activity.
type OpCounts struct {
	Active int
	// Readers and Writers are the numbers of operations that read or write and do not wait.
	Readers, Writers int
	// WaitingReaders and WaitingWriters are the numbers of operations that wait for permission to
	// continue.
	WaitingReaders, WaitingWriters int
	// AwaitingNews is the number of operations that wait for new data or a new topology.
	AwaitingNews int
}

// Counts counts the running operations without copying them.
func (o *Ops) Counts() OpCounts {
	var n OpCounts
	for _, op := range o.list() {
		op.mu.Lock()
		if op.active {
			n.add(op)
		}
		op.mu.Unlock()
	}
	return n
}

func (n *OpCounts) add(op *Op) {
	n.Active++
	switch {
	case op.waiting && op.info.Writes:
		n.WaitingWriters++
	case op.waiting:
		n.WaitingReaders++
	case op.awaiting:
		n.AwaitingNews++
	case op.info.Writes:
		n.Writers++
	case op.info.EndsWithClient:
		n.Readers++
	}
}

// Snapshots describes the running operations, oldest first. With idle it includes connections
// without an operation.
func (o *Ops) Snapshots(idle bool) []Snapshot {
	var out []Snapshot
	for _, op := range o.list() {
		if s := op.Snapshot(); s.Active || idle {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Snapshot) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (o *Ops) list() []*Op {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]*Op, 0, len(o.all))
	for op := range o.all {
		out = append(out, op)
	}
	return out
}
