package relief

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

// noSource is a cursor source without documents.
type noSource struct{}

func (noSource) Next(context.Context) (bsonx.Doc, error) { return nil, nil }
func (noSource) Save()                                   {}
func (noSource) Restore(context.Context) error           { return nil }
func (noSource) Close()                                  {}

// waiterFixture is a Relief with a small memory budget, most of which cursors hold.
type waiterFixture struct {
	*Relief
	t *testing.T
}

func newWaiterFixture(t *testing.T, limit int64) *waiterFixture {
	t.Helper()
	r := &Relief{
		Memory: memory.New(limit), Ops: session.NewOps(), Cursors: session.NewCursors(clock.System{}),
		Clock: clock.System{}, Logger: slog.New(slog.DiscardHandler),
	}
	r.Cursors.LimitMemory(r.Memory)
	return &waiterFixture{r, t}
}

// open opens an idle cursor that counts n bytes, and returns its id.
func (f *waiterFixture) open(n int64) int64 {
	f.t.Helper()
	id, err := f.Cursors.Register(&session.Cursor{Source: noSource{}, DB: "d", Collection: "c", Compiled: n})
	if err != nil {
		f.t.Fatal(err)
	}
	return id
}

// isOpen reports whether a getMore would find the cursor.
func (f *waiterFixture) isOpen(id int64) bool {
	f.t.Helper()
	c, err := f.Cursors.Pin(id, "d.c", session.Owner{}, nil)
	if err != nil {
		if mongoerr.CodeOf(err) != mongoerr.CursorNotFound {
			f.t.Error(err)
		}
		return false
	}
	if err := f.Cursors.Unpin(c); err != nil {
		f.t.Error(err)
	}
	return true
}

// wait starts to wait for n bytes, and returns when the wait has begun. The channel receives the
// result.
func (f *waiterFixture) wait(h *memory.Holding, n int64) <-chan error {
	got := make(chan error, 1)
	go func() { got <- h.Admit(f.t.Context(), n) }()
	for f.Memory.Stats().Waiting == 0 && h.Held() == 0 {
		runtime.Gosched()
	}
	return got
}

// TestIdleCursorsEndForWaiters checks that idle cursors are closed for a waiting message, after
// some time. It closes the largest first, and no more than needed. The cursors hold either the
// budget or the memory of the process.
func TestIdleCursorsEndForWaiters(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	for name, c := range map[string]struct {
		pressed bool
		busy    int // number of looks at which an operation runs
		after   int
	}{
		"the budget":               {after: idleCursorsAfter},
		"the process":              {pressed: true, after: idleCursorsAfter},
		"after an operation":       {busy: LooksPerSecond, after: LooksPerSecond + idleCursorsAfter},
		"beside a long operation":  {busy: 1 << 20, after: busyCursorsAfter},
		"pressed beside operation": {pressed: true, busy: 1 << 20, after: busyCursorsAfter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newWaiterFixture(t, limit)
			small, large, largest := f.open(1<<20), f.open(20<<20), f.open(30<<20)
			h := f.Memory.Hold()
			if c.pressed {
				f.overload.Store(10 << 20)
				f.Memory.Press(true)
			}
			got := f.wait(&h, 16<<20)
			op := &session.Op{}
			f.Ops.Add(op)
			op.Begin(t.Context(), 1, f.Clock.Now())
			w := f.Watch()
			looks := 0
			for f.isOpen(largest) {
				if looks == c.busy {
					op.Finish()
				}
				if looks++; looks > 2*busyCursorsAfter {
					t.Fatal("the cursors are still open")
				}
				w.Look()
			}
			// The first look cannot know whether the operation is long.
			if looks < c.after || looks > c.after+2 {
				t.Errorf("a cursor was ended after %d looks, not %d", looks, c.after)
			}
			if !f.isOpen(large) || !f.isOpen(small) {
				t.Error("more was ended than needed")
			}
			f.Memory.Press(false) // as a collection would do
			if err := <-got; err != nil {
				t.Error(err)
			}
			if n := f.IdleCursors.Load(); n != 1 {
				t.Errorf("%d cursors are told to be ended", n)
			}
			h.Release()
		})
	}
}

// TestIdleCursorsStayWhereTheyDoNotHelp checks that cursors stay open if closing all of them would
// not free enough memory.
func TestIdleCursorsStayWhereTheyDoNotHelp(t *testing.T) {
	t.Parallel()
	f := newWaiterFixture(t, 64<<20)
	id := f.open(1 << 20)
	other, h := f.Memory.Hold(), f.Memory.Hold()
	other.Force(60 << 20)
	got := f.wait(&h, 16<<20)
	w, p := f.Watch(), Patience{}
	looks := 1
	for p.Look(w.Look()) {
		looks++
	}
	if looks != awaitIdle {
		t.Errorf("a message waits for %d looks while nothing runs", looks)
	}
	if !f.isOpen(id) {
		t.Error("a cursor was ended in vain")
	}
	other.Release()
	if err := <-got; err != nil {
		t.Error(err)
	}
	h.Release()
}

// TestPatience checks that a message waits as long as memory is expected to become free, but not
// longer than awaitMost.
func TestPatience(t *testing.T) {
	t.Parallel()
	for expectedEvery, want := range map[int]int{1: awaitMost, awaitIdle - 1: awaitMost, 1 << 20: awaitIdle} {
		p, looks := Patience{}, 1
		for p.Look(looks%expectedEvery == 0) {
			looks++
		}
		if looks != want {
			t.Errorf("memory is expected every %d looks: %d looks, not %d", expectedEvery, looks, want)
		}
	}
}

// TestCollectionsBecomeRare checks that collections become rare while requests wait for memory that
// does not become free.
func TestCollectionsBecomeRare(t *testing.T) {
	t.Parallel()
	var c collector
	count := func(looks int) (n int) {
		for range looks {
			if c.due(true) {
				n++
			}
		}
		return n
	}
	if n := count(staleAfter); n != 1 {
		t.Errorf("%d collections in the first %d looks", n, staleAfter)
	}
	count(2 * staleMost)
	if n := count(10 * staleMost); n > 10 {
		t.Errorf("%d collections in %d looks", n, 10*staleMost)
	}
	if c.due(false); count(staleAfter) != 1 {
		t.Error("the first collection comes late for those who wait later")
	}
}
