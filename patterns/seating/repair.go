package seating

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// Repair ends carts whose deadline has passed, finishes the operations of dead processes, and frees
// seats that no cart names. Several processes may call it at the same time. It returns the number
// of carts and holds that it has ended.
func (s *Seating) Repair(ctx context.Context) (int64, error) {
	n, err := s.repairCarts(ctx)
	m, err2 := s.repairSessions(ctx)
	return n + m, errors.Join(err, err2)
}

func (s *Seating) repairCarts(ctx context.Context) (int64, error) {
	return carts.Overdue(ctx, errs, s.carts, s.env.Now(), func(c *Cart) error {
		if err := s.drive(ctx, c); err != nil {
			return fmt.Errorf("cart %s: %w", c.ID, err)
		}
		return nil
	})
}

// drive ends or reopens a cart whose deadline has passed.
func (s *Seating) drive(ctx context.Context, c *Cart) error {
	to := Expired
	switch c.State {
	case Active:
	case Paying:
		paid := false
		if s.cfg.Paid != nil {
			var err error
			if paid, err = s.cfg.Paid(ctx, c.ID); err != nil {
				return err
			}
		}
		if !paid {
			return s.reopen(ctx, c, c.Holds)
		}
		to = Done
	case Done, Canceled, Expired, Returned:
		return s.finish(ctx, c)
	}
	next, err := s.step(ctx, asIs(c), to, bson.D{{"deadline", s.env.Now().Add(s.cfg.Timeout)}})
	// The process that owned the operation was faster.
	if next == nil || err != nil {
		return err
	}
	s.env.Logger.Info("a cart was ended for its process", "cart", c.ID, "was", c.State, "is", next.State)
	s.env.Metrics.Add("seating."+string(to), 1)
	return s.finish(ctx, next)
}

// repairSessions frees seats that no cart names. It reads the reservation before the cart. A cart
// names its holds before the seats are taken, so a cart that does not name a hold will never name
// it.
func (s *Seating) repairSessions(ctx context.Context) (n int64, err error) {
	old := s.env.Now().Add(-s.cfg.HoldTime)
	found, err := s.sessions.Find(ctx, bson.D{{"reservations.at", bson.D{{"$lte", old}}}},
		options.Find().SetProjection(bson.D{{"reservations", 1}}))
	if err != nil {
		return 0, errs.Wrap(err, "look for seats that are held by nobody")
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	for found.Next(ctx) {
		session := &Session{}
		if err := found.Decode(session); err != nil {
			return n, errs.Wrap(err, "read a session")
		}
		for _, r := range session.Reservations {
			if r.Sold || r.At.After(old) {
				continue
			}
			c, err := s.Cart(ctx, r.Cart)
			if err != nil && !errors.Is(err, ErrNotFound) {
				return n, err
			}
			if c != nil && c.owns(r.ID) {
				continue
			}
			if err := s.update(ctx, []Hold{{ID: r.ID, Session: session.ID, Seats: r.Seats}},
				release(r.Cart)); err != nil {
				return n, err
			}
			s.env.Logger.Warn("seats were held by nobody", "session", session.ID, "cart", r.Cart)
			n++
		}
	}
	return n, errs.Wrap(found.Err(), "look for seats that are held by nobody")
}

// owns reports whether the hold belongs to the cart and the cart is active, being paid or sold.
func (c *Cart) owns(hold bson.ObjectID) bool {
	if c.State != Active && c.State != Paying && c.State != Done {
		return false
	}
	for _, h := range c.Holds {
		if h.ID == hold {
			return true
		}
	}
	return false
}

// Run calls Repair in intervals of Config.Pace until ctx ends.
func (s *Seating) Run(ctx context.Context) error {
	return patterns.Repeat(ctx, s.env, s.cfg.Pace, "repair failed", func(ctx context.Context) error {
		_, err := s.Repair(ctx)
		return err
	})
}

// ended reports whether the cart has ended and all its updates are done.
func (c *Cart) ended() bool { return c.Deadline.IsZero() }
