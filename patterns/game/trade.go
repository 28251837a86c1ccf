package game

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Offer lists the items and the gold that a player gives in a trade.
type Offer struct {
	Player string
	Items  []string
	Gold   int64
}

// PickUp moves an item without a price from a place to a player at that place. It returns ErrGone
// if another player was faster.
func (g *Game) PickUp(ctx context.Context, player, place, item string) error {
	return g.exchange(ctx,
		side{
			Coll: kindPlace, ID: place, Items: []string{item},
			where: lies(item, bson.E{"price", is("$exists", false)}), not: ErrGone,
		},
		side{Coll: kindPlayer, ID: player, where: at(place), not: ErrElsewhere})
}

// Drop moves items from a player to the place where the player is.
func (g *Game) Drop(ctx context.Context, player, place string, items ...string) error {
	return g.exchange(ctx, side{Coll: kindPlayer, ID: player, Items: items, where: at(place), not: ErrElsewhere},
		side{Coll: kindPlace, ID: place})
}

// Buy sells an item in a place to a player at that place. price must be the item's current price;
// otherwise Buy returns ErrGone.
func (g *Game) Buy(ctx context.Context, player, place, item string, price int64) error {
	if price <= 0 {
		return fmt.Errorf("%w price %d", ErrInvalid, price)
	}
	return g.exchange(ctx,
		side{
			Coll: kindPlace, ID: place, Items: []string{item},
			where: lies(item, bson.E{"price", price}), not: ErrGone,
		},
		side{Coll: kindPlayer, ID: player, Gold: price, where: at(place), not: ErrElsewhere})
}

// Trade exchanges items and gold between two players who have agreed on the trade.
func (g *Game) Trade(ctx context.Context, a, b Offer) error {
	if a.Player == b.Player {
		return fmt.Errorf("%w trade of %s with itself", ErrInvalid, a.Player)
	}
	return g.exchange(ctx,
		side{Coll: kindPlayer, ID: a.Player, Items: a.Items, Gold: a.Gold},
		side{Coll: kindPlayer, ID: b.Player, Items: b.Items, Gold: b.Gold})
}

func at(place string) bson.D { return bson.D{{"location", place}} }

func lies(item string, cond bson.E) bson.D {
	return bson.D{{"items", is("$elemMatch", bson.D{{"id", item}, cond})}}
}

// Recipe describes how an item is made.
type Recipe struct {
	// Needs maps types of items to the number of items used up.
	Needs map[string]int
	Gold  int64
	// Makes is the item that results. It gets a new id.
	Makes Item
}

// Craft makes an item from the items and the gold of a player. It returns ErrGone if an item is
// missing.
func (g *Game) Craft(ctx context.Context, player string, r Recipe) (*Item, error) {
	for {
		h := &holder{}
		if err := g.players.FindOne(ctx, byID(player)).Decode(h); err != nil {
			return nil, wrap(err, "read player "+player)
		}
		used, err := r.choose(h)
		if err != nil {
			return nil, err
		}
		item, err := g.make(ctx, player, used, r)
		if item != nil || err != nil {
			return item, err
		}
	}
}

// choose returns the ids of the items to use up.
func (r Recipe) choose(h *holder) ([]string, error) {
	if r.Gold < 0 {
		return nil, fmt.Errorf("%w recipe: %d gold", ErrInvalid, r.Gold)
	}
	if h.Gold < r.Gold {
		return nil, ErrPoor
	}
	used, count, total := []string{}, map[string]int{}, 0
	for _, item := range h.Items {
		if count[item.Type] < r.Needs[item.Type] {
			count[item.Type]++
			used = append(used, item.ID)
		}
	}
	for _, n := range r.Needs {
		total += n
	}
	if len(used) < total {
		return nil, ErrGone
	}
	return used, nil
}

// make replaces the used items by the new item. It returns nil if a used item has disappeared
// meanwhile.
func (g *Game) make(ctx context.Context, player string, used []string, r Recipe) (*Item, error) {
	item := r.Makes
	item.ID = bson.NewObjectID().Hex()
	occupied := op("$add", is("$size", "$items"), op("$sum", "$escrow.room"), 1-len(used))
	filter := append(byID(player), bson.E{"gold", is("$gte", r.Gold)},
		bson.E{"$expr", op("$lte", occupied, g.cfg.MaxItems)})
	if len(used) > 0 {
		filter = append(filter, bson.E{"items.id", is("$all", used)})
	}
	rest := filtered("$items", is("$not", bson.A{op("$in", "$$this.id", is("$literal", used))}))
	change := mongo.Pipeline{is("$set", bson.D{
		{"items", op("$concatArrays", rest, is("$literal", []Item{item}))},
		{"gold", op("$subtract", "$gold", r.Gold)},
	})}
	res, err := g.players.UpdateOne(ctx, filter, change)
	if err != nil {
		return nil, wrap(err, "craft")
	}
	if res.MatchedCount > 0 {
		return &item, nil
	}
	err = g.reason(ctx, &side{Coll: kindPlayer, ID: player, Items: used, Gold: r.Gold}, 1)
	if errors.Is(err, ErrGone) { // another item of the same type may be left
		err = nil
	}
	return nil, err
}
