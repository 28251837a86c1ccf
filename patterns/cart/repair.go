package cart

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// Repair ends carts whose deadline has passed, finishes the operations of dead processes, and frees
// reservations that no cart names. Several processes may call it at the same time. It returns the
// number of carts and reservations that it has ended.
func (s *Shop) Repair(ctx context.Context) (int64, error) {
	n, err := s.repairCarts(ctx)
	m, err2 := s.repairStock(ctx)
	return n + m, errors.Join(err, err2)
}

func (s *Shop) repairCarts(ctx context.Context) (int64, error) {
	return carts.Overdue(ctx, errs, s.carts, s.env.Now(), func(c *Cart) error {
		if err := s.drive(ctx, c); err != nil {
			return fmt.Errorf("cart %s: %w", c.ID, err)
		}
		return nil
	})
}

// drive ends or reopens a cart whose deadline has passed.
func (s *Shop) drive(ctx context.Context, c *Cart) error {
	var next *Cart
	var err error
	switch c.State {
	case Active:
		next, err = s.step(ctx, asIs(c), Expired, bson.D{{"deadline", s.env.Now().Add(s.cfg.Timeout)}})
	case Paying:
		var payment any
		paid := false
		if s.cfg.Paid != nil {
			if payment, paid, err = s.cfg.Paid(ctx, c.ID); err != nil {
				return err
			}
		}
		if !paid {
			return s.reopen(ctx, c)
		}
		// The pieces were reserved before the payment, so that reserveAll changes nothing here. If
		// Paid is wrong, reserveAll prevents the sale of pieces that are not reserved.
		if err := s.reserveAll(ctx, c); err != nil {
			return fmt.Errorf("it is paid: %w", err)
		}
		next, err = s.done(ctx, c, payment)
	case Done, Canceled, Expired:
		next = c
	}
	// The process that owned the operation was faster.
	if next == nil || err != nil {
		return err
	}
	s.env.Logger.Info("a cart was ended for its process", "cart", c.ID, "was", c.State, "is", next.State)
	s.env.Metrics.Add("cart.repaired", 1)
	return s.finish(ctx, next)
}

// repairStock frees reservations that no cart names. It reads the reservation before the cart. A
// cart names its reservations before they are made, so a cart that does not name a reservation will
// never name it.
func (s *Shop) repairStock(ctx context.Context) (n int64, err error) {
	old := s.env.Now().Add(-s.cfg.HoldTime)
	// New reservations are appended, so that the first reservation is the oldest. An index of the
	// first one has one entry for each product.
	found, err := s.inventories.Find(ctx, bson.D{{"reservations.0.at", bson.D{{"$lte", old}}}})
	if err != nil {
		return 0, errs.Wrap(err, "look for stock that is reserved for nobody")
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	for found.Next(ctx) {
		stock := &Stock{}
		if err := found.Decode(stock); err != nil {
			return n, errs.Wrap(err, "read the stock of a product")
		}
		for _, r := range stock.Reservations {
			if r.At.After(old) {
				continue
			}
			c, err := s.Cart(ctx, r.Cart)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return n, err
			}
			if c != nil && c.names(r.ID) {
				continue
			}
			seen := &Cart{ID: r.Cart, Rev: r.Rev}
			if _, err := s.change(ctx, seen, []Line{{Item: Item{SKU: stock.SKU}, Hold: r.ID}}, s.free); err != nil {
				return n, err
			}
			s.env.Logger.Warn("stock was reserved for nobody", "product", stock.SKU, "cart",
				r.Cart, "quantity", r.Quantity)
			n++
		}
	}
	return n, errs.Wrap(found.Err(), "look for stock that is reserved for nobody")
}

// names reports whether a reservation belongs to the cart. A cart that has ended owns no
// reservations.
func (c *Cart) names(hold bson.ObjectID) bool {
	if c.Deadline.IsZero() {
		return false
	}
	for _, l := range c.Lines {
		if l.Hold == hold {
			return true
		}
	}
	return false
}

// Run calls Repair in intervals of Config.Pace until ctx ends.
func (s *Shop) Run(ctx context.Context) error {
	return patterns.Repeat(ctx, s.env, s.cfg.Pace, "repair failed", func(ctx context.Context) error {
		_, err := s.Repair(ctx)
		return err
	})
}
