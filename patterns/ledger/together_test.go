package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

var people = []string{"joe", "peter", "anna"}

// TestTogether lets many workers with both engines use the same accounts. The timeouts are so short
// that a worker also finishes transfers of workers that are still alive. No money appears or
// disappears.
func TestTogether(t *testing.T) {
	t.Parallel()
	const workers, rounds, ids = 8, 40, 60
	db := patterntest.Open(t)
	bank := openBank(t, db, ledger.Config{}, nil)
	both := transactions(t)
	var wg sync.WaitGroup
	for w := range workers {
		l := newLedger(t, db, ledger.Config{
			Transactions: both && w%2 == 0, Timeout: time.Millisecond,
			App: fmt.Sprint("A", w),
		}, nil)
		random := rand.New(rand.NewPCG(uint64(w), 1))
		wg.Go(func() {
			for range rounds {
				if err := anything(t.Context(), l, random, ids); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, bank)
	impatient := newLedger(t, db, ledger.Config{Timeout: time.Millisecond}, nil)
	time.Sleep(2 * time.Millisecond)
	if _, err := impatient.Repair(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, bank)
	var sum ledger.Amount
	for _, b := range balances(t, bank) {
		if sum += b; b < 0 {
			t.Error(b)
		}
	}
	if sum != 2000 {
		t.Errorf("the sum is %d", sum)
	}
}

// anything does one operation with a random id. An id always stands for the same transfer.
func anything(ctx context.Context, l *ledger.Ledger, random *rand.Rand, ids int) error {
	n := random.IntN(ids)
	id := fmt.Sprint(n)
	from := n % len(people)
	move := ledger.Move{From: people[from], To: people[(from+1)%len(people)], Amount: ledger.Amount(100 + n)}
	var err error
	switch random.IntN(7) {
	case 0, 1:
		_, err = l.Transfer(ctx, "t"+id, move)
	case 2:
		_, err = l.Hold(ctx, "h"+id, time.Duration(n)*time.Millisecond, move)
	case 3:
		_, err = l.Post(ctx, "h"+id)
	case 4:
		err = l.Cancel(ctx, "th"[n%2:n%2+1]+id)
	case 5:
		_, err = l.Undo(ctx, "t"+id)
	case 6:
		_, err = l.Repair(ctx)
	}
	for _, expected := range []error{
		ledger.ErrInsufficientFunds, ledger.ErrCanceled, ledger.ErrExpired, ledger.ErrBusy,
		ledger.ErrInterrupted, ledger.ErrInProgress,
		ledger.ErrNoTransfer, ledger.ErrApplied, ledger.ErrNotHeld,
	} {
		if errors.Is(err, expected) {
			return nil
		}
	}
	return err
}

// TestModel compares a ledger with balances in memory.
func TestModel(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		db, ctx, banks := patterntest.Open(t), t.Context(), 0
		rapid.Check(t, func(rt *rapid.T) {
			banks++
			cfg := cfg
			cfg.Accounts, cfg.Transfers = fmt.Sprint("accounts", banks), fmt.Sprint("transfers", banks)
			l := newLedger(t, db, cfg, nil)
			free := map[string]ledger.Amount{"joe": 1000, "peter": 1000, "anna": 0} // amounts that an account can spend
			coming := map[string]ledger.Amount{}
			for _, id := range people {
				if err := l.Open(ctx, ledger.Account{ID: id, Opening: free[id]}); err != nil {
					rt.Fatal(err)
				}
			}
			for i := range rapid.IntRange(1, 6).Draw(rt, "operations") {
				from := rapid.IntRange(0, 2).Draw(rt, "from")
				to := (from + rapid.IntRange(1, 2).Draw(rt, "to")) % len(people)
				amount := ledger.Amount(rapid.IntRange(1, 1200).Draw(rt, "amount"))
				move := ledger.Move{From: people[from], To: people[to], Amount: amount}
				// kind selects a transfer, a hold that stays, a hold that is posted, or a hold that
				// is canceled.
				hold := rapid.IntRange(0, 3).Draw(rt, "kind")
				id := fmt.Sprint(i)
				var err error
				if hold == 0 {
					_, err = l.Transfer(ctx, id, move)
				} else {
					_, err = l.Hold(ctx, id, 0, move)
				}
				if enough := move.Amount <= free[move.From]; enough != (err == nil) {
					rt.Fatalf("%+v with %v: %v", move, free, err)
				}
				if err != nil {
					continue
				}
				part := ledger.Amount(rapid.IntRange(1, int(move.Amount)).Draw(rt, "part"))
				switch hold {
				case 0:
					part = move.Amount
				case 1:
					free[move.From] -= move.Amount
					coming[move.To] += move.Amount
					continue
				case 2:
					_, err = l.PostPart(ctx, id, part)
				case 3:
					part, err = 0, l.Cancel(ctx, id)
				}
				if err != nil {
					rt.Fatal(err)
				}
				free[move.From] -= part
				free[move.To] += part
			}
			for _, id := range people {
				if a, err := l.Account(ctx, id); err != nil || a.Available() != free[id] || a.Incoming != coming[id] {
					rt.Fatalf("%+v, want %d and %d: %v", a, free[id], coming[id], err)
				}
			}
			mustHold(t, l)
		})
	})
}

// TestRun has a worker that executes submitted transfers, and finishes a transfer that another
// worker has left.
func TestRun(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, cfg ledger.Config) {
		clock := patterntest.NewClock()
		cfg.Pace = time.Minute
		l := openBank(t, patterntest.Open(t), cfg, clock)
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := l.Half(ctx, "left", ledger.Committed, 1, pay(1)); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- l.Run(ctx) }()
		for i := range 20 {
			if err := l.Submit(ctx, fmt.Sprint(i), time.Time{}, pay(10)); err != nil {
				t.Fatal(err)
			}
		}
		for balances(t, l)[1] != 1201 {
			clock.Advance(time.Minute)
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		mustHold(t, l)
	})
}
