package seating

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Returned State = "returned"
)

// Hold is a group of seats of one session in a cart.
type Hold struct {
	ID      bson.ObjectID `bson:"_id"`
	Session string        `bson:"session"`
	Seats   []Seat        `bson:"seats"`
	Total   int64         `bson:"total"`
}

// Cart is a cart with seats of any sessions. It stays stored after it was sold.
type Cart struct {
	ID       string    `bson:"_id"`
	State    State     `bson:"state"`
	Holds    []Hold    `bson:"holds"`
	Total    int64     `bson:"total"`
	Created  time.Time `bson:"created"`
	Modified time.Time `bson:"modified"`
	// Deadline is the time when the cart expires, or when other processes may finish an operation
	// on it. Deadline is zero once the cart has ended.
	Deadline time.Time `bson:"deadline,omitempty"`
}

// Receipt lists the seats that a cart has bought.
type Receipt struct {
	ID      string    `bson:"_id"`
	Created time.Time `bson:"created"`
	Holds   []Hold    `bson:"holds"`
	Total   int64     `bson:"total"`
	// Returned is the time when the seats were returned. It is zero if they were not.
	Returned time.Time `bson:"returned,omitempty"`
}

// Cart returns a cart, or ErrNotFound.
func (s *Seating) Cart(ctx context.Context, id string) (*Cart, error) {
	return carts.ByID[Cart](ctx, errs, s.carts, id)
}

// Receipt returns the receipt of a cart, or ErrNotFound.
func (s *Seating) Receipt(ctx context.Context, cart string) (*Receipt, error) {
	return carts.ByID[Receipt](ctx, errs, s.receipts, cart)
}

// Hold holds seats of a session for a cart, all of them or none. It creates the cart if it does not
// exist. The hold time of the cart begins anew.
func (s *Seating) Hold(ctx context.Context, cart, session string, seats ...Seat) (*Hold, error) {
	show := &Session{}
	prices := options.FindOne().SetProjection(bson.D{{"plan", 1}, {"prices", 1}})
	err := s.sessions.FindOne(ctx, bson.D{{"_id", session}}, prices).Decode(show)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, fmt.Errorf("%w: session %s", ErrNotFound, session)
	}
	if err != nil {
		return nil, errs.Wrap(err, "read session %s", session)
	}
	return s.hold(ctx, cart, show, seats)
}

func (s *Seating) hold(ctx context.Context, cart string, show *Session, seats []Seat) (*Hold, error) {
	total, err := show.price(seats)
	if err != nil {
		return nil, err
	}
	h := Hold{ID: bson.NewObjectID(), Session: show.ID, Seats: slices.Clone(seats), Total: total}
	if err := s.name(ctx, cart, h); err != nil {
		return nil, err
	}
	taken, err := s.take(ctx, cart, h)
	// After an error the server may nevertheless have taken the seats: Release frees them.
	if err != nil {
		return nil, errors.Join(err, s.Release(ctx, cart, &h))
	}
	if !taken {
		if _, err := s.forget(ctx, cart, h); err != nil {
			return nil, err
		}
		return nil, ErrTaken
	}
	s.env.Metrics.Add("seating.held", int64(len(seats)))
	return &h, nil
}

// name adds a hold to an active cart, before its seats are taken.
func (s *Seating) name(ctx context.Context, cart string, h Hold) error {
	now := s.env.Now()
	active := append(carts.IsActive(cart, now), bson.E{fmt.Sprintf("holds.%d", MaxHolds-1), bson.D{{"$exists", false}}})
	add := bson.D{
		{"$push", bson.D{{"holds", h}}},
		{"$inc", bson.D{{"total", h.Total}}},
		{"$set", bson.D{{"modified", now}, {"deadline", now.Add(s.cfg.HoldTime)}}},
		{"$setOnInsert", bson.D{{"created", now}}},
	}
	_, err := s.carts.UpdateOne(ctx, active, add, options.UpdateOne().SetUpsert(true))
	if !mongo.IsDuplicateKeyError(err) {
		return errs.Wrap(err, "add to cart %s", cart)
	}
	c, err := s.Cart(ctx, cart)
	if err != nil {
		return err
	}
	if c.State == Active && len(c.Holds) >= MaxHolds {
		return ErrFull
	}
	return ErrInactive
}

// take marks the seats of a hold as taken if all of them are free. It reports whether it did.
func (s *Seating) take(ctx context.Context, cart string, h Hold) (bool, error) {
	are := bson.D{{"_id", h.Session}, {"reservations._id", bson.D{{"$ne", h.ID}}}}
	r := Reservation{ID: h.ID, Cart: cart, Seats: h.Seats, Total: h.Total, At: s.env.Now()}
	res, err := s.sessions.UpdateOne(ctx, append(are, places(h.Seats, free)...), bson.D{
		{"$set", places(h.Seats, taken)},
		{"$inc", bson.D{{"seatsAvailable", -int64(len(h.Seats))}}},
		{"$push", bson.D{{"reservations", r}}},
	})
	if err != nil {
		return false, errs.Wrap(err, "hold seats of %s", h.Session)
	}
	return res.ModifiedCount > 0, nil
}

// places returns fields with the paths of the seats. Each field has the given value.
func places(seats []Seat, value int32) (d bson.D) {
	for _, seat := range seats {
		d = append(d, bson.E{fmt.Sprintf("seats.%d.%d", seat[0], seat[1]), value})
	}
	return d
}

// forget removes a hold from an active cart. It reports whether it did.
func (s *Seating) forget(ctx context.Context, cart string, h Hold) (bool, error) {
	now := s.env.Now()
	res, err := s.carts.UpdateOne(ctx, append(carts.IsActive(cart, now), bson.E{"holds._id", h.ID}), bson.D{
		{"$pull", bson.D{{"holds", bson.D{{"_id", h.ID}}}}},
		{"$inc", bson.D{{"total", -h.Total}}},
		{"$set", bson.D{{"modified", now}, {"deadline", now.Add(s.cfg.HoldTime)}}},
	})
	if err != nil {
		return false, errs.Wrap(err, "take from cart %s", cart)
	}
	return res.ModifiedCount > 0, nil
}

// Release removes a hold from its cart and frees its seats. It can be repeated.
func (s *Seating) Release(ctx context.Context, cart string, h *Hold) error {
	forgotten, err := s.forget(ctx, cart, *h)
	if err != nil {
		return err
	}
	if !forgotten {
		c, err := s.Cart(ctx, cart)
		if err != nil {
			return err
		}
		if c.State == Paying || c.State == Done ||
			slices.ContainsFunc(c.Holds, func(other Hold) bool { return other.ID == h.ID }) {
			return ErrInactive
		}
	}
	return s.update(ctx, []Hold{*h}, release(cart))
}

// update changes the sessions of the holds in one command.
func (s *Seating) update(ctx context.Context, holds []Hold, model func(Hold) mongo.WriteModel) error {
	if len(holds) == 0 {
		return nil
	}
	models := make([]mongo.WriteModel, len(holds))
	for i, h := range holds {
		models[i] = model(h)
	}
	_, err := s.sessions.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
	return errs.Wrap(err, "change the sessions of %d holds", len(holds))
}

// release returns the update that frees the seats of a hold of the cart. A second update has no
// effect.
func release(cart string) func(Hold) mongo.WriteModel {
	return func(h Hold) mongo.WriteModel {
		exactly := bson.D{{"_id", h.ID}, {"cart", cart}, {"seats", h.Seats}}
		held := bson.D{{"_id", h.Session}, {"reservations", bson.D{{"$elemMatch", exactly}}}}
		return mongo.NewUpdateOneModel().SetFilter(held).SetUpdate(bson.D{
			{"$set", places(h.Seats, free)},
			{"$inc", bson.D{{"seatsAvailable", int64(len(h.Seats))}}},
			{"$pull", bson.D{{"reservations", bson.D{{"_id", h.ID}}}}},
		})
	}
}

// sell marks the seats of a hold as sold.
func sell(h Hold) mongo.WriteModel {
	held := bson.D{{"_id", h.Session}, {"reservations._id", h.ID}}
	return mongo.NewUpdateOneModel().SetFilter(held).SetUpdate(bson.D{
		{"$set", bson.D{{"reservations.$.sold", true}}},
		{"$unset", bson.D{{"reservations.$.at", ""}}},
	})
}
