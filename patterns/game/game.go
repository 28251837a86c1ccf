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
	// ErrNotFound is returned where a player, a place, a battle or a score does not exist.
	ErrNotFound = errors.New("game: there is no such thing")
	// ErrGone is returned where an item is not, or no longer, where it should be, or not for that
	// price.
	ErrGone = errors.New("game: the item is gone")
	// ErrPoor is returned where somebody has not enough gold.
	ErrPoor = errors.New("game: there is not enough gold")
	// ErrFull is returned where a bag has no room.
	ErrFull = errors.New("game: the bag is full")
	// ErrElsewhere is returned where a player is not where something can be done.
	ErrElsewhere = errors.New("game: the player is not there")
	// ErrExpired is returned where a deal took longer than Config.Timeout, so that others have
	// given it up.
	ErrExpired = errors.New("game: the deal took too long and was given up")
	// ErrInvalid is returned for what makes no sense.
	ErrInvalid = errors.New("game: invalid")
)

const (
	// DefaultMaxItems is how many items a bag, or a place, holds.
	DefaultMaxItems = 500
	// MaxDealItems is how many items a side gives in one deal at most.
	MaxDealItems = 50
	// DefaultTimeout is how long a deal may take.
	DefaultTimeout = 30 * time.Second
	// DefaultTurnTime is how long a player may think.
	DefaultTurnTime = time.Minute
)

// Config configures a Game. The zero value works.
type Config struct {
	patterns.Env
	// Prefix is put in front of the names of the collections.
	Prefix string
	// MaxItems is DefaultMaxItems if zero.
	MaxItems int
	// Timeout is how long a deal may take before others give it up, and how often Run looks for
	// such; DefaultTimeout if zero.
	Timeout time.Duration
	// TurnTime is how long a turn may take before it can be skipped; DefaultTurnTime if zero.
	TurnTime time.Duration
}

// Game is the state of a game. It is safe for concurrent use.
type Game struct {
	env                                     patterns.Env
	cfg                                     Config
	players, places, deals, battles, scores *mongo.Collection
}

// New returns the game of a database.
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

// EnsureIndexes creates the indexes that do not exist.
func (g *Game) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, g.players.Database(), g.Indexes())
}

// ShardKeys returns how the collections are best distributed.
func (g *Game) ShardKeys() (out []patterns.ShardKey) {
	for _, coll := range []*mongo.Collection{g.players, g.places, g.deals, g.battles} {
		out = append(out, patterns.ShardKey{Collection: coll.Name(), Key: bson.D{{"_id", "hashed"}}})
	}
	return append(out, patterns.ShardKey{Collection: g.scores.Name(), Key: bson.D{{"board", 1}, {"player", 1}}})
}

// Shard distributes the collections over the shards of a cluster.
func (g *Game) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, g.players.Database(), g.ShardKeys())
}

func byID(id any) bson.D { return bson.D{{"_id", id}} }

// op is an operator with its arguments.
func op(name string, args ...any) bson.D { return bson.D{{name, bson.A(args)}} }

// is is an operator with one argument that is no list.
func is(name string, arg any) bson.D { return bson.D{{name, arg}} }

// wrap says what failed, if anything did.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = ErrNotFound
	}
	return fmt.Errorf("game: %s: %w", what, err)
}
