package session

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// work counts how often it is aborted.
type work struct{ aborts int }

func (w *work) Abort() { w.aborts++ }

// machine runs the commands of a test file against one session.
type machine struct {
	now      time.Time
	registry *Transactions
	session  *Session
	op       *Op
	work     *work
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	m := &machine{now: now, registry: NewTransactions(), op: new(Op)}
	ses, err := NewSessions(clock.Fixed(now), 0).Use(SessionID{UUID: [16]byte{15: 1}}, now)
	if err != nil {
		t.Fatal(err)
	}
	m.session = ses
	return m
}

func (m *machine) run(line string) (string, error) {
	var number int64
	var verb string
	if _, err := fmt.Sscanf(line, "%s %d", &verb, &number); err != nil && verb == "" {
		return "", err
	}
	switch verb {
	case "reap":
		m.now = m.now.Add(time.Duration(number) * time.Second)
		m.registry.Reap(m.now)
		return "", nil
	case "kill":
		m.registry.KillSession(func(id SessionID) bool { return id == m.session.ID })
		return "", nil
	}
	m.op.Begin(context.Background(), 1, m.now)
	defer m.op.Finish()
	if err := m.session.CheckOut(m.op); err != nil {
		return "", err
	}
	defer m.session.CheckIn(m.registry)
	return m.use(verb, number)
}

// use runs the part of a command between CheckOut and CheckIn.
func (m *machine) use(verb string, number int64) (string, error) {
	switch verb {
	case "retryable":
		known, err := m.session.BeginRetryable(m.registry, number)
		if known {
			return "known", err
		}
		return "", err
	case "start":
		t, err := m.session.BeginTransaction(m.registry, number, "", m.now)
		if err != nil {
			return "", err
		}
		m.work = &work{}
		t.Work = m.work
		return "", nil
	}
	t, err := m.session.ContinueTransaction(number, verb == "commit")
	switch {
	case err != nil:
		return "", err
	case t == nil:
		return "committed already", nil
	case verb == "commit":
		m.registry.Committed(t)
	case verb == "abort":
		m.registry.Abort(t)
	case verb == "killed":
		m.registry.KillSession(func(SessionID) bool { return true })
		return "", m.op.Err()
	}
	return "", nil
}

func TestTransactionNumbers(t *testing.T) {
	datadriven.RunTest(t, "testdata/numbers", func(t *testing.T, d *datadriven.TestData) string {
		m := newMachine(t)
		var out bytes.Buffer
		for line := range strings.SplitSeq(d.Input, "\n") {
			res, err := m.run(line)
			if err != nil {
				res = fmt.Sprintf("%d: %s", mongoerr.CodeOf(err), err)
			}
			fmt.Fprintf(&out, "%-14s %s\n", line, res)
		}
		s := m.registry.Stats()
		fmt.Fprintf(&out, "started %d, committed %d, aborted %d, open %d\n", s.Started, s.Committed, s.Aborted, s.Open)
		if m.work != nil {
			fmt.Fprintf(&out, "the last one's work was aborted %d times\n", m.work.aborts)
		}
		return out.String()
	})
}

// TestCheckOutWaits checks that only one operation at a time checks a session out, and that a wait
// ends with its operation.
func TestCheckOutWaits(t *testing.T) {
	m := newMachine(t)
	m.op.Begin(context.Background(), 1, m.now)
	if err := m.session.CheckOut(m.op); err != nil {
		t.Fatal(err)
	}
	waiter := new(Op)
	waiter.Begin(context.Background(), 2, m.now)
	waiter.Kill(2)
	if err := m.session.CheckOut(waiter); mongoerr.CodeOf(err) != mongoerr.Interrupted {
		t.Fatalf("a killed operation got %v", err)
	}
	var wg sync.WaitGroup
	inside := 0
	for i := range 8 {
		wg.Go(func() {
			op := new(Op)
			op.Begin(context.Background(), int64(10+i), m.now)
			if err := m.session.CheckOut(op); err != nil {
				t.Error(err)
				return
			}
			inside++
			m.session.CheckIn(m.registry)
		})
	}
	m.session.CheckIn(m.registry)
	wg.Wait()
	if inside != 8 {
		t.Fatalf("%d of 8 got the session", inside)
	}
}

// TestKillRaces kills transactions, with and without a command that uses them. Each must be aborted
// exactly once.
func TestKillRaces(t *testing.T) {
	m := newMachine(t)
	stop := make(chan struct{})
	var killers sync.WaitGroup
	for range 2 {
		killers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					m.registry.KillSession(func(SessionID) bool { return true })
				}
			}
		})
	}
	var works []*work
	committed := 0
	for i := range int64(2000) {
		w := &work{}
		works = append(works, w)
		m.step(t, func() {
			tx, err := m.session.BeginTransaction(m.registry, i, "", m.now)
			if err != nil {
				t.Error(err)
				return
			}
			tx.Work = w
		})
		m.step(t, func() {
			if tx, err := m.session.ContinueTransaction(i, false); err == nil && tx.Work.(*work).aborts == 0 {
				m.registry.Committed(tx)
				committed++
			}
		})
	}
	close(stop)
	killers.Wait()
	aborted := 0
	for i, w := range works {
		if w.aborts > 1 {
			t.Fatalf("transaction %d was aborted %d times", i, w.aborts)
		}
		aborted += w.aborts
	}
	s := m.registry.Stats()
	if s.Open != 0 || int(s.Committed) != committed || int(s.Aborted) != aborted || committed+aborted != len(works) {
		t.Fatalf("%+v, %d committed, %d aborted", s, committed, aborted)
	}
}

func (m *machine) step(t *testing.T, fn func()) {
	t.Helper()
	op := new(Op)
	op.Begin(context.Background(), 1, m.now)
	defer op.Finish()
	if err := m.session.CheckOut(op); err != nil {
		t.Fatal(err)
	}
	defer m.session.CheckIn(m.registry)
	fn()
}

// TestEndedWhileInUse ends a session while an operation has it checked out. Until it is checked in,
// a new session with the same id must not be checked out.
func TestEndedWhileInUse(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	registry, sessions := NewTransactions(), NewSessions(clock.Fixed(now), 0)
	id := SessionID{UUID: [16]byte{15: 1}}
	old, err := sessions.Use(id, now)
	if err != nil {
		t.Fatal(err)
	}
	if !old.TryCheckOut() {
		t.Fatal("a new session is held")
	}
	sessions.End(id)
	again, err := sessions.Use(id, now)
	if err != nil {
		t.Fatal(err)
	}
	if again == old || again.TryCheckOut() {
		t.Error("two have the numbers of one id")
	}
	old.CheckIn(registry)
	if old.Touch(now) || !again.TryCheckOut() {
		t.Error("the numbers were not given back")
	}
	again.CheckIn(registry)
}
