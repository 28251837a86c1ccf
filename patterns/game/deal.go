package game

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// The states of a deal. A deal that was given up is removed.
const (
	stateOpen = "open"
	stateDone = "done"
)

// A side of a deal is a player or a place. The kind is the name of the collection without the
// prefix.
const (
	kindPlayer = "players"
	kindPlace  = "places"
)

// deal is a stored exchange between two sides.
type deal struct {
	ID       bson.ObjectID `bson:"_id"`
	State    string        `bson:"state"`
	Deadline time.Time     `bson:"deadline"`
	Sides    []side        `bson:"sides"`
}

// side is one of the two sides of a deal.
type side struct {
	Coll  string   `bson:"coll"`
	ID    string   `bson:"id"`
	Items []string `bson:"items"`
	Gold  int64    `bson:"gold"`
	// Gives holds the items named by Items, once the deal is done.
	Gives []Item `bson:"gives,omitempty"`

	where bson.D // further conditions that the side must meet
	not   error  // the error if the side does not meet the conditions of where
}

// exchange moves items and gold between two sides, completely or not at all.
func (g *Game) exchange(ctx context.Context, a, b side) error {
	d, err := g.open(ctx, a, b)
	if err != nil {
		return err
	}
	for i := range d.Sides {
		if err := g.take(ctx, d, i); err != nil {
			return errors.Join(err, g.giveUp(context.WithoutCancel(ctx), d))
		}
	}
	if err := g.commit(ctx, d); err != nil {
		return err
	}
	g.env.Metrics.Add("game.deals", 1)
	return g.finish(ctx, d)
}

// open stores a new deal.
func (g *Game) open(ctx context.Context, sides ...side) (*deal, error) {
	for _, s := range sides {
		if s.Gold < 0 || len(s.Items) > MaxDealItems {
			return nil, fmt.Errorf("%w deal: %d gold, %d items", ErrInvalid, s.Gold, len(s.Items))
		}
	}
	d := &deal{ID: bson.NewObjectID(), State: stateOpen, Deadline: g.env.Now().Add(g.cfg.Timeout), Sides: sides}
	_, err := g.deals.InsertOne(ctx, d)
	return d, wrap(err, "write a deal")
}

// take moves the items and the gold that a side gives into its escrow, with one update. The update
// matches only if the side has them and has room for the items that it receives.
func (g *Game) take(ctx context.Context, d *deal, i int) error {
	s := &d.Sides[i]
	room := max(len(s.Items), len(d.Sides[1-i].Items))
	occupied := op("$add", is("$size", "$items"), op("$sum", "$escrow.room"), room-len(s.Items))
	filter := append(byID(s.ID),
		bson.E{"gold", is("$gte", s.Gold)},
		bson.E{"escrow.deal", is("$ne", d.ID)},
		bson.E{"$expr", op("$lte", occupied, g.cfg.MaxItems)},
	)
	if len(s.Items) > 0 {
		filter = append(filter, bson.E{"items.id", is("$all", s.Items)})
	}
	if s.where != nil {
		filter = bson.D{{"$and", bson.A{filter, s.where}}}
	}
	given := op("$in", "$$this.id", is("$literal", orEmpty(s.Items)))
	entry := bson.D{
		{"deal", d.ID},
		{"items", filtered("$items", given)},
		{"gold", is("$literal", s.Gold)},
		{"room", is("$literal", room)},
	}
	change := mongo.Pipeline{is("$set", bson.D{
		{"escrow", op("$concatArrays", op("$ifNull", "$escrow", bson.A{}), bson.A{entry})},
		{"items", filtered("$items", is("$not", bson.A{given}))},
		{"gold", op("$subtract", "$gold", s.Gold)},
	})}
	h := &holder{}
	opts := options.FindOneAndUpdate().SetReturnDocument(options.After).SetProjection(bson.D{{"escrow", 1}})
	err := g.coll(s.Coll).FindOneAndUpdate(ctx, filter, change, opts).Decode(h)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return g.reason(ctx, s, room)
	}
	for _, e := range h.Escrow {
		if e.Deal == d.ID {
			s.Gives = e.Items
		}
	}
	return wrap(err, "put into escrow what "+s.ID+" gives")
}

// reason returns the error that explains why a side cannot do its part.
func (g *Game) reason(ctx context.Context, s *side, room int) error {
	h := &holder{}
	if err := g.coll(s.Coll).FindOne(ctx, byID(s.ID)).Decode(h); err != nil {
		return wrap(err, "read "+s.ID)
	}
	has := map[string]bool{}
	for _, item := range h.Items {
		has[item.ID] = true
	}
	for _, id := range s.Items {
		if !has[id] {
			return ErrGone
		}
	}
	occupied := len(h.Items) + room - len(s.Items)
	for _, e := range h.Escrow {
		occupied += e.Room
	}
	switch {
	case h.Gold < s.Gold:
		return ErrPoor
	case occupied > g.cfg.MaxItems:
		return ErrFull
	case s.where != nil:
		err := g.coll(s.Coll).FindOne(ctx, append(byID(s.ID), s.where...)).Err()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return s.not
		}
		if err != nil {
			return wrap(err, "read "+s.ID)
		}
	}
	return ErrGone // the items were gone during the update, and are back now
}

// commit makes the deal happen. After commit it can no longer be given up.
func (g *Game) commit(ctx context.Context, d *deal) error {
	for i := range d.Sides {
		for j := range d.Sides[i].Gives {
			d.Sides[i].Gives[j].Price = 0 // the items have a new owner and are not for sale any more
		}
	}
	open := append(byID(d.ID), bson.E{"state", stateOpen})
	res, err := g.deals.UpdateOne(ctx, open, is("$set", bson.D{{"state", stateDone}, {"sides", d.Sides}}))
	if err != nil {
		return wrap(err, "decide a deal")
	}
	if res.MatchedCount == 0 {
		return errors.Join(ErrExpired, g.restore(ctx, d))
	}
	return nil
}

// finish gives each side its items and gold, and removes the deal.
func (g *Game) finish(ctx context.Context, d *deal) error {
	for i, s := range d.Sides {
		other := d.Sides[1-i]
		got := op("$concatArrays", "$items", is("$literal", orEmpty(other.Gives)))
		if err := g.settle(ctx, &s, d.ID, got, op("$add", "$gold", other.Gold)); err != nil {
			return err
		}
	}
	_, err := g.deals.DeleteOne(ctx, byID(d.ID))
	return wrap(err, "finish a deal")
}

// giveUp removes a deal that has not happened, and returns what is in escrow. It does nothing to a
// deal that has happened.
func (g *Game) giveUp(ctx context.Context, d *deal) error {
	open := append(byID(d.ID), bson.E{"state", stateOpen})
	if _, err := g.deals.DeleteOne(ctx, open); err != nil {
		return wrap(err, "give up a deal")
	}
	err := g.deals.FindOne(ctx, byID(d.ID)).Err()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return g.restore(ctx, d)
	}
	return wrap(err, "give up a deal")
}

// restore returns to each side what it put into escrow.
func (g *Game) restore(ctx context.Context, d *deal) error {
	for _, s := range d.Sides {
		if err := g.giveBack(ctx, &s, d.ID); err != nil {
			return err
		}
	}
	return nil
}

func (g *Game) giveBack(ctx context.Context, s *side, d bson.ObjectID) error {
	mine := filtered("$escrow", op("$eq", "$$this.deal", d))
	items := is("$reduce", bson.D{
		{"input", mine}, {"initialValue", "$items"}, {"in", op("$concatArrays", "$$value", "$$this.items")},
	})
	gold := op("$add", "$gold", is("$sum", is("$map", bson.D{{"input", mine}, {"as", "this"}, {"in", "$$this.gold"}})))
	return g.settle(ctx, s, d, items, gold)
}

// settle removes a side's escrow for the deal d and sets its items and gold. It does nothing if the
// escrow is already removed.
func (g *Game) settle(ctx context.Context, s *side, d bson.ObjectID, items, gold bson.D) error {
	there := append(byID(s.ID), bson.E{"escrow.deal", d})
	rest := filtered("$escrow", op("$ne", "$$this.deal", d))
	last := op("$eq", is("$size", rest), 0)
	change := mongo.Pipeline{is("$set", bson.D{
		{"items", items}, {"gold", gold}, {"escrow", op("$cond", last, "$$REMOVE", rest)},
	})}
	_, err := g.coll(s.Coll).UpdateOne(ctx, there, change)
	return wrap(err, "take out of escrow what "+s.ID+" gets")
}

// filtered returns the expression for the elements of an array that satisfy a condition on $$this.
func filtered(array string, cond bson.D) bson.D {
	return is("$filter", bson.D{{"input", array}, {"as", "this"}, {"cond", cond}})
}

// orEmpty returns an empty slice instead of nil.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
