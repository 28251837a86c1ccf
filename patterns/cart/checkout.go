package cart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// Order is the order of a sold cart. It keeps the prices that the cart had when it was sold.
type Order struct {
	ID       string    `bson:"_id"`
	Created  time.Time `bson:"created"`
	Lines    []Line    `bson:"lines"`
	Total    int64     `bson:"total"`
	Shipping any       `bson:"shipping,omitempty"`
	Payment  any       `bson:"payment,omitempty"`
}

// Order returns the order of a cart, or ErrNotFound.
func (s *Shop) Order(ctx context.Context, cart string) (*Order, error) {
	return carts.ByID[Order](ctx, errs, s.orders, cart)
}

// Pay collects the money for a cart. The ID of the cart identifies the payment. The order stores
// the payment that Pay returns. ctx ends after Config.Timeout.
type Pay func(ctx context.Context, c *Cart) (payment any, err error)

// Checkout reserves the products of the cart that are not reserved yet, calls pay, and writes an
// order for the cart. If the stock has too little, or if pay fails, the cart becomes active again.
// pay may be nil.
func (s *Shop) Checkout(ctx context.Context, cart string, shipping any, pay Pay) (*Order, error) {
	now := s.env.Now()
	c, err := s.step(ctx, carts.IsActive(cart, now), Paying, with("shipping", shipping, now.Add(s.cfg.Timeout)))
	if err != nil {
		return nil, err
	}
	if c == nil {
		return s.sold(ctx, cart)
	}
	if err := s.reserveAll(ctx, c); err != nil {
		return nil, errors.Join(err, s.reopen(ctx, c))
	}
	var payment any
	if pay != nil {
		paying, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		payment, err = pay(paying, c)
		cancel()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cart: pay cart %s: %w", cart, err), s.reopen(ctx, c))
		}
	}
	done, err := s.done(ctx, c, payment)
	if err != nil {
		return nil, err
	}
	// Another process has changed the cart. Repair may have found out that the cart was paid.
	if done == nil {
		order, err := s.sold(ctx, cart)
		if err != nil {
			return nil, errors.Join(ErrUnsettled, err)
		}
		return order, nil
	}
	if err := s.finish(ctx, done); err != nil {
		return nil, err
	}
	s.env.Metrics.Add("cart.sold", 1)
	return orderOf(done), nil
}

// done sets the state of a cart to Done and stores the payment.
func (s *Shop) done(ctx context.Context, c *Cart, payment any) (*Cart, error) {
	return s.step(ctx, asIs(c), Done, with("payment", payment, s.env.Now().Add(s.cfg.Timeout)))
}

// with returns fields to set: the deadline, and the named field if value is not nil.
func with(field string, value any, deadline time.Time) bson.D {
	set := bson.D{{"deadline", deadline}}
	if value != nil {
		set = append(set, bson.E{field, value})
	}
	return set
}

// sold returns the order of a cart in the state Done. It first finishes the checkout: it writes the
// order and sells the reserved pieces, if this is not done yet.
func (s *Shop) sold(ctx context.Context, cart string) (*Order, error) {
	c, err := s.Cart(ctx, cart)
	if err != nil {
		return nil, err
	}
	if c.State != Done {
		return nil, ErrInactive
	}
	if err := s.finish(ctx, c); err != nil {
		return nil, err
	}
	return s.Order(ctx, cart)
}

// reserveAll reserves all lines of a cart that is being paid. It does not change lines that are
// reserved already.
func (s *Shop) reserveAll(ctx context.Context, c *Cart) error {
	if len(c.Lines) == 0 {
		return ErrEmpty
	}
	quick := s.reserveNew
	if s.cfg.Reserve == OnAdd {
		quick = s.reserveSame
	}
	n, err := s.changeBy(ctx, c, c.Lines, quick, s.reserve)
	if err == nil && n < len(c.Lines) {
		err = ErrInsufficientStock
	}
	return err
}

// reopen makes a cart active again after a failed payment. If the policy is AtCheckout, it first
// frees the reservations of this payment: later, the next checkout may have made new reservations.
func (s *Shop) reopen(ctx context.Context, c *Cart) error {
	if s.cfg.Reserve == AtCheckout {
		if _, err := s.changeBy(ctx, c, c.Lines, s.freeSame, s.free); err != nil {
			return err
		}
	}
	_, err := s.step(ctx, asIs(c), Active, bson.D{{"deadline", s.env.Now().Add(s.cfg.HoldTime)}})
	return err
}

// asIs selects a cart in the revision that c has: it matches unless another process has changed the
// cart.
func asIs(c *Cart) bson.D {
	return bson.D{{"_id", c.ID}, {"state", c.State}, {"rev", c.Rev}}
}

// step sets the state of the cart that matches from. It returns nil if no cart matches.
func (s *Shop) step(ctx context.Context, from bson.D, to State, set bson.D) (*Cart, error) {
	set = append(set, bson.E{"state", to}, bson.E{"modified", s.env.Now()})
	return s.update(ctx, from, bson.D{
		{"$set", set}, {"$inc", bson.D{{"rev", int64(1)}}},
	})
}

func orderOf(c *Cart) *Order {
	return &Order{
		ID: c.ID, Created: c.Modified, Lines: c.Lines, Total: c.Total(),
		Shipping: c.Shipping, Payment: c.Payment,
	}
}

// finish updates the stock after the cart has ended.
func (s *Shop) finish(ctx context.Context, c *Cart) error {
	if c.Deadline.IsZero() {
		return nil
	}
	quick, model := s.freeSame, s.free
	if c.State == Done {
		quick, model = s.sellSame, s.sell
		if _, err := s.orders.InsertOne(ctx, orderOf(c)); err != nil && !mongo.IsDuplicateKeyError(err) {
			return errs.Wrap(err, "write the order of cart %s", c.ID)
		}
	}
	if _, err := s.changeBy(ctx, c, c.Lines, quick, model); err != nil {
		return err
	}
	_, err := s.carts.UpdateOne(ctx, asIs(c), bson.D{{"$unset", bson.D{{"deadline", ""}}}})
	return errs.Wrap(err, "end cart %s", c.ID)
}

// Cancel ends an active cart and frees its reservations. It may be called again.
func (s *Shop) Cancel(ctx context.Context, cart string) error {
	is := bson.D{{"_id", cart}, {"state", Active}}
	c, err := s.step(ctx, is, Canceled, bson.D{{"deadline", s.env.Now().Add(s.cfg.Timeout)}})
	if err != nil {
		return err
	}
	if c == nil {
		if c, err = s.Cart(ctx, cart); err != nil {
			return err
		}
		if c.State != Canceled {
			return fmt.Errorf("%w: it is %s", ErrInactive, c.State)
		}
	}
	return s.finish(ctx, c)
}
