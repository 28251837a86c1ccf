package cart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// State is the state of a cart.
type State string

// The states of a cart.
const (
	Active   State = "active"
	Paying   State = "paying"
	Done     State = "done"
	Canceled State = "canceled"
	Expired  State = "expired"
)

// Item describes the product of a line. Later changes of the catalogue do not change the item.
type Item struct {
	SKU  string `bson:"sku"`
	Name string `bson:"name"`
	// Price is the price of one piece, in the smallest unit of the currency.
	Price int64 `bson:"price"`
}

// Line is a line of a cart: a product and its quantity.
type Line struct {
	Item     `bson:",inline"`
	Quantity int64 `bson:"quantity"`
	// Hold is the _id of the line's reservation.
	Hold bson.ObjectID `bson:"hold"`
}

// Cart is a shopping cart. It stays stored after it was sold.
type Cart struct {
	ID       string    `bson:"_id"`
	State    State     `bson:"state"`
	Rev      int64     `bson:"rev"`
	Lines    []Line    `bson:"lines"`
	Created  time.Time `bson:"created"`
	Modified time.Time `bson:"modified"`
	// Deadline is the time when the cart expires, or when other processes may finish an operation
	// on it. Deadline is zero once the cart has ended.
	Deadline time.Time `bson:"deadline,omitempty"`
	// Checkout copies Shipping and Payment to the order.
	Shipping any `bson:"shipping,omitempty"`
	Payment  any `bson:"payment,omitempty"`
}

// Total adds up the prices of all lines.
func (c *Cart) Total() (total int64) {
	for _, l := range c.Lines {
		total += l.Price * l.Quantity
	}
	return total
}

// line returns the line of a product, or nil.
func (c *Cart) line(sku string) *Line {
	if c == nil {
		return nil
	}
	for i := range c.Lines {
		if c.Lines[i].SKU == sku {
			return &c.Lines[i]
		}
	}
	return nil
}

// Cart returns a cart, or ErrNotFound.
func (s *Shop) Cart(ctx context.Context, id string) (*Cart, error) {
	return carts.ByID[Cart](ctx, errs, s.carts, id)
}

// Add puts a product into a cart, and creates the cart if it does not exist. If the cart has the
// product already, its quantity grows and its price stays. With OnAdd, Add returns
// ErrInsufficientStock if the stock has too little; the cart then stays as it was. The hold time of
// the cart begins anew.
func (s *Shop) Add(ctx context.Context, cart string, item Item, quantity int64) error {
	if quantity <= 0 || quantity > MaxQuantity || item.Price < 0 || item.Price > MaxPrice || item.SKU == "" {
		return fmt.Errorf("%w: %d of %+v", ErrQuantity, quantity, item)
	}
	for range maxTurns {
		c, err := s.push(ctx, cart, item, quantity)
		if err != nil {
			return err
		}
		if c != nil {
			return s.follow(ctx, c, item.SKU, 0)
		}
		inc := bson.D{{"$inc", bson.D{{"lines.$.quantity", quantity}}}}
		room := bson.D{{"sku", item.SKU}, {"quantity", bson.D{{"$lte", MaxQuantity - quantity}}}}
		if c, err = s.alter(ctx, cart, room, inc); err != nil {
			return err
		}
		if c != nil {
			return s.follow(ctx, c, item.SKU, c.line(item.SKU).Quantity-quantity)
		}
		if err := s.whyNot(ctx, cart, item.SKU, quantity); err != nil {
			return err
		}
	}
	return ErrInactive
}

// maxTurns limits how often an operation starts again because other processes have changed the
// cart.
const maxTurns = 50

// push adds a line for a product that the cart does not have yet. It returns nil if the cart has
// the product, is full, or is not active.
func (s *Shop) push(ctx context.Context, cart string, item Item, quantity int64) (*Cart, error) {
	now := s.env.Now()
	without := append(carts.IsActive(cart, now),
		bson.E{"lines.sku", bson.D{{"$ne", item.SKU}}},
		bson.E{fmt.Sprintf("lines.%d", MaxLines-1), bson.D{{"$exists", false}}})
	add := s.touch(now, bson.D{
		{"$push", bson.D{{"lines", Line{Item: item, Quantity: quantity, Hold: bson.NewObjectID()}}}},
		{"$setOnInsert", bson.D{{"created", now}}},
	})
	c := &Cart{}
	opts := options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)
	err := s.carts.FindOneAndUpdate(ctx, without, add, opts).Decode(c)
	if mongo.IsDuplicateKeyError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, errs.Wrap(err, "add %s to cart %s", item.SKU, cart)
	}
	return c, nil
}

// touch adds the new deadline and the next revision to a change of an active cart.
func (s *Shop) touch(now time.Time, change bson.D) bson.D {
	times := bson.D{{"modified", now}, {"deadline", now.Add(s.cfg.HoldTime)}}
	return merge(merge(change, "$set", times), "$inc", bson.D{{"rev", int64(1)}})
}

// merge adds fields to one operator of a change.
func merge(change bson.D, operator string, fields bson.D) bson.D {
	for i, op := range change {
		if old, ok := op.Value.(bson.D); ok && op.Key == operator {
			change[i].Value = append(append(bson.D(nil), old...), fields...)
			return change
		}
	}
	return append(change, bson.E{operator, fields})
}

// alter changes one line of an active cart. It returns nil if the cart has no such line.
func (s *Shop) alter(ctx context.Context, cart string, line, change bson.D) (*Cart, error) {
	now := s.env.Now()
	with := append(carts.IsActive(cart, now), bson.E{"lines", bson.D{{"$elemMatch", line}}})
	return s.update(ctx, with, s.touch(now, change))
}

// update changes the cart that matches from. It returns nil if no cart matches.
func (s *Shop) update(ctx context.Context, from, change bson.D) (*Cart, error) {
	c, err := carts.Change[Cart](ctx, s.carts, from, change)
	return c, errs.Wrap(err, "change a cart")
}

// whyNot returns the reason why a cart was not changed. It returns nil if another attempt may
// succeed.
func (s *Shop) whyNot(ctx context.Context, cart, sku string, quantity int64) error {
	c, err := s.Cart(ctx, cart)
	switch l := c.line(sku); {
	case errors.Is(err, ErrNotFound):
		return nil
	case err != nil:
		return err
	case c.State != Active || !s.env.Now().Before(c.Deadline):
		return ErrInactive
	case l != nil && l.Quantity > MaxQuantity-quantity:
		return ErrQuantity
	case l == nil && len(c.Lines) >= MaxLines:
		return ErrFull
	}
	return nil
}

// follow updates the stock after the change of a line, if the policy is OnAdd. was is the quantity
// of the line before the change. If the stock has too little, follow undoes the change of the cart:
// it restores the quantity, or removes a new line.
func (s *Shop) follow(ctx context.Context, c *Cart, sku string, was int64) error {
	if s.cfg.Reserve != OnAdd {
		return nil
	}
	l := *c.line(sku)
	quick := s.reserveNew
	if was > 0 {
		quick = s.reserve
	}
	n, err := s.changeBy(ctx, c, []Line{l}, quick, s.reserve)
	if n > 0 || err != nil {
		s.env.Metrics.Add("cart.reserved", int64(n))
		return err
	}
	back := bson.D{{"$pull", bson.D{{"lines", bson.D{{"hold", l.Hold}}}}}}
	if was > 0 {
		back = bson.D{{"$set", bson.D{{"lines.$.quantity", was}}}}
	}
	// If another process has changed the line meanwhile, that process reserves it.
	unchanged := bson.D{{"hold", l.Hold}, {"quantity", l.Quantity}}
	if _, err := s.alter(ctx, c.ID, unchanged, back); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s", ErrInsufficientStock, sku)
}

// SetQuantity sets the quantity of a product in a cart. A quantity of zero removes the product.
func (s *Shop) SetQuantity(ctx context.Context, cart, sku string, quantity int64) error {
	if quantity < 0 || quantity > MaxQuantity {
		return fmt.Errorf("%w: %d", ErrQuantity, quantity)
	}
	if quantity == 0 {
		return s.Remove(ctx, cart, sku)
	}
	for range maxTurns {
		l, err := s.lineOf(ctx, cart, sku)
		if err != nil {
			return err
		}
		set := bson.D{{"$set", bson.D{{"lines.$.quantity", quantity}}}}
		same := bson.D{{"hold", l.Hold}, {"quantity", l.Quantity}}
		c, err := s.alter(ctx, cart, same, set)
		if err != nil {
			return err
		}
		if c != nil {
			return s.follow(ctx, c, sku, l.Quantity)
		}
	}
	return ErrInactive
}

// lineOf reads a line of an active cart. It returns ErrInactive if the cart is not active, and
// ErrNotFound if the cart or the line does not exist.
func (s *Shop) lineOf(ctx context.Context, cart, sku string) (*Line, error) {
	c, err := s.Cart(ctx, cart)
	if err != nil {
		return nil, err
	}
	if c.State != Active || !s.env.Now().Before(c.Deadline) {
		return nil, ErrInactive
	}
	l := c.line(sku)
	if l == nil {
		return nil, fmt.Errorf("%w: %s in cart %s", ErrNotFound, sku, cart)
	}
	return l, nil
}

// Remove takes a product out of a cart.
func (s *Shop) Remove(ctx context.Context, cart, sku string) error {
	l, err := s.lineOf(ctx, cart, sku)
	if err != nil {
		return err
	}
	gone := bson.D{{"$pull", bson.D{{"lines", bson.D{{"hold", l.Hold}}}}}}
	c, err := s.alter(ctx, cart, bson.D{{"hold", l.Hold}}, gone)
	if err != nil {
		return err
	}
	// Another process has removed the line, or has ended the cart.
	if c == nil {
		if _, err := s.lineOf(ctx, cart, sku); !errors.Is(err, ErrNotFound) {
			return errors.Join(ErrInactive, err)
		}
		return nil
	}
	_, err = s.changeBy(ctx, c, []Line{*l}, s.freeSame, s.free)
	return err
}
