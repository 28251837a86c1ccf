package ledger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// TestAccountTransfer is the example of the Little book: Joe pays Peter 100 (W094, W098). A
// reserved amount does not belong to Peter yet; the book credits it before the decision.
func TestAccountTransfer(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	l, ctx := openBank(t, patterntest.Open(t), ledger.Config{}, clock), t.Context()
	tx, err := l.Half(ctx, "a", ledger.Pending, -1, pay(100))
	if err != nil {
		t.Fatal(err)
	}
	joe, err1 := l.Account(ctx, "joe")
	peter, err2 := l.Account(ctx, "peter")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if joe.Available() != 900 || peter.Available() != 1000 || peter.Incoming != 100 ||
		len(joe.Pending) != 1 || joe.Pending[0] != tx.Run || len(peter.Pending) != 1 || peter.Pending[0] != tx.Run {
		t.Errorf("%+v %+v", joe, peter)
	}
	// Reserving twice has no further effect.
	if err := l.Reserve(ctx, tx, -1); err != nil {
		t.Fatal(err)
	}
	if again, err := l.Account(ctx, "joe"); err != nil || again.Outgoing != 100 || len(again.Pending) != 1 {
		t.Errorf("%+v %v", again, err)
	}
	done, err := l.Transfer(ctx, "b", pay(100))
	if err != nil || done.State != ledger.Done {
		t.Fatal(done, err)
	}
	wantBalances(t, l, 900, 1100, 0)
	mustHold(t, l)
}

// TestInsufficientFunds is the example W095 of the book "MongoDB Applied Design Patterns", with its
// amounts in dollars and cents.
func TestInsufficientFunds(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	l, ctx := newLedger(t, db, ledger.Config{Decimals: 2}, nil), t.Context()
	if err1, err2 := l.Open(ctx, ledger.Account{ID: "1", Opening: 100_00}),
		l.Open(ctx, ledger.Account{ID: "2"}); err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	move := ledger.Move{From: "1", To: "2", Amount: 150_00}
	_, err := l.Transfer(ctx, "a", move)
	wantErr(t, err, ledger.ErrInsufficientFunds)
	move.Amount = 55_22
	_, err = l.Transfer(ctx, "b", move)
	wantErr(t, err, nil)
	for id, want := range map[string]string{"1": "44.78", "2": "55.22"} {
		var doc struct {
			Balance any
			Pending []any
		}
		if err := db.Collection("accounts").FindOne(ctx, map[string]string{"_id": id}).Decode(&doc); err != nil {
			t.Fatal(err)
		}
		if got := doc.Balance.(interface{ String() string }).String(); got != want || len(doc.Pending) > 0 {
			t.Errorf("account %s: %s, pending %v", id, got, doc.Pending)
		}
	}
	mustHold(t, l)
}

// TestTimeout is the clean-up of the Applied Design Patterns: transfers that were not committed are
// rolled back, committed transfers are completed. A second run changes nothing (W096, W097).
func TestTimeout(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	l, ctx := openBank(t, patterntest.Open(t), ledger.Config{}, clock), t.Context()
	if _, err := l.Half(ctx, "new", ledger.Pending, 1, pay(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Half(ctx, "commit", ledger.Committed, 0, pay(20)); err != nil {
		t.Fatal(err)
	}
	clock.Advance(ledger.DefaultTimeout)
	for _, want := range []int64{2, 0} {
		if n, err := l.Repair(ctx); n != want || err != nil {
			t.Errorf("%d, want %d: %v", n, want, err)
		}
		wantBalances(t, l, 980, 1020, 0)
	}
	mustHold(t, l)
}

// TestIsolation is the example with two applications of the Little book: exactly one gets the
// transfer (W099).
func TestIsolation(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		db := patterntest.Open(t)
		clock := patterntest.NewClock()
		l, ctx := openBank(t, db, cfg, clock), t.Context()
		later := clock.Now().Add(time.Minute)
		for _, err := range []error{
			l.Submit(ctx, "t1", time.Time{}, pay(100)), l.Submit(ctx, "t1", time.Time{}, pay(100)),
			l.Submit(ctx, "t2", later, pay(5)),
		} {
			wantErr(t, err, nil)
		}
		wantErr(t, l.Submit(ctx, "t1", later, pay(200)), ledger.ErrKeyReused)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var apps []string
		for _, app := range []string{"A1", "A2", "A3"} {
			other := cfg
			other.App = app
			worker := newLedger(t, db, other, clock)
			wg.Go(func() {
				done, err := worker.Work(ctx)
				if err != nil {
					t.Error(err)
				}
				if done != nil {
					mu.Lock()
					defer mu.Unlock()
					apps = append(apps, done.App+" "+app)
				}
			})
		}
		wg.Wait()
		if len(apps) != 1 || apps[0] != apps[0][:2]+" "+apps[0][:2] {
			t.Errorf("executed by %v", apps)
		}
		wantBalances(t, l, 900, 1100, 0)
		clock.Advance(time.Minute)
		if done, err := l.Work(ctx); err != nil || done.ID != "t2" || done.State != ledger.Done {
			t.Errorf("%+v %v", done, err)
		}
		mustHold(t, l)
	})
}
