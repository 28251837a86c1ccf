package game

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Item is a single object of the game. Each item has an id of its own: two swords are two items.
type Item struct {
	ID     string `bson:"id"`
	Type   string `bson:"type"`
	Damage int    `bson:"damage,omitempty"`
	Ranged bool   `bson:"ranged,omitempty"`
	// Price is the price of an item in a place. A player can pick up an item without a price.
	Price int64 `bson:"price,omitempty"`
	// More holds further fields of the item.
	More bson.M `bson:",inline"`
}

// Player is a player as it is stored.
type Player struct {
	ID        string           `bson:"_id"`
	Location  string           `bson:"location,omitempty"`
	Gold      int64            `bson:"gold"`
	Abilities map[string]int64 `bson:"abilities,omitempty"`
	Items     []Item           `bson:"items"`
	// More holds further fields of the player.
	More bson.M `bson:",inline"`
}

// Place is a place where items lie.
type Place struct {
	ID    string   `bson:"_id"`
	Exits []string `bson:"exits,omitempty"`
	Gold  int64    `bson:"gold"`
	Items []Item   `bson:"items"`
	More  bson.M   `bson:",inline"`
}

// holder has the fields that players and places have in common.
type holder struct {
	ID       string   `bson:"_id"`
	Location string   `bson:"location"`
	Gold     int64    `bson:"gold"`
	Items    []Item   `bson:"items"`
	Escrow   []escrow `bson:"escrow"`
}

// escrow holds the items and the gold that a holder gives in an unfinished deal. Room is the space
// reserved for the items that it receives.
type escrow struct {
	Deal  bson.ObjectID `bson:"deal"`
	Items []Item        `bson:"items"`
	Gold  int64         `bson:"gold"`
	Room  int           `bson:"room"`
}

// AddPlayer stores a new player. It generates missing ids of items.
func (g *Game) AddPlayer(ctx context.Context, p Player) error {
	if err := g.complete(&p.Items, p.Gold); err != nil {
		return err
	}
	_, err := g.players.InsertOne(ctx, p)
	return wrap(err, "add player "+p.ID)
}

// AddPlace stores a new place. It generates missing ids of items.
func (g *Game) AddPlace(ctx context.Context, p Place) error {
	if err := g.complete(&p.Items, p.Gold); err != nil {
		return err
	}
	_, err := g.places.InsertOne(ctx, p)
	return wrap(err, "add place "+p.ID)
}

// complete generates the missing ids of items.
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

// Player returns a player, or ErrNotFound.
func (g *Game) Player(ctx context.Context, id string) (*Player, error) {
	p := &Player{}
	return p, wrap(g.players.FindOne(ctx, byID(id)).Decode(p), "read player "+id)
}

// Place returns a place, or ErrNotFound.
func (g *Game) Place(ctx context.Context, id string) (*Place, error) {
	p := &Place{}
	return p, wrap(g.places.FindOne(ctx, byID(id)).Decode(p), "read place "+id)
}

// Holding returns the players with an item that satisfies all the conditions: {damage: {$gt: 20},
// ranged: true}. At least one condition should be on damage or type, which have indexes.
func (g *Game) Holding(ctx context.Context, item bson.D) ([]Player, error) {
	return g.find(ctx, bson.D{{"items", is("$elemMatch", item)}})
}

// Able returns the players whose ability has at least the value least.
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

// Move moves a player from a place to another one through an exit. It returns ErrNotFound if there
// is no such exit, and ErrElsewhere if the player is not at the first place.
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

// coll returns the collection of a side's kind.
func (g *Game) coll(name string) *mongo.Collection {
	if name == kindPlayer {
		return g.players
	}
	return g.places
}
