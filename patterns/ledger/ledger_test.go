package ledger_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// engines are the two ways to execute transfers. Every test runs with both.
var engines = map[string]ledger.Config{
	"two-phase":   {App: "A1"},
	"transaction": {App: "A1", Transactions: true},
	"decimals":    {App: "A1", Decimals: 2},
}

func eachEngine(t *testing.T, test func(t *testing.T, cfg ledger.Config)) {
	t.Helper()
	for name, cfg := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if cfg.Transactions && !transactions(t) {
				t.Skip("the server has no transactions")
			}
			test(t, cfg)
		})
	}
}

// transactions reports whether the server supports transactions.
func transactions(t *testing.T) bool {
	t.Helper()
	l := openBank(t, patterntest.Open(t), ledger.Config{Transactions: true}, nil)
	_, err := l.Transfer(t.Context(), "a", pay(1))
	return !errors.Is(err, ledger.ErrNoTransactions)
}

func newLedger(t testing.TB, db *mongo.Database, cfg ledger.Config, clock patterns.Clock) *ledger.Ledger {
	t.Helper()
	cfg.Clock = clock
	l, err := ledger.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// openBank returns a ledger in which Joe and Peter have 1000 each, and Anna nothing.
func openBank(t testing.TB, db *mongo.Database, cfg ledger.Config, clock patterns.Clock) *ledger.Ledger {
	t.Helper()
	l := newLedger(t, db, cfg, clock)
	ctx := context.Background()
	err := errors.Join(
		l.EnsureIndexes(ctx),
		l.Open(ctx, ledger.Account{ID: "joe", Opening: 1000}),
		l.Open(ctx, ledger.Account{ID: "peter", Opening: 1000}),
		l.Open(ctx, ledger.Account{ID: "anna"}),
	)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func pay(amount ledger.Amount) ledger.Move {
	return ledger.Move{From: "joe", To: "peter", Amount: amount}
}

func mustHold(t testing.TB, l *ledger.Ledger) {
	t.Helper()
	violations, err := l.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

// balances returns the balances of Joe, Peter and Anna.
func balances(t testing.TB, l *ledger.Ledger) (b [3]ledger.Amount) {
	t.Helper()
	for i, id := range []string{"joe", "peter", "anna"} {
		a, err := l.Account(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		b[i] = a.Balance
	}
	return b
}

func wantBalances(t testing.TB, l *ledger.Ledger, joe, peter, anna ledger.Amount) {
	t.Helper()
	if got := balances(t, l); got != [3]ledger.Amount{joe, peter, anna} {
		t.Errorf("balances %v, want %v", got, [3]ledger.Amount{joe, peter, anna})
	}
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
}

func TestTransfer(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		l, ctx := openBank(t, patterntest.Open(t), cfg, nil), t.Context()
		for range 2 {
			done, err := l.Transfer(ctx, "a", pay(100))
			if err != nil || done.State != ledger.Done || done.App != "A1" ||
				done.Committed.IsZero() || !done.Deadline.IsZero() {
				t.Fatalf("%+v %v", done, err)
			}
		}
		wantBalances(t, l, 900, 1100, 0)
		_, err := l.Transfer(ctx, "a", pay(101))
		wantErr(t, err, ledger.ErrKeyReused)
		_, err = l.Hold(ctx, "a", 0, pay(100))
		wantErr(t, err, ledger.ErrKeyReused)
		mustHold(t, l)
	})
}

// TestRefused executes transfers that are not possible: they change nothing, and stay refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		l, ctx := openBank(t, patterntest.Open(t), cfg, nil), t.Context()
		err := errors.Join(
			l.Open(ctx, ledger.Account{ID: "euro", Currency: "EUR", Opening: 10}),
			l.Open(ctx, ledger.Account{ID: "card", Ceiling: 50}),
			l.Open(ctx, ledger.Account{ID: "closed"}),
			l.Close(ctx, "closed"),
		)
		if err != nil {
			t.Fatal(err)
		}
		for id, c := range map[string]struct {
			move ledger.Move
			want error
		}{
			"funds":     {ledger.Move{From: "joe", To: "peter", Amount: 1001}, ledger.ErrInsufficientFunds},
			"ceiling":   {ledger.Move{From: "joe", To: "card", Amount: 51}, ledger.ErrCeiling},
			"to none":   {ledger.Move{From: "joe", To: "nobody", Amount: 1}, ledger.ErrNoAccount},
			"from none": {ledger.Move{From: "nobody", To: "joe", Amount: 1}, ledger.ErrNoAccount},
			"closed":    {ledger.Move{From: "joe", To: "closed", Amount: 1}, ledger.ErrClosed},
			"currency":  {ledger.Move{From: "joe", To: "euro", Amount: 1}, ledger.ErrCurrency},
			"zero":      {ledger.Move{From: "joe", To: "peter"}, ledger.ErrAmount},
			"negative":  {ledger.Move{From: "joe", To: "peter", Amount: -1}, ledger.ErrAmount},
			"itself":    {ledger.Move{From: "joe", To: "joe", Amount: 1}, ledger.ErrAmount},
			"undo:a":    {pay(1), ledger.ErrID},
			"":          {pay(1), ledger.ErrID},
		} {
			for range 2 {
				_, err := l.Transfer(ctx, id, c.move)
				wantErr(t, err, c.want)
			}
			_, err := l.Hold(ctx, id+" hold", 0, c.move)
			if id != "" && id != "undo:a" {
				wantErr(t, err, c.want)
			}
		}
		if _, err := l.Transfer(ctx, "rich", ledger.Move{From: "peter", To: "joe", Amount: 1000}); err != nil {
			t.Error(err)
		}
		_, err = l.Transfer(ctx, "funds", pay(1001))
		wantErr(t, err, ledger.ErrInsufficientFunds) // the refusal is final
		wantBalances(t, l, 2000, 0, 0)
		mustHold(t, l)
	})
}

// TestLinked has transfers with several moves: all of them happen, or none.
func TestLinked(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		l, ctx := openBank(t, patterntest.Open(t), cfg, nil), t.Context()
		through := ledger.Move{From: "peter", To: "anna", Amount: 1100}
		// Peter receives and pays the amount in the same transfer
		if _, err := l.Transfer(ctx, "a", pay(100), through); err != nil {
			t.Fatal(err)
		}
		wantBalances(t, l, 900, 0, 1100)
		_, err := l.Transfer(ctx, "b", pay(100), through)
		wantErr(t, err, ledger.ErrInsufficientFunds)
		wantBalances(t, l, 900, 0, 1100)
		_, err = l.Transfer(ctx, "c", pay(100), ledger.Move{From: "peter", To: "anna", Amount: 1, Currency: "EUR"})
		wantErr(t, err, ledger.ErrCurrency)
		mustHold(t, l)
	})
}

func TestHold(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		clock := patterntest.NewClock()
		l, ctx := openBank(t, patterntest.Open(t), cfg, clock), t.Context()
		for range 2 {
			if held, err := l.Hold(ctx, "a", time.Hour, pay(700)); err != nil || held.State != ledger.Held {
				t.Fatalf("%+v %v", held, err)
			}
		}
		wantBalances(t, l, 1000, 1000, 0)
		_, err := l.Transfer(ctx, "b", pay(301))
		wantErr(t, err, ledger.ErrInsufficientFunds)
		_, err = l.Transfer(ctx, "c", ledger.Move{From: "peter", To: "anna", Amount: 1001})
		wantErr(t, err, ledger.ErrInsufficientFunds) // incoming amounts that are not committed cannot be spent
		mustHold(t, l)
		_, err = l.PostPart(ctx, "a", 701)
		wantErr(t, err, ledger.ErrAmount)
		for range 2 {
			if posted, err := l.PostPart(ctx, "a", 500); err != nil || posted.State != ledger.Done {
				t.Fatalf("%+v %v", posted, err)
			}
		}
		_, err = l.Post(ctx, "a")
		wantErr(t, err, ledger.ErrKeyReused)
		wantErr(t, l.Cancel(ctx, "a"), ledger.ErrApplied)
		wantBalances(t, l, 500, 1500, 0)
		if _, err := l.Undo(ctx, "a"); err != nil {
			t.Error(err)
		}
		wantBalances(t, l, 1000, 1000, 0)
		mustHold(t, l)
	})
}

// TestHoldEnds cancels a hold, lets two holds expire, and posts a hold that does not expire.
func TestHoldEnds(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		clock := patterntest.NewClock()
		l, ctx := openBank(t, patterntest.Open(t), cfg, clock), t.Context()
		hold := func(id string, lasts time.Duration) {
			if _, err := l.Hold(ctx, id, lasts, pay(100)); err != nil {
				t.Fatal(err)
			}
		}
		hold("given up", 0)
		hold("too late", time.Minute)
		hold("swept", time.Minute)
		hold("for ever", 0)
		for range 2 {
			if err := l.Cancel(ctx, "given up"); err != nil {
				t.Error(err)
			}
		}
		_, err := l.Post(ctx, "given up")
		wantErr(t, err, ledger.ErrCanceled)
		clock.Advance(time.Minute)
		_, err = l.Post(ctx, "too late")
		wantErr(t, err, ledger.ErrExpired)
		if n, err := l.Repair(ctx); n != 1 || err != nil {
			t.Errorf("%d transfers were ended: %v", n, err)
		}
		if a, err := l.Account(ctx, "joe"); err != nil || a.Available() != 900 || len(a.Pending) != 1 {
			t.Errorf("%+v %v", a, err)
		}
		if _, err := l.Post(ctx, "for ever"); err != nil {
			t.Error(err)
		}
		wantBalances(t, l, 900, 1100, 0)
		_, err = l.Post(ctx, "none")
		wantErr(t, err, ledger.ErrNoTransfer)
		mustHold(t, l)
	})
}

func TestUndo(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		l, ctx := openBank(t, patterntest.Open(t), cfg, nil), t.Context()
		if _, err := l.Transfer(ctx, "a", pay(100)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Transfer(ctx, "b", ledger.Move{From: "peter", To: "anna", Amount: 1100}); err != nil {
			t.Fatal(err)
		}
		_, err := l.Undo(ctx, "a")
		wantErr(t, err, ledger.ErrInsufficientFunds) // Peter has no money left
		if _, err := l.Undo(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		for range 2 { // now Peter has money again
			if _, err := l.Undo(ctx, "a"); err != nil {
				t.Fatal(err)
			}
		}
		wantBalances(t, l, 1000, 1000, 0)
		_, err = l.Transfer(ctx, "c", pay(5000))
		wantErr(t, err, ledger.ErrInsufficientFunds)
		_, err = l.Undo(ctx, "c")
		wantErr(t, err, ledger.ErrNotHeld)
		mustHold(t, l)
	})
}

func TestAccounts(t *testing.T) {
	t.Parallel()
	l, ctx := openBank(t, patterntest.Open(t), ledger.Config{}, nil), t.Context()
	wantErr(t, l.Open(ctx, ledger.Account{ID: "joe", Opening: 1000}), nil)
	wantErr(t, l.Open(ctx, ledger.Account{ID: "joe", Opening: 1001}), ledger.ErrExists)
	wantErr(t, l.Open(ctx, ledger.Account{ID: "x", Opening: -1}), ledger.ErrAmount)
	wantErr(t, l.Close(ctx, "joe"), ledger.ErrNotEmpty)
	wantErr(t, l.Close(ctx, "nobody"), ledger.ErrNoAccount)
	wantErr(t, l.SetLimits(ctx, "nobody", 0, 1), ledger.ErrNoAccount)
	wantErr(t, l.SetLimits(ctx, "joe", 1001, 2000), ledger.ErrInsufficientFunds)
	wantErr(t, l.SetLimits(ctx, "joe", 0, 999), ledger.ErrCeiling)
	wantErr(t, l.SetLimits(ctx, "joe", -500, ledger.NoCeiling), nil)
	_, err := l.Transfer(ctx, "a", pay(1501))
	wantErr(t, err, ledger.ErrInsufficientFunds)
	_, err = l.Transfer(ctx, "b", pay(1500))
	wantErr(t, err, nil)
	wantBalances(t, l, -500, 2500, 0)
	mustHold(t, l)
}

// TestBusy fills the list of the runs of an account: the next transfer returns ErrBusy.
func TestBusy(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	l, ctx := openBank(t, db, ledger.Config{}, nil), t.Context()
	full := bson.D{{"$set", bson.D{{"pending", make([]bson.ObjectID, ledger.MaxPending)}}}}
	if _, err := db.Collection("accounts").UpdateByID(ctx, "joe", full); err != nil {
		t.Fatal(err)
	}
	_, err := l.Transfer(ctx, "a", pay(1))
	wantErr(t, err, ledger.ErrBusy)
	empty := bson.D{{"$set", bson.D{{"pending", bson.A{}}}}}
	if _, err := db.Collection("accounts").UpdateByID(ctx, "joe", empty); err != nil {
		t.Fatal(err)
	}
	_, err = l.Transfer(ctx, "a", pay(1))
	wantErr(t, err, nil)
	mustHold(t, l)
}

func TestHistory(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		clock := patterntest.NewClock()
		l, ctx := openBank(t, patterntest.Open(t), cfg, clock), t.Context()
		start := clock.Now()
		for i, move := range []ledger.Move{pay(1), pay(20), {From: "peter", To: "joe", Amount: 300}} {
			clock.Advance(time.Second)
			if _, err := l.Transfer(ctx, string(rune('a'+i)), move); err != nil {
				t.Fatal(err)
			}
		}
		_, err := l.Transfer(ctx, "refused", pay(5000))
		wantErr(t, err, ledger.ErrInsufficientFunds)
		var got []ledger.Amount
		for e, err := range l.History(ctx, "joe", start.Add(2*time.Second), clock.Now()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Amount, e.Balance)
		}
		// the last transfer is at the end of the range, which is exclusive
		if len(got) != 2 || got[0] != -20 || got[1] != 979 {
			t.Errorf("history %v", got)
		}
		for after, want := range map[time.Duration]ledger.Amount{0: 1000, 2 * time.Second: 999, time.Minute: 1279} {
			if b, err := l.BalanceAt(ctx, "joe", start.Add(after)); b != want || err != nil {
				t.Errorf("after %v: %d, want %d: %v", after, b, want, err)
			}
		}
	})
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		server := patterntest.Start(t)
		clock := patterntest.NewClock()
		openBank(t, server.Database(), cfg, clock)
		n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			l := newLedger(t, db, cfg, clock)
			_, err1 := l.Transfer(ctx, "a", pay(1))
			_, err2 := l.Undo(ctx, "a")
			_, err3 := l.Hold(ctx, "b", time.Minute, pay(1))
			_, err4 := l.Post(ctx, "b")
			_, err5 := l.Hold(ctx, "c", time.Minute, pay(1))
			err6 := l.Submit(ctx, "d", time.Time{}, pay(1))
			_, err7 := l.Work(ctx)
			clock.Advance(time.Hour)
			_, err8 := l.Repair(ctx)
			_, err9 := l.RecoverOwn(ctx)
			_, err10 := l.BalanceAt(ctx, "joe", clock.Now())
			for _, err := range l.History(ctx, "joe", time.Time{}, clock.Now()) {
				wantErr(t, err, nil)
			}
			err11 := errors.Join(l.Cancel(ctx, "c"), l.SetLimits(ctx, "joe", -1, 5000))
			if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11); err != nil {
				t.Error(err)
			}
			wantErr(t, l.Close(ctx, "joe"), ledger.ErrNotEmpty)
		})
		if n < 35 {
			t.Errorf("%d commands were explained", n)
		}
	})
}

func TestNotSharded(t *testing.T) {
	t.Parallel()
	wantErr(t, newLedger(t, patterntest.Open(t), ledger.Config{}, nil).Shard(t.Context()), patterns.ErrNotSharded)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	for _, cfg := range []ledger.Config{{Decimals: -1}, {Decimals: 19}, {Timeout: -1}} {
		if _, err := ledger.New(db, cfg); err == nil {
			t.Errorf("%+v is taken", cfg)
		}
	}
}

func TestAmount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ledger.Amount{"55.22": 5522, "-1": -100, "0.1": 10, "+2.30": 230} {
		if got, err := ledger.Parse(text, 2); got != want || err != nil {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1.234", "1/2", "1e3", "0x10", "1_0", "99999999999999999999"} {
		_, err := ledger.Parse(text, 2)
		wantErr(t, err, ledger.ErrAmount)
	}
	if got := ledger.Amount(-5).Format(2); got != "-0.05" {
		t.Error(got)
	}
	if got := ledger.Amount(7).Format(0); got != "7" {
		t.Error(got)
	}
}
