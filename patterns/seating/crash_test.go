package seating_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/seating"
)

// operation is an operation in which TestCrash lets the process die. Before it, cart 1 holds two
// seats of s1 and one of s2.
type operation struct {
	do func(ctx context.Context, s *seating.Seating, h *seating.Hold) error
	// sold lists the possible final states of the cart: true for sold, false for not sold. The last
	// is the state after the complete operation.
	sold []bool
}

var operations = map[string]operation{
	"hold": {func(ctx context.Context, s *seating.Seating, _ *seating.Hold) error {
		_, err := s.Hold(ctx, "1", "s1", seating.Seat{3, 3})
		return err
	}, []bool{false}},
	"hold the best": {func(ctx context.Context, s *seating.Seating, _ *seating.Hold) error {
		_, err := s.HoldBest(ctx, "1", "s1", 3, "")
		return err
	}, []bool{false}},
	"repaired": {func(ctx context.Context, s *seating.Seating, _ *seating.Hold) error {
		if _, err := s.Name(ctx, "1", "s1", 10, seating.Seat{3, 3}); err != nil {
			return err
		}
		s.Clock().(*patterntest.Clock).Advance(time.Hour)
		_, err := s.Repair(ctx)
		return err
	}, []bool{false}},
	"taken": {func(ctx context.Context, s *seating.Seating, _ *seating.Hold) error {
		if _, err := s.Hold(ctx, "1", "s1", seating.Seat{3, 3}, seating.Seat{0, 0}); !errors.Is(err, seating.ErrTaken) {
			return errors.Join(errors.New("it was free"), err)
		}
		return nil
	}, []bool{false}},
	"release": {func(ctx context.Context, s *seating.Seating, h *seating.Hold) error {
		return s.Release(ctx, "1", h)
	}, []bool{false}},
	"cancel": {func(ctx context.Context, s *seating.Seating, _ *seating.Hold) error {
		return s.Cancel(ctx, "1")
	}, []bool{false}},
	"checkout": {checkout, []bool{false, true}},
	"return": {func(ctx context.Context, s *seating.Seating, h *seating.Hold) error {
		return errors.Join(checkout(ctx, s, h), s.Return(ctx, "1"))
	}, []bool{false, true}},
}

func checkout(ctx context.Context, s *seating.Seating, _ *seating.Hold) error {
	_, err := s.Checkout(ctx, "1", func(ctx context.Context, _ *seating.Cart) error { return ctx.Err() })
	return err
}

// TestCrash lets the process die at every point of every operation. After Repair, the seats are
// either sold, with a receipt, or free.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, op := range operations {
		for _, paid := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if points := patterntest.Crash(t, op.scenario(paid)); points < 4 {
					t.Errorf("%d points", points)
				}
			})
		}
	}
}

func (op operation) scenario(paid bool) patterntest.Scenario {
	hold := &seating.Hold{}
	return patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			s := openHouse(t, db, patterntest.NewClock())
			h, err := s.Hold(t.Context(), "1", "s1", seating.Seat{0, 0}, seating.Seat{0, 1})
			_, err2 := s.Hold(t.Context(), "1", "s2", seating.Seat{0, 0})
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			*hold = *h
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			s, err := seating.New(db, seating.Config{Env: patterns.Env{Clock: patterntest.NewClock()}})
			if err != nil {
				return err
			}
			return op.do(ctx, s, hold)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			if death.Survived && death.Err != nil {
				t.Error(death.Err)
			}
			clock := patterntest.NewClock()
			s, err := seating.New(db, seating.Config{
				Env: patterns.Env{Clock: clock}, Paid: func(context.Context, string) (bool, error) { return paid, nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			// Reopened carts expire later.
			for range 4 {
				clock.Advance(time.Hour)
				if _, err := s.Repair(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if n, err := s.Repair(t.Context()); n != 0 || err != nil {
				t.Errorf("repair does not end: %d %v", n, err)
			}
			mustHold(t, s)
			c, err := s.Cart(t.Context(), "1")
			if err != nil {
				t.Fatal(err)
			}
			sold := c.State == seating.Done
			if free := available(t, s, "s1") + available(t, s, "s2"); sold && free != 157 || !sold && free != 160 {
				t.Errorf("%d seats are free, the cart is %s", free, c.State)
			}
			if sold && !op.sold[len(op.sold)-1] {
				t.Errorf("the cart is %s", c.State)
			}
		},
	}
}

// TestAsleep lets a process continue a Hold after the cart has expired, or was canceled or sold.
func TestAsleep(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(ctx context.Context, s *seating.Seating, clock *patterntest.Clock) error{
		"expired": func(context.Context, *seating.Seating, *patterntest.Clock) error { return nil },
		"canceled": func(ctx context.Context, s *seating.Seating,
			_ *patterntest.Clock,
		) error {
			return s.Cancel(ctx, "1")
		},
		"sold": func(ctx context.Context, s *seating.Seating, _ *patterntest.Clock) error {
			if _, err := s.Checkout(ctx, "1", nil); !errors.Is(err, seating.ErrLost) {
				return errors.Join(errors.New("nothing was lost"), err)
			}
			// The cart still has one hold.
			_, err := s.Checkout(ctx, "1", nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := patterntest.NewClock()
			s, ctx := openHouse(t, patterntest.Open(t), clock), t.Context()
			_, err := s.Hold(ctx, "1", "s2", seating.Seat{0, 0})
			wantErr(t, err, nil)
			asleep, err := s.Name(ctx, "1", "s1", 10, seating.Seat{0, 0})
			wantErr(t, err, nil)
			wantErr(t, decide(ctx, s, clock), nil)
			clock.Advance(time.Hour)
			_, err = s.Repair(ctx)
			wantErr(t, err, nil)
			if taken, err := s.Take(ctx, "1", asleep); !taken || err != nil {
				t.Fatal(taken, err)
			}
			clock.Advance(time.Hour)
			_, err = s.Repair(ctx)
			wantErr(t, err, nil)
			if n := available(t, s, "s1"); n != 80 {
				t.Errorf("%d seats are free", n)
			}
			mustHold(t, s)
		})
	}
}

// TestSlowPayment has a payment that takes longer than Config.Timeout, so that Repair runs before
// the payment ends. If Config.Paid knows the payment, the cart is sold; otherwise Checkout returns
// ErrUnsettled.
func TestSlowPayment(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		clock := patterntest.NewClock()
		db := patterntest.Open(t)
		openHouse(t, db, clock)
		s, err := seating.New(db, seating.Config{
			Env: patterns.Env{Clock: clock}, Paid: func(context.Context, string) (bool, error) { return known, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		_, err = s.Hold(ctx, "1", "s1", seating.Seat{0, 0})
		wantErr(t, err, nil)
		receipt, err := s.Checkout(ctx, "1", func(ctx context.Context, _ *seating.Cart) error {
			clock.Advance(seating.DefaultTimeout)
			_, err := s.Repair(ctx)
			return err
		})
		if known && (err != nil || receipt.Total != 10) {
			t.Error(receipt, err)
		}
		if !known {
			wantErr(t, err, seating.ErrUnsettled)
			wantState(t, s, "1", seating.Active)
		}
		mustHold(t, s)
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	s := openHouse(t, patterntest.Open(t), clock)
	_, err := s.Hold(t.Context(), "1", "s1", seating.Seat{0, 0})
	wantErr(t, err, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	for available(t, s, "s1") < 80 {
		clock.Advance(time.Minute)
		time.Sleep(time.Millisecond)
	}
	cancel()
	wantErr(t, <-ended, context.Canceled)
}
