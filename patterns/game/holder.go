package game

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Item is a thing. Each has an id of its own, as no two swords are the same sword.
type Item struct {
	ID     string `bson:"id"`
	Type   string `bson:"type"`
	Damage int    `bson:"damage,omitempty"`
	Ranged bool   `bson:"ranged,omitempty"`
	// Price is what it costs where it lies; an item without a price is picked up.
	Price int64 `bson:"price,omitempty"`
	// More is whatever else is to be said of it.
	More bson.M `bson:",inline"`
}

// Player is a player.
type Player struct {
	ID        string           `bson:"_id"`
	Location  string           `bson:"location,omitempty"`
	Gold      int64            `bson:"gold"`
	Abilities map[string]int64 `bson:"abilities,omitempty"`
	Items     []Item           `bson:"items"`
	// More is whatever else the game says of players.
	More bson.M `bson:",inline"`
}

// Place is somewhere where items lie.
type Place struct {
	ID    string   `bson:"_id"`
	Exits []string `bson:"exits,omitempty"`
	Gold  int64    `bson:"gold"`
	Items []Item   `bson:"items"`
	More  bson.M   `bson:",inline"`
}

// holder is what players and places have in common.
type holder struct {
	ID       string   `bson:"_id"`
	Location string   `bson:"location"`
	Gold     int64    `bson:"gold"`
	Items    []Item   `bson:"items"`
	Escrow   []escrow `bson:"escrow"`
}

// escrow is what a holder gives in a deal that is not finished, and the room for what it gets.
type escrow struct {
	Deal  bson.ObjectID `bson:"deal"`
	Items []Item        `bson:"items"`
	Gold  int64         `bson:"gold"`
	Room  int           `bson:"room"`
}

// AddPlayer adds a player.
func (g *Game) AddPlayer(ctx context.Context, p Player) error {
	if err := g.complete(&p.Items, p.Gold); err != nil {
		return err
	}
	_, err := g.players.InsertOne(ctx, p)
	return wrap(err, "add player "+p.ID)
}

// AddPlace adds a place.
func (g *Game) AddPlace(ctx context.Context, p Place) error {
	if err := g.complete(&p.Items, p.Gold); err != nil {
		return err
	}
	_, err := g.places.InsertOne(ctx, p)
	return wrap(err, "add place "+p.ID)
}

// complete gives items their ids.
func (g *Game) complete(items *[]Item, gold int64) error {
	if gold < 0 || len(*items) > g.cfg.MaxItems {
		return fmt.Errorf("%w bag: %d items, %d gold", ErrInvalid, len(*items), gold)
	}
	all := append([]Item{}, *items...) // an empty array, not null
	for i := range all {
		if all[i].ID == "" {
			all[i].ID = bson.NewObjectID().Hex()
		}
	}
	*items = all
	return nil
}

// Player returns a player.
func (g *Game) Player(ctx context.Context, id string) (*Player, error) {
	p := &Player{}
	return p, wrap(g.players.FindOne(ctx, byID(id)).Decode(p), "read player "+id)
}

// Place returns a place.
func (g *Game) Place(ctx context.Context, id string) (*Place, error) {
	p := &Place{}
	return p, wrap(g.places.FindOne(ctx, byID(id)).Decode(p), "read place "+id)
}

// Holding returns the players with an item that meets all the conditions: {damage: {$gt: 20},
// ranged: true}. One of them should be about its damage or its type, which have indexes.
func (g *Game) Holding(ctx context.Context, item bson.D) ([]Player, error) {
	return g.find(ctx, bson.D{{"items", is("$elemMatch", item)}})
}

// Able returns the players with at least so much of an ability.
func (g *Game) Able(ctx context.Context, ability string, least int64) ([]Player, error) {
	return g.find(ctx, bson.D{{"abilities." + ability, is("$gte", least)}})
}

func (g *Game) find(ctx context.Context, filter bson.D) (out []Player, err error) {
	found, err := g.players.Find(ctx, filter)
	if err == nil {
		err = found.All(ctx, &out)
	}
	return out, wrap(err, "find players")
}

// Move lets a player go from where it is to a place that can be reached from there.
func (g *Game) Move(ctx context.Context, player, from, to string) error {
	exit := append(byID(from), bson.E{"exits", to})
	if err := g.places.FindOne(ctx, exit).Err(); err != nil {
		return wrap(err, "find the way from "+from+" to "+to)
	}
	there := append(byID(player), bson.E{"location", from})
	res, err := g.players.UpdateOne(ctx, there, is("$set", bson.D{{"location", to}}))
	if err == nil && res.MatchedCount == 0 {
		return ErrElsewhere
	}
	return wrap(err, "move "+player)
}

// coll returns the collection of a side of a deal.
func (g *Game) coll(name string) *mongo.Collection {
	if name == kindPlayer {
		return g.players
	}
	return g.places
}
