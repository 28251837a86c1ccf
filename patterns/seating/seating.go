package seating

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/internal/carts"
)

// The errors of the package.
var (
	// ErrTaken is returned if one of the seats is not free, or does not exist. Then no seat is
	// held.
	ErrTaken = errors.New("seating: a seat is not free")
	// ErrNoneLeft is returned by Best and HoldBest if there are not enough free seats next to each
	// other.
	ErrNoneLeft = errors.New("seating: there are no such seats together")
	// ErrInactive is returned if the cart does not exist, is being paid, or has ended.
	ErrInactive = errors.New("seating: the cart is not active")
	// ErrFull is returned if the cart has MaxHolds holds.
	ErrFull = errors.New("seating: the cart is full")
	// ErrEmpty is returned by Checkout for a cart without seats.
	ErrEmpty = errors.New("seating: the cart is empty")
	// ErrLost is returned by Checkout if the cart has holds whose seats are not taken for this
	// cart. Checkout removes these holds from the cart and keeps the others.
	ErrLost = errors.New("seating: some seats of the cart are not held")
	// ErrUnsettled is returned by Checkout if the payment took too long: it was made, but the cart
	// had changed meanwhile and is not sold.
	ErrUnsettled = errors.New("seating: the cart was paid, and is not sold")
	// ErrNotFound is returned if the layout, session, cart or hold does not exist.
	ErrNotFound = errors.New("seating: there is no such thing")
	// ErrExists is returned if another layout or session has the same ID.
	ErrExists = errors.New("seating: it exists, and is another one")
	// ErrPlan is returned for impossible plans and prices.
	ErrPlan = errors.New("seating: not a possible plan")
)

var errs = carts.Errors{Package: "seating", Missing: ErrNotFound}

// The defaults of Config and the limits of documents.
const (
	DefaultHoldTime = 30 * time.Minute
	DefaultTimeout  = time.Minute
	DefaultPace     = 10 * time.Second
	// MaxSeats is the largest number of places in a plan. Aisles count as places.
	MaxSeats = 20000
	// MaxHolds is the largest number of holds in a cart.
	MaxHolds = 100
)

// Config configures Seating. The zero value works.
type Config struct {
	patterns.Env
	// Layouts, Sessions, Carts and Receipts are the names of the collections. The defaults are
	// layouts, sessions, carts and receipts.
	Layouts, Sessions, Carts, Receipts string
	// HoldTime is how long a cart is kept after its last change; DefaultHoldTime if zero.
	HoldTime time.Duration
	// Timeout limits the time of a payment, and of the steps after it; DefaultTimeout if zero.
	Timeout time.Duration
	// Pace is how often Run looks for expired carts; DefaultPace if zero.
	Pace time.Duration
	// Paid reports whether a cart was paid. Repair calls Paid if a process died during the payment.
	// If Paid is nil, a cart whose payment was interrupted counts as unpaid.
	Paid func(ctx context.Context, cart string) (bool, error)
}

// Seating holds and sells seats. It is safe for concurrent use.
type Seating struct {
	env                                patterns.Env
	cfg                                Config
	db                                 *mongo.Database
	layouts, sessions, carts, receipts *mongo.Collection
}

// New returns a Seating that stores its documents in db.
func New(db *mongo.Database, cfg Config) (*Seating, error) {
	if cfg.HoldTime < 0 || cfg.Timeout < 0 || cfg.Pace < 0 {
		return nil, fmt.Errorf("seating: times of %v, %v, %v", cfg.HoldTime, cfg.Timeout, cfg.Pace)
	}
	for _, name := range []struct {
		is *string
		or string
	}{{&cfg.Layouts, "layouts"}, {&cfg.Sessions, "sessions"}, {&cfg.Carts, "carts"}, {&cfg.Receipts, "receipts"}} {
		if *name.is == "" {
			*name.is = name.or
		}
	}
	for _, d := range []struct {
		is *time.Duration
		or time.Duration
	}{{&cfg.HoldTime, DefaultHoldTime}, {&cfg.Timeout, DefaultTimeout}, {&cfg.Pace, DefaultPace}} {
		if *d.is == 0 {
			*d.is = d.or
		}
	}
	return &Seating{
		env: cfg.WithDefaults(), cfg: cfg, db: db,
		layouts: db.Collection(cfg.Layouts), sessions: db.Collection(cfg.Sessions),
		carts: db.Collection(cfg.Carts), receipts: db.Collection(cfg.Receipts),
	}, nil
}

// Indexes returns the indexes that seating needs.
func (s *Seating) Indexes() []patterns.Index {
	return []patterns.Index{
		carts.ByDeadline(s.cfg.Carts),
		{Collection: s.cfg.Sessions, Model: mongo.IndexModel{
			Keys: bson.D{{"reservations.at", 1}}, Options: options.Index().SetSparse(true),
		}},
	}
}

// EnsureIndexes creates the indexes that seating needs.
func (s *Seating) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.db, s.Indexes())
}

// ShardKeys returns the shard keys of the collections.
func (s *Seating) ShardKeys() []patterns.ShardKey {
	return carts.Hashed(s.cfg.Layouts, s.cfg.Sessions, s.cfg.Carts, s.cfg.Receipts)
}

// Shard distributes the collections over the shards of a cluster.
func (s *Seating) Shard(ctx context.Context) error { return patterns.Shard(ctx, s.db, s.ShardKeys()) }
