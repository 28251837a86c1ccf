package session

import (
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func newClock() *clocktest.Manual { return clocktest.New(time.Unix(1_000_000, 0)) }

// countingSource yields n documents and counts how it is used.
type countingSource struct {
	left                    int
	saves, restores, closes int
}

func (s *countingSource) Next(context.Context) (bsonx.Doc, error) {
	if s.left == 0 {
		return nil, nil
	}
	s.left--
	return bsonx.NewDoc("left", s.left), nil
}
func (s *countingSource) Save()                         { s.saves++ }
func (s *countingSource) Restore(context.Context) error { s.restores++; return nil }
func (s *countingSource) Close()                        { s.closes++ }

func newCursor(src Source) *Cursor {
	return &Cursor{Source: src, DB: "d", Collection: "c"}
}

func wantCode(t *testing.T, err error, want mongoerr.Code) {
	t.Helper()
	if mongoerr.CodeOf(err) != want {
		t.Errorf("code %d, want %d: %v", mongoerr.CodeOf(err), want, err)
	}
}

func TestCursorLife(t *testing.T) {
	r := NewCursors(newClock())
	src := &countingSource{left: 2}
	c := newCursor(src)
	id, err := r.Register(c)
	if err != nil || id <= 0 {
		t.Fatal(id, err)
	}
	var op Op
	if _, err := r.Pin(id, "d.c", Owner{}, &op); err != nil {
		t.Fatal(err)
	}
	_, err = r.Pin(id, "d.c", Owner{}, &op)
	wantCode(t, err, mongoerr.CursorInUse)
	doc, err := c.Next(t.Context())
	if err != nil || doc == nil || src.restores != 1 {
		t.Fatal(doc, err, src)
	}
	c.PutBack(doc)
	_ = r.Unpin(c)
	if src.saves != 2 {
		t.Errorf("saved %d times", src.saves)
	}
	if c, err = r.Pin(id, "d.c", Owner{}, &op); err != nil {
		t.Fatal(err)
	}
	again, _ := c.Next(t.Context())
	if !again.Equal(doc) {
		t.Error("a document that was put back is lost")
	}
	r.Remove(c)
	_, err = r.Pin(id, "d.c", Owner{}, &op)
	wantCode(t, err, mongoerr.CursorNotFound)
	if src.closes != 1 {
		t.Errorf("closed %d times", src.closes)
	}
}

// TestEndIdle checks that EndIdle closes the idle cursors with the most memory, and closes no
// cursor if all of them together hold too little.
func TestEndIdle(t *testing.T) {
	t.Parallel()
	r := NewCursors(newClock())
	budget := memory.New(1 << 30)
	r.LimitMemory(budget)
	sources := map[int64]*countingSource{}
	ids := map[int64]int64{}
	for _, size := range []int64{1 << 20, 8 << 20, 4 << 20, 32 << 20} {
		sources[size] = &countingSource{}
		c := newCursor(sources[size])
		c.Compiled = size
		ids[size], _ = r.Register(c)
	}
	largest, err := r.Pin(ids[32<<20], "d.c", Owner{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		n     int64
		ended int
	}{{0, 0}, {-1, 0}, {27 << 20, 0}, {10 << 20, 2}, {1 << 10, 1}, {1 << 10, 0}} {
		before := budget.Stats().Used
		ended, freed := r.EndIdle(c.n)
		if ended != c.ended || freed < 0 || before-budget.Stats().Used < freed-2*memory.Step {
			t.Errorf("for %d bytes %d cursors with %d bytes were ended", c.n, ended, freed)
		}
	}
	for size, src := range sources {
		if size != 32<<20 && src.closes != 1 {
			t.Errorf("the source of %d bytes was closed %d times", size, src.closes)
		}
	}
	_, err = r.Pin(ids[8<<20], "d.c", Owner{}, nil)
	wantCode(t, err, mongoerr.CursorNotFound)
	if err := r.Unpin(largest); err != nil || sources[32<<20].closes != 0 {
		t.Errorf("a cursor in use was ended: %v", err)
	}
}

func TestCursorOwner(t *testing.T) {
	r := NewCursors(newClock())
	mine := Owner{Session: SessionID{UUID: [16]byte{1}}, User: "me@db"}
	other := Owner{Session: SessionID{UUID: [16]byte{2}}, User: "me@db"}
	c := newCursor(&countingSource{})
	c.Owner = mine
	id, _ := r.Register(c)
	free, _ := r.Register(newCursor(&countingSource{}))
	for _, tc := range []struct {
		id    int64
		ns    string
		owner Owner
		want  mongoerr.Code
	}{
		{id, "d.other", mine, mongoerr.Unauthorized},
		{id, "d.c", Owner{Session: mine.Session, User: "you@db"}, mongoerr.Unauthorized},
		{id, "d.c", other, codeCursorOfOtherSession},
		{id, "d.c", Owner{User: "me@db"}, codeCursorOfSession},
		{free, "d.c", Owner{Session: mine.Session}, codeCursorHasNoSession},
		{12345, "d.c", mine, mongoerr.CursorNotFound},
	} {
		_, err := r.Pin(tc.id, tc.ns, tc.owner, nil)
		wantCode(t, err, tc.want)
	}
	if _, err := r.Kill(id, Owner{User: "you@db"}); err == nil {
		t.Error("another user killed the cursor")
	}
}

func TestKillPinnedCursorInterruptsItsOperation(t *testing.T) {
	r := NewCursors(newClock())
	src := &countingSource{left: 5}
	id, _ := r.Register(newCursor(src))
	var op Op
	op.Begin(t.Context(), 1, time.Now())
	c, err := r.Pin(id, "d.c", Owner{}, &op)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := r.Kill(id, Owner{}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	wantCode(t, op.Err(), mongoerr.CursorKilled)
	if src.closes != 0 {
		t.Error("closed under its user")
	}
	_ = r.Unpin(c)
	if src.closes != 1 || r.Stats().Open != 0 {
		t.Errorf("closed %d times, %d open", src.closes, r.Stats().Open)
	}
	op.Finish()
}

func TestReapCursors(t *testing.T) {
	clock := newClock()
	r := NewCursors(clock)
	idle, forever, pinned := &countingSource{}, &countingSource{}, &countingSource{}
	if _, err := r.Register(newCursor(idle)); err != nil {
		t.Fatal(err)
	}
	c := newCursor(forever)
	c.NoTimeout = true
	endless, err := r.Register(c)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := r.Register(newCursor(pinned))
	if _, err := r.Pin(id, "d.c", Owner{}, nil); err != nil {
		t.Fatal(err)
	}
	clock.Advance(IdleTimeout - time.Second)
	if n := r.Reap(); n != 0 {
		t.Errorf("reaped %d too early", n)
	}
	clock.Advance(time.Second)
	if n := r.Reap(); n != 1 || idle.closes != 1 || forever.closes != 0 || pinned.closes != 0 {
		t.Errorf("reaped %d: %d %d %d", n, idle.closes, forever.closes, pinned.closes)
	}
	if s := r.Stats(); s.TimedOut != 1 || s.Open != 2 || s.NoTimeout != 1 || s.Pinned != 1 {
		t.Errorf("%+v", s)
	}
	if ok, err := r.Kill(endless, Owner{}); !ok || err != nil || forever.closes != 1 {
		t.Error(ok, err)
	}
}

func TestCloseRefusesNewCursors(t *testing.T) {
	r := NewCursors(newClock())
	r.Close()
	src := &countingSource{}
	_, err := r.Register(newCursor(src))
	wantCode(t, err, mongoerr.InterruptedAtShutdown)
	if src.closes != 1 {
		t.Error("the refused cursor's source is open")
	}
}

// TestTouch checks that use keeps a session alive, and that an ended session does not come back.
func TestTouch(t *testing.T) {
	clock := newClock()
	s := NewSessions(clock, 0)
	a, b := SessionID{UUID: [16]byte{1}}, SessionID{UUID: [16]byte{2}}
	use := func(id SessionID) *Session {
		ses, err := s.Use(id, clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return ses
	}
	first, other := use(a), use(b)
	clock.Advance(Timeout - time.Minute)
	if !first.Touch(clock.Now()) {
		t.Error("a live session cannot be touched")
	}
	clock.Advance(time.Minute)
	if ended := s.Reap(); len(ended) != 1 || ended[0] != b {
		t.Errorf("reaped: %v", ended)
	}
	if other.Touch(clock.Now()) || s.Lookup(b) != nil {
		t.Error("a reaped session lives on")
	}
	s.End(a)
	if first.Touch(clock.Now()) {
		t.Error("an ended session lives on")
	}
	if again := use(a); again == first || !again.Touch(clock.Now()) || s.Len() != 1 {
		t.Error("the id of an ended session gets no new session")
	}
}

func TestSessions(t *testing.T) {
	clock := newClock()
	s := NewSessions(clock, 2)
	a, b, c := SessionID{UUID: [16]byte{1}}, SessionID{UUID: [16]byte{2}}, SessionID{UUID: [16]byte{3}}
	for _, id := range []SessionID{a, b, a} {
		if _, err := s.Use(id, clock.Now()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Use(c, clock.Now())
	wantCode(t, err, mongoerr.TooManyLogicalSessions)
	clock.Advance(Timeout - time.Minute)
	if _, err := s.Use(a, clock.Now()); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Minute)
	if ended := s.Reap(); len(ended) != 1 || ended[0] != b {
		t.Errorf("reaped %v", ended)
	}
	if s.Lookup(a) == nil || s.Lookup(b) != nil || s.Len() != 1 {
		t.Error("the wrong session ended")
	}
	s.End(a)
	s.End(a)
	if s.Len() != 0 {
		t.Errorf("%d sessions are left", s.Len())
	}
}

func TestOpIsAContext(t *testing.T) {
	var op Op
	op.Begin(t.Context(), 5, time.Now())
	child, cancel := context.WithCancel(&op)
	defer cancel()
	if op.Err() != nil || child.Err() != nil {
		t.Fatal("ended at the beginning")
	}
	if op.Kill(4) || !op.Kill(5) {
		t.Fatal("killed the wrong operation")
	}
	<-child.Done()
	wantCode(t, op.Err(), mongoerr.Interrupted)
	wantCode(t, op.Cause(context.Canceled), mongoerr.Interrupted)
	if err := errors.New("other"); !errors.Is(op.Cause(err), err) {
		t.Error("an unrelated error was replaced")
	}
	op.Finish()
	if op.Kill(5) {
		t.Error("killed after the end")
	}

	op.Begin(t.Context(), 6, time.Now())
	if op.Err() != nil {
		t.Error("the next operation inherits the end of the one before")
	}
	done := op.Done()
	op.Finish()
	<-done
}

func TestOpTimeLimit(t *testing.T) {
	t.Parallel()
	c := clocktest.New(time.Now())
	var op Op
	op.Begin(t.Context(), 1, c.Now())
	op.LimitTime(c, time.Minute)
	if c.Advance(time.Minute - 1); op.Err() != nil {
		t.Errorf("before its time is up: %v", op.Err())
	}
	c.Advance(1)
	<-op.Done()
	wantCode(t, op.Err(), mongoerr.MaxTimeMSExpired)
	op.Finish()
	op.Begin(t.Context(), 2, c.Now())
	op.LimitTime(c, time.Minute)
	op.Finish()
	op.Begin(t.Context(), 3, c.Now())
	if c.Advance(time.Hour); op.Err() != nil {
		t.Error("an old limit ended a new operation")
	}
	op.Finish()
}

func TestOpsList(t *testing.T) {
	ops := NewOps()
	var a, b Op
	ops.Add(&a)
	ops.Add(&b)
	a.Begin(t.Context(), ops.TakeIDs(1), time.Now())
	a.SetInfo(func(info *OpInfo) {
		*info = OpInfo{DB: "d", Collection: []byte("c"), SessionID: SessionID{UUID: [16]byte{1}}}
	})
	if n := len(ops.Snapshots(false)); n != 1 {
		t.Errorf("%d run", n)
	}
	if n := len(ops.Snapshots(true)); n != 2 {
		t.Errorf("%d are listed", n)
	}
	ops.KillSession(func(SessionID) bool { return true }, a.ID())
	if a.Err() != nil {
		t.Error("the excepted operation was killed")
	}
	if !ops.Kill(a.ID()) || ops.Kill(99) {
		t.Error("killOp")
	}
	if s := ops.Snapshots(false); !s[0].Killed || s[0].Namespace() != "d.c" {
		t.Errorf("%+v", s)
	}
	a.Finish()
	ops.Remove(&a)
	ops.Remove(&b)
	if len(ops.Snapshots(true)) != 0 {
		t.Error("the list is not empty")
	}
}

// jumpy is a clock whose wall time is wrong and whose monotonic time is right.
type jumpy struct {
	start  time.Time
	passed time.Duration
}

// Now returns a time whose wall clock may be wrong. The monotonic reading is right.
func (j *jumpy) Now() time.Time { return j.start.Add(j.passed) }

// TestSessionsIgnoreTheWallClock uses a session while the clock is years back. The session must not
// be older than any other.
func TestSessionsIgnoreTheWallClock(t *testing.T) {
	clock := &jumpy{start: time.Now()}
	s := NewSessions(clock, 0)
	id := SessionID{UUID: [16]byte{1}}
	used, err := s.Use(id, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if strip := used.LastUse(); !strings.Contains(strip.String(), "m=") {
		t.Error("the last use has no monotonic reading: it follows the wall clock")
	}
	clock.passed = Timeout - time.Second
	if ended := s.Reap(); len(ended) != 0 {
		t.Errorf("reaped %v", ended)
	}
	clock.passed = Timeout
	if ended := s.Reap(); len(ended) != 1 {
		t.Errorf("reaped %v", ended)
	}
}

// TestSessionsAreCounted checks that sessions count in the memory of the requests, at no less than
// their real memory. Their share of the memory must limit their number.
func TestSessionsAreCounted(t *testing.T) {
	budget := memory.New(64 << 20)
	s := NewSessions(newClock(), 0)
	s.LimitMemory(budget)
	before := liveHeap()
	n := 0
	for ; ; n++ {
		id := SessionID{User: [32]byte{1}}
		binary.BigEndian.PutUint64(id.UUID[8:], uint64(n))
		ses, err := s.Use(id, s.begin)
		if err != nil {
			if code := mongoerr.CodeOf(err); code != mongoerr.TooManyLogicalSessions {
				t.Errorf("code %d", code)
			}
			break
		}
		ses.numbersOf()
		ses.Doc()
	}
	if n != s.Max() || n != 64<<20/memoryShare/sessionBytes {
		t.Errorf("%d sessions of at most %d", n, s.Max())
	}
	took, counted := int64(liveHeap())-int64(before), budget.Stats().Used
	if t.Logf("%d sessions take %d bytes each, counted %d", n, took/int64(n),
		counted/int64(n)); took > counted+counted/4 {
		t.Errorf("%d sessions take %d bytes, counted %d", n, took, counted)
	}
	for _, id := range s.All(func(SessionID) bool { return true }) {
		s.End(id)
	}
	if used := budget.Stats().Used; used != 0 {
		t.Errorf("%d bytes are counted for no session", used)
	}
}

func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestLooks checks that an operation calls Looks at its first check for interrupts, and only then.
func TestLooks(t *testing.T) {
	t.Parallel()
	looks := 0
	o := &Op{Looks: func() { looks++ }}
	for run, look := range []func(){func() { _ = o.Err() }, func() { o.Done() }, func() {}} {
		o.Begin(t.Context(), int64(run), time.Now())
		before := looks
		if o.Looked() {
			t.Errorf("run %d has looked before", run)
		}
		look()
		look()
		want := min(run+1, 2)
		if looks != want || o.Looked() != (looks > before) {
			t.Errorf("run %d: %d looks, not %d; looked is %v", run, looks, want, o.Looked())
		}
		o.Finish()
	}
}
