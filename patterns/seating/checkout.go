package seating

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// Checkout sells the seats of an active cart. It calls pay to collect the money. The ID of the cart
// identifies the payment, and the context of pay ends after Config.Timeout. If pay fails, the cart
// becomes active again. pay may be nil.
func (s *Seating) Checkout(ctx context.Context, cart string,
	pay func(ctx context.Context, c *Cart) error,
) (*Receipt, error) {
	now := s.env.Now()
	c, err := s.step(ctx, carts.IsActive(cart, now), Paying, bson.D{{"deadline", now.Add(s.cfg.Timeout)}})
	if err != nil {
		return nil, err
	}
	if c == nil {
		return s.sold(ctx, cart)
	}
	if err := s.complete(ctx, c); err != nil {
		return nil, err
	}
	if pay != nil {
		paying, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		err := pay(paying, c)
		cancel()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("seating: pay cart %s: %w", cart, err), s.reopen(ctx, c, c.Holds))
		}
	}
	done, err := s.step(ctx, asIs(c), Done, bson.D{{"deadline", s.env.Now().Add(s.cfg.Timeout)}})
	if err != nil {
		return nil, err
	}
	// Another process has changed the cart. Repair may have found out that the cart was paid.
	if done == nil {
		receipt, err := s.sold(ctx, cart)
		if err != nil {
			return nil, errors.Join(ErrUnsettled, err)
		}
		return receipt, nil
	}
	if err := s.finish(ctx, done); err != nil {
		return nil, err
	}
	s.env.Metrics.Add("seating.sold", 1)
	return s.Receipt(ctx, cart)
}

// sold returns the receipt of a cart in the state Done. It first finishes the checkout if needed.
func (s *Seating) sold(ctx context.Context, cart string) (*Receipt, error) {
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
	return s.Receipt(ctx, cart)
}

// complete checks before the payment that the seats of all holds are taken for the cart. If not, it
// reopens the cart without the lost holds, and returns ErrLost.
func (s *Seating) complete(ctx context.Context, c *Cart) error {
	if len(c.Holds) == 0 {
		return errors.Join(ErrEmpty, s.reopen(ctx, c, c.Holds))
	}
	var ids []string
	for _, h := range c.Holds {
		ids = append(ids, h.Session)
	}
	mine := options.Find().SetProjection(bson.D{{"reservations._id", 1}})
	found, err := s.sessions.Find(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}}, mine)
	if err != nil {
		return errs.Wrap(err, "look for the seats of cart %s", c.ID)
	}
	var sessions []Session
	if err := found.All(ctx, &sessions); err != nil {
		return errs.Wrap(err, "look for the seats of cart %s", c.ID)
	}
	there := map[bson.ObjectID]bool{}
	for _, session := range sessions {
		for _, r := range session.Reservations {
			there[r.ID] = true
		}
	}
	held := []Hold{}
	for _, h := range c.Holds {
		if there[h.ID] {
			held = append(held, h)
		}
	}
	if len(held) < len(c.Holds) {
		return errors.Join(ErrLost, s.reopen(ctx, c, held))
	}
	return nil
}

// reopen makes a cart active again, with the given holds.
func (s *Seating) reopen(ctx context.Context, c *Cart, holds []Hold) error {
	var total int64
	for _, h := range holds {
		total += h.Total
	}
	_, err := s.step(ctx, asIs(c), Active, bson.D{
		{"holds", holds}, {"total", total}, {"deadline", s.env.Now().Add(s.cfg.HoldTime)},
	})
	return err
}

// asIs selects a cart in the state and with the deadline that c has: it matches unless another
// process has changed the cart.
func asIs(c *Cart) bson.D {
	return bson.D{{"_id", c.ID}, {"state", c.State}, {"deadline", c.Deadline}}
}

// step sets the state of the cart that matches from. It returns nil if no cart matches.
func (s *Seating) step(ctx context.Context, from bson.D, to State, set bson.D) (*Cart, error) {
	change := bson.D{{"$set", append(set, bson.E{"state", to}, bson.E{"modified", s.env.Now()})}}
	c, err := carts.Change[Cart](ctx, s.carts, from, change)
	return c, errs.Wrap(err, "make a cart %s", to)
}

// finish updates the sessions and the receipt after the cart has ended.
func (s *Seating) finish(ctx context.Context, c *Cart) error {
	if c.Deadline.IsZero() {
		return nil
	}
	model := release(c.ID)
	if c.State == Done {
		model = sell
		receipt := Receipt{ID: c.ID, Created: c.Modified, Holds: c.Holds, Total: c.Total}
		if _, err := s.receipts.InsertOne(ctx, receipt); err != nil && !mongo.IsDuplicateKeyError(err) {
			return errs.Wrap(err, "write the receipt of cart %s", c.ID)
		}
	}
	if err := s.update(ctx, c.Holds, model); err != nil {
		return err
	}
	if c.State == Returned {
		returned := bson.D{{"$set", bson.D{{"returned", c.Modified}}}}
		if _, err := s.receipts.UpdateByID(ctx, c.ID, returned); err != nil {
			return errs.Wrap(err, "write the receipt of cart %s", c.ID)
		}
	}
	_, err := s.carts.UpdateOne(ctx, asIs(c), bson.D{{"$unset", bson.D{{"deadline", ""}}}})
	return errs.Wrap(err, "end cart %s", c.ID)
}

// Cancel ends an active cart and frees its seats. It can be repeated.
func (s *Seating) Cancel(ctx context.Context, cart string) error {
	return s.end(ctx, cart, Active, Canceled)
}

// Return takes back the seats of a sold cart. It can be repeated.
func (s *Seating) Return(ctx context.Context, cart string) error {
	// Return first finishes an unfinished sale. Otherwise the receipt could be written after the
	// return.
	if _, err := s.sold(ctx, cart); err != nil && !errors.Is(err, ErrInactive) {
		return err
	}
	return s.end(ctx, cart, Done, Returned)
}

func (s *Seating) end(ctx context.Context, cart string, from, to State) error {
	is := bson.D{{"_id", cart}, {"state", from}}
	c, err := s.step(ctx, is, to, bson.D{{"deadline", s.env.Now().Add(s.cfg.Timeout)}})
	if err != nil {
		return err
	}
	if c == nil {
		if c, err = s.Cart(ctx, cart); err != nil {
			return err
		}
		if c.State != to {
			return fmt.Errorf("%w: it is %s", ErrInactive, c.State)
		}
	}
	return s.finish(ctx, c)
}
