package cart_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// operations are the operations in which TestCrash lets the process die. Before each operation,
// cart 1 has two pieces of A and one of B.
var operations = map[string]func(ctx context.Context, s *cart.Shop) error{
	"add": func(ctx context.Context, s *cart.Shop) error {
		return s.Add(ctx, "1", cart.Item{SKU: "C", Price: 1}, 1)
	},
	"add more": func(ctx context.Context, s *cart.Shop) error { return s.Add(ctx, "1", a, 1) },
	"too many": func(ctx context.Context, s *cart.Shop) error {
		if err := s.SetQuantity(ctx, "1", "A", 100); err != nil && !errors.Is(err, cart.ErrInsufficientStock) {
			return err
		}
		_, err := s.Checkout(ctx, "1", nil, nil)
		if err != nil && !errors.Is(err, cart.ErrInsufficientStock) {
			return err
		}
		return nil
	},
	"repaired": func(ctx context.Context, s *cart.Shop) error {
		if _, err := s.Push(ctx, "1", cart.Item{SKU: "C", Price: 1}, 1); err != nil {
			return err
		}
		s.Clock().(*patterntest.Clock).Advance(time.Hour)
		_, err := s.Repair(ctx)
		return err
	},
	"more":   func(ctx context.Context, s *cart.Shop) error { return s.SetQuantity(ctx, "1", "A", 5) },
	"less":   func(ctx context.Context, s *cart.Shop) error { return s.SetQuantity(ctx, "1", "A", 1) },
	"remove": func(ctx context.Context, s *cart.Shop) error { return s.Remove(ctx, "1", "A") },
	"cancel": func(ctx context.Context, s *cart.Shop) error { return s.Cancel(ctx, "1") },
	"checkout": func(ctx context.Context, s *cart.Shop) error {
		_, err := s.Checkout(ctx, "1", "here",
			func(ctx context.Context, _ *cart.Cart) (any, error) { return "visa", ctx.Err() })
		return err
	},
	"broke": func(ctx context.Context, s *cart.Shop) error {
		_, err := s.Checkout(ctx, "1", nil,
			func(context.Context, *cart.Cart) (any, error) { return nil, cart.ErrEmpty })
		if errors.Is(err, cart.ErrEmpty) {
			return nil
		}
		return errors.Join(errors.New("it was paid"), err)
	},
}

// TestCrash lets the process die at every point of every operation, with each policy. After Repair,
// the cart has either been sold, with an order, or has ended, and all its pieces are in stock.
func TestCrash(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		for name, do := range operations {
			for _, paid := range []bool{false, true} {
				// The cart is not paid, because the stock has too little.
				if paid && name == "too many" {
					continue
				}
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if points := patterntest.Crash(t, scenario(reserve, paid, do)); points < 2 {
						t.Errorf("%d points", points)
					}
				})
			}
		}
	})
}

func scenario(reserve cart.Policy, paid bool, do func(ctx context.Context, s *cart.Shop) error) patterntest.Scenario {
	cfg := cart.Config{
		Env: patterns.Env{Clock: patterntest.NewClock()}, Reserve: reserve,
		Paid: func(context.Context, string) (any, bool, error) { return "visa", paid, nil },
	}
	return patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			s, ctx := openShop(t, db, reserve, cfg.Clock), t.Context()
			if err := errors.Join(s.Adjust(ctx, "C", 1), s.Add(ctx, "1", a, 2), s.Add(ctx, "1", b, 1)); err != nil {
				t.Fatal(err)
			}
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			cfg := cfg
			// Some operations advance the clock.
			cfg.Clock = patterntest.NewClock()
			s, err := cart.New(db, cfg)
			if err != nil {
				return err
			}
			return do(ctx, s)
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			if death.Survived && death.Err != nil {
				t.Error(death.Err)
			}
			clock := patterntest.NewClock()
			cfg := cfg
			cfg.Clock = clock
			s, err := cart.New(db, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if death.Survived {
				mustHold(t, s)
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
			if c, err := s.Cart(t.Context(), "1"); err != nil || c.State == cart.Active || c.State == cart.Paying {
				t.Errorf("%+v %v", c, err)
			} else if c.State != cart.Done {
				wantStock(t, s, "A", 19, 0, 0)
				wantStock(t, s, "B", 5, 0, 0)
				wantStock(t, s, "C", 1, 0, 0)
			}
		},
	}
}

// TestAsleep lets processes continue an operation after another process has changed, paid or ended
// the cart.
func TestAsleep(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		clock := patterntest.NewClock()
		s, ctx := openShop(t, patterntest.Open(t), reserve, clock), t.Context()
		old, err := s.Push(ctx, "1", a, 2)
		wantErr(t, err, nil)
		wantErr(t, s.SetQuantity(ctx, "1", "A", 5), nil)
		if reserve == cart.OnAdd {
			// An earlier quantity does not replace a later one.
			if n, err := s.Reserve(ctx, old, "A"); n != 0 || err != nil {
				t.Error(n, err)
			}
			wantStock(t, s, "A", 14, 5, 0)
		}
		_, err = s.Checkout(ctx, "1", nil, func(ctx context.Context, _ *cart.Cart) (any, error) {
			if n, err := s.Reserve(ctx, old, "A"); n != 0 || err != nil {
				t.Error(n, err)
			}
			// An old process cannot free the reservation of a paid cart.
			if n, err := s.Free(ctx, old, old.Lines[0]); n != 0 || err != nil {
				t.Error(n, err)
			}
			return nil, nil
		})
		wantErr(t, err, nil)
		wantStock(t, s, "A", 14, 0, 5)
		// The cart does not name this reservation any more.
		if n, err := s.Reserve(ctx, old, "A"); n != 1 || err != nil {
			t.Error(n, err)
		}
		wantStock(t, s, "A", 12, 2, 5)
		clock.Advance(time.Hour)
		if n, err := s.Repair(ctx); n != 1 || err != nil {
			t.Error(n, err)
		}
		wantStock(t, s, "A", 14, 0, 5)
		mustHold(t, s)
	})
}

// TestSlowPayment has a payment that takes longer than Config.Timeout, so that Repair runs before
// the payment ends. If Config.Paid knows the payment, the cart is sold; otherwise Checkout returns
// ErrUnsettled.
func TestSlowPayment(t *testing.T) {
	t.Parallel()
	eachDesign(t, func(t *testing.T, reserve cart.Policy) {
		for _, known := range []bool{false, true} {
			clock := patterntest.NewClock()
			db := patterntest.Open(t)
			openShop(t, db, reserve, clock)
			s, err := cart.New(db, cart.Config{
				Env: patterns.Env{Clock: clock}, Reserve: reserve,
				Paid: func(context.Context, string) (any, bool, error) { return "visa", known, nil },
			})
			wantErr(t, err, nil)
			ctx := t.Context()
			wantErr(t, s.Add(ctx, "1", b, 1), nil)
			order, err := s.Checkout(ctx, "1", nil, func(ctx context.Context, _ *cart.Cart) (any, error) {
				clock.Advance(cart.DefaultTimeout)
				_, err := s.Repair(ctx)
				return nil, err
			})
			if known && (err != nil || order.Total != 100 || order.Payment != "visa") {
				t.Error(order, err)
			}
			if !known {
				wantErr(t, err, cart.ErrUnsettled)
				wantState(t, s, "1", cart.Active)
			}
			mustHold(t, s)
		}
	})
}

func TestRun(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	s := openShop(t, patterntest.Open(t), cart.OnAdd, clock)
	wantErr(t, s.Add(t.Context(), cart.NewID(), b, 1), nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	for {
		clock.Advance(time.Minute)
		if stock, err := s.Stock(ctx, "B"); err != nil || stock.Quantity == 5 {
			wantErr(t, err, nil)
			break
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	wantErr(t, <-ended, context.Canceled)
}
