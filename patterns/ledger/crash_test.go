package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// operation is an operation during which a process may die.
type operation struct {
	before func(ctx context.Context, l *ledger.Ledger) error
	do     func(ctx context.Context, l *ledger.Ledger, clock *patterntest.Clock) error
	// allowed are the balances that the test accepts after Repair. The last one is the result of
	// the complete operation.
	allowed [][3]ledger.Amount
}

// canceled turns errors of canceled and expired transfers into nil: an operation may be repeated
// after it was canceled.
func canceled(err error) error {
	if errors.Is(err, ledger.ErrCanceled) || errors.Is(err, ledger.ErrExpired) {
		return nil
	}
	return err
}

var (
	untouched = [3]ledger.Amount{1000, 1000, 0}
	paid      = [3]ledger.Amount{900, 1100, 0}
)

var operations = map[string]operation{
	"transfer": {
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			_, err := l.Transfer(ctx, "a", pay(100))
			return err
		},
		allowed: [][3]ledger.Amount{untouched, paid},
	},
	"linked": {
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			_, err := l.Transfer(ctx, "a", pay(100), ledger.Move{From: "peter", To: "anna", Amount: 300})
			return err
		},
		allowed: [][3]ledger.Amount{untouched, {900, 800, 300}},
	},
	"refused": {
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			if _, err := l.Transfer(ctx, "a", pay(1001)); !errors.Is(err, ledger.ErrInsufficientFunds) {
				return errors.Join(errors.New("it was not refused"), err)
			}
			return nil
		},
		allowed: [][3]ledger.Amount{untouched},
	},
	"posted": {
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			_, err1 := l.Hold(ctx, "a", 0, pay(300))
			_, err2 := l.PostPart(ctx, "a", 100)
			return errors.Join(err1, err2)
		},
		allowed: [][3]ledger.Amount{untouched, paid},
	},
	"given up": {
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			_, err := l.Hold(ctx, "a", 0, pay(300))
			return errors.Join(canceled(err), l.Cancel(ctx, "a"))
		},
		allowed: [][3]ledger.Amount{untouched},
	},
	"expired": {
		do: func(ctx context.Context, l *ledger.Ledger, clock *patterntest.Clock) error {
			_, err := l.Hold(ctx, "a", time.Minute, pay(300))
			clock.Advance(time.Minute)
			_, err2 := l.Repair(ctx)
			return errors.Join(canceled(err), err2)
		},
		allowed: [][3]ledger.Amount{untouched},
	},
	"undone": {
		before: func(ctx context.Context, l *ledger.Ledger) error {
			_, err := l.Transfer(ctx, "a", pay(100))
			return err
		},
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			_, err := l.Undo(ctx, "a")
			return err
		},
		allowed: [][3]ledger.Amount{paid, untouched},
	},
	"submitted": {
		do: func(ctx context.Context, l *ledger.Ledger, _ *patterntest.Clock) error {
			err := l.Submit(ctx, "a", time.Time{}, pay(100))
			_, err2 := l.Work(ctx)
			return errors.Join(err, err2)
		},
		allowed: [][3]ledger.Amount{untouched, paid},
	},
}

// TestCrash lets the process die at every point of every operation, with each engine.
func TestCrash(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		for name, op := range operations {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if points := patterntest.Crash(t, op.scenario(cfg)); points < 6 {
					t.Errorf("%d points", points)
				}
			})
		}
	})
}

func (op operation) scenario(cfg ledger.Config) patterntest.Scenario {
	return patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			l := openBank(t, db, cfg, patterntest.NewClock())
			if op.before != nil {
				if err := op.before(t.Context(), l); err != nil {
					t.Fatal(err)
				}
			}
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			clock := patterntest.NewClock()
			cfg.Clock = clock
			l, err := ledger.New(db, cfg)
			if err != nil {
				return err
			}
			return op.do(ctx, l, clock)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			if death.Survived && death.Err != nil {
				t.Error(death.Err)
			}
			clock := patterntest.NewClock()
			clock.Advance(time.Hour)
			l := newLedger(t, db, cfg, clock)
			mustHold(t, l) // no amount is lost, even before Repair
			repairAll(t, l)
			op.wantOneOf(t, l, op.allowed)
			if err := op.do(t.Context(), l, clock); err != nil { // calling it again must not apply it twice
				t.Errorf("again: %v", err)
			}
			repairAll(t, l)
			op.wantOneOf(t, l, op.allowed[len(op.allowed)-1:])
		},
	}
}

// repairAll calls Repair, and fails the test if a transfer is still under way afterwards.
func repairAll(t *testing.T, l *ledger.Ledger) {
	t.Helper()
	for _, last := range []bool{false, true} {
		n, err := l.Repair(t.Context())
		if err != nil || last && n > 0 {
			t.Errorf("repair: %d transfers, %v", n, err)
		}
	}
	mustHold(t, l)
}

func (op operation) wantOneOf(t *testing.T, l *ledger.Ledger, allowed [][3]ledger.Amount) {
	t.Helper()
	got := balances(t, l)
	for _, b := range allowed {
		if b == got {
			return
		}
	}
	t.Errorf("balances %v, want one of %v", got, allowed)
}

// TestHalf interrupts commands that change several accounts after some of the accounts: a server
// may die in the middle of a command, or one shard of two.
func TestHalf(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		for _, state := range []ledger.State{ledger.Pending, ledger.Committed, ledger.Canceling, ledger.Held} {
			for mask := range 4 {
				clock := patterntest.NewClock()
				l, ctx := openBank(t, patterntest.Open(t), cfg, clock), t.Context()
				if _, err := l.Half(ctx, "a", state, mask, pay(100)); err != nil {
					t.Fatal(err)
				}
				mustHold(t, l)
				if n, err := l.Repair(ctx); n != 0 || err != nil { // the timeout of the transfer is not over
					t.Errorf("%s %d: %d %v", state, mask, n, err)
				}
				_, err := l.Transfer(ctx, "a", pay(100))
				if state == ledger.Pending || state == ledger.Canceling {
					wantErr(t, err, ledger.ErrInProgress)
				}
				clock.Advance(time.Hour)
				for range 2 { // repairing again changes nothing
					if _, err := l.Repair(ctx); err != nil {
						t.Fatal(err)
					}
				}
				mustHold(t, l)
				if state == ledger.Committed {
					wantBalances(t, l, 900, 1100, 0)
				} else {
					wantBalances(t, l, 1000, 1000, 0)
				}
			}
		}
	})
}

// TestAsleep lets a worker continue a transfer that another worker has rolled back, or has rolled
// back and executed again. The amount is not moved twice.
func TestAsleep(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		for _, again := range []bool{false, true} {
			clock := patterntest.NewClock()
			l, ctx := openBank(t, patterntest.Open(t), cfg, clock), t.Context()
			asleep, err := l.Half(ctx, "a", ledger.Pending, 0, pay(100))
			if err != nil {
				t.Fatal(err)
			}
			clock.Advance(time.Hour)
			if n, err := l.Repair(ctx); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			want := [3]ledger.Amount{1000, 1000, 0}
			if again {
				if _, err := l.Transfer(ctx, "a", pay(100)); err != nil {
					t.Fatal(err)
				}
				want = [3]ledger.Amount{900, 1100, 0}
			}
			if err := l.Reserve(ctx, asleep, -1); err != nil {
				t.Fatal(err)
			}
			mustHold(t, l)
			err = l.Commit(ctx, asleep)
			if again {
				wantErr(t, err, ledger.ErrInterrupted)
			}
			mustHold(t, l)
			wantBalances(t, l, want[0], want[1], want[2])
		}
	})
}

// TestRecoverOwn has an application that dies and starts again. It need not wait for the timeout,
// and leaves the transfers of other applications alone.
func TestRecoverOwn(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		clock := patterntest.NewClock()
		db := patterntest.Open(t)
		l, ctx := openBank(t, db, cfg, clock), t.Context()
		other := cfg
		other.App = "A2"
		l2 := newLedger(t, db, other, clock)
		_, err1 := l.Half(ctx, "a", ledger.Pending, 1, pay(100))
		_, err2 := l2.Half(ctx, "b", ledger.Pending, 1, pay(100))
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if n, err := l.RecoverOwn(ctx); n != 1 || err != nil {
			t.Errorf("%d %v", n, err)
		}
		mustHold(t, l)
		for id, want := range map[string]ledger.State{"a": ledger.Canceled, "b": ledger.Pending} {
			if got, err := l.Get(ctx, id); err != nil || got.State != want {
				t.Errorf("%s: %+v %v", id, got, err)
			}
		}
		if _, err := newLedger(t, db, ledger.Config{}, clock).RecoverOwn(ctx); err == nil {
			t.Error("an application without a name")
		}
	})
}

// standalone returns a database on a server that is not a member of a replica set.
func standalone(t *testing.T) *mongo.Database {
	t.Helper()
	return sheaftest.Open(t, &sheaf.Options{Standalone: true}).Client().Database("bank")
}

// TestNoTransactions uses a server without transactions: a ledger with Config.Transactions returns
// ErrNoTransactions and changes no balance.
func TestNoTransactions(t *testing.T) {
	t.Parallel()
	l, ctx := openBank(t, standalone(t), ledger.Config{Transactions: true}, nil), t.Context()
	_, err := l.Transfer(ctx, "a", pay(100))
	wantErr(t, err, ledger.ErrNoTransactions)
	mustHold(t, l)
	wantBalances(t, l, 1000, 1000, 0)
	if n, err := l.Repair(ctx); n != 0 || err != nil {
		t.Errorf("something was left: %d %v", n, err)
	}
}
