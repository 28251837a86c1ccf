package game

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of games.
var (
	// ErrNotFound is returned if a player, a place, a battle or a score does not exist.
	ErrNotFound = errors.New("game: there is no such thing")
	// ErrGone is returned if an item is not at the expected place any more, or does not have the
	// expected price.
	ErrGone = errors.New("game: the item is gone")
	// ErrPoor is returned if a side does not have enough gold.
	ErrPoor = errors.New("game: there is not enough gold")
	// ErrFull is returned if a bag has no room.
	ErrFull = errors.New("game: the bag is full")
	// ErrElsewhere is returned if a player is not at the place of the operation.
	ErrElsewhere = errors.New("game: the player is not there")
	// ErrExpired is returned if a deal took longer than Config.Timeout and another process has
	// given it up.
	ErrExpired = errors.New("game: the deal took too long and was given up")
	// ErrInvalid is returned for arguments that are not valid.
	ErrInvalid = errors.New("game: invalid")
)

const (
	// DefaultMaxItems is the default of Config.MaxItems.
	DefaultMaxItems = 500
	// MaxDealItems is the largest number of items that a side gives in one deal.
	MaxDealItems = 50
	// DefaultTimeout is the default of Config.Timeout, the longest time for a deal.
	DefaultTimeout = 30 * time.Second
	// DefaultTurnTime is the default of Config.TurnTime, the time that a player has for a turn.
	DefaultTurnTime = time.Minute
)

// Config configures a Game. The zero value works.
type Config struct {
	patterns.Env
	// Prefix is a prefix of the names of all collections.
	Prefix string
	// MaxItems is the largest number of items in a bag or a place; DefaultMaxItems if zero.
	MaxItems int
	// Timeout is the time after which other processes give a deal up. It is also the interval of
	// Run. It is DefaultTimeout if zero.
	Timeout time.Duration
	// TurnTime is the time after which a turn can be skipped; DefaultTurnTime if zero.
	TurnTime time.Duration
}

// Game stores the state of a game. It is safe for concurrent use.
type Game struct {
	env                                     patterns.Env
	cfg                                     Config
	players, places, deals, battles, scores *mongo.Collection
}

// New returns a game that stores its documents in db.
func New(db *mongo.Database, cfg Config) (*Game, error) {
	if cfg.MaxItems < 0 || cfg.Timeout < 0 || cfg.TurnTime < 0 {
		return nil, fmt.Errorf("%w configuration: %d items, timeout %v, turns of %v", ErrInvalid,
			cfg.MaxItems, cfg.Timeout, cfg.TurnTime)
	}
	if cfg.MaxItems == 0 {
		cfg.MaxItems = DefaultMaxItems
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.TurnTime == 0 {
		cfg.TurnTime = DefaultTurnTime
	}
	coll := func(name string) *mongo.Collection { return db.Collection(cfg.Prefix + name) }
	return &Game{
		env: cfg.WithDefaults(), cfg: cfg,
		players: coll("players"), places: coll("places"), deals: coll("deals"),
		battles: coll("battles"), scores: coll("scores"),
	}, nil
}

// Indexes returns the indexes that a game needs.
func (g *Game) Indexes() []patterns.Index {
	index := func(coll *mongo.Collection, fields ...bson.E) patterns.Index {
		return patterns.Index{Collection: coll.Name(), Model: mongo.IndexModel{Keys: bson.D(fields)}}
	}
	up := func(field string) bson.E { return bson.E{field, 1} }
	escrow := func(coll *mongo.Collection) patterns.Index {
		ix := index(coll, up("escrow.deal"))
		ix.Model.Options = options.Index().SetSparse(true)
		return ix
	}
	return []patterns.Index{
		index(g.players, up("items.damage")),
		index(g.players, up("items.type")),
		index(g.players, up("abilities.$**")),
		escrow(g.players),
		escrow(g.places),
		index(g.deals, up("deadline")),
		index(g.scores, up("board"), bson.E{"score", -1}, up("at"), up("player")),
	}
}

// EnsureIndexes creates the missing indexes.
func (g *Game) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, g.players.Database(), g.Indexes())
}

// ShardKeys returns the shard keys of the collections.
func (g *Game) ShardKeys() (out []patterns.ShardKey) {
	for _, coll := range []*mongo.Collection{g.players, g.places, g.deals, g.battles} {
		out = append(out, patterns.ShardKey{Collection: coll.Name(), Key: bson.D{{"_id", "hashed"}}})
	}
	return append(out, patterns.ShardKey{Collection: g.scores.Name(), Key: bson.D{{"board", 1}, {"player", 1}}})
}

// Shard shards the collections by the keys of ShardKeys.
func (g *Game) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, g.players.Database(), g.ShardKeys())
}

func byID(id any) bson.D { return bson.D{{"_id", id}} }

// op returns an operator with a list of arguments.
func op(name string, args ...any) bson.D { return bson.D{{name, bson.A(args)}} }

// is returns an operator with one argument.
func is(name string, arg any) bson.D { return bson.D{{name, arg}} }

// wrap adds to an error the operation that failed. It returns nil if err is nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = ErrNotFound
	}
	return fmt.Errorf("game: %s: %w", what, err)
}
