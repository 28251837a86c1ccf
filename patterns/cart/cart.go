package cart

import (
	"cmp"
	"context"
	"crypto/rand"
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
	// ErrInsufficientStock is returned if the stock has fewer pieces of a product than the cart
	// wants.
	ErrInsufficientStock = errors.New("cart: there is not enough in stock")
	// ErrInactive is returned if the cart is being paid, or has ended.
	ErrInactive = errors.New("cart: the cart is not active")
	// ErrNotFound is returned if the cart, line, product or order does not exist.
	ErrNotFound = errors.New("cart: there is no such thing")
	// ErrFull is returned if the cart has MaxLines lines.
	ErrFull = errors.New("cart: the cart is full")
	// ErrEmpty is returned by Checkout for a cart with no lines.
	ErrEmpty = errors.New("cart: the cart is empty")
	// ErrQuantity is returned for quantities and prices that are negative or too large, and for
	// items without a SKU.
	ErrQuantity = errors.New("cart: not a possible quantity or price")
	// ErrUnsettled is returned by Checkout if the payment took too long: it was made, but the cart
	// had changed meanwhile and is not sold.
	ErrUnsettled = errors.New("cart: the cart was paid, and is not sold")
)

var errs = carts.Errors{Package: "cart", Missing: ErrNotFound}

// The defaults of Config and the limits of documents.
const (
	DefaultHoldTime = 30 * time.Minute
	DefaultTimeout  = time.Minute
	DefaultPace     = 10 * time.Second
	// MaxLines is the largest number of lines in a cart.
	MaxLines = 200
	// MaxReservations is the largest number of reservations of a product at a time.
	MaxReservations = 5000
	// MaxQuantity is the largest quantity of a line.
	MaxQuantity = 1_000_000
	// MaxPrice is the largest price of one piece, so that totals do not overflow.
	MaxPrice = 10_000_000_000
)

// Policy says when stock is reserved.
type Policy int

// These are the values of Config.Reserve.
const (
	// OnAdd reserves a product when it is put into a cart, for as long as the cart is kept.
	OnAdd Policy = iota
	// AtCheckout reserves the products of a cart when it is paid.
	AtCheckout
)

// Config configures a Shop. The zero value works.
type Config struct {
	patterns.Env
	// Inventories, Carts and Orders are the names of the collections. The defaults are inventories,
	// carts and orders.
	Inventories, Carts, Orders string
	// Reserve says when stock is reserved; OnAdd if zero.
	Reserve Policy
	// HoldTime is how long a cart is kept after its last change; DefaultHoldTime if zero.
	HoldTime time.Duration
	// Timeout limits the time of a payment, and of the steps after it; DefaultTimeout if zero.
	Timeout time.Duration
	// Pace is how often Run looks for expired carts; DefaultPace if zero.
	Pace time.Duration
	// Paid reports whether a cart was paid. The order stores the payment that Paid returns. Repair
	// calls Paid if a process died during the payment. If Paid is nil, a cart whose payment was
	// interrupted counts as unpaid.
	Paid func(ctx context.Context, cart string) (payment any, paid bool, err error)
}

// Shop sells products by way of carts, and keeps their stock. It is safe for concurrent use.
type Shop struct {
	env                        patterns.Env
	cfg                        Config
	db                         *mongo.Database
	inventories, carts, orders *mongo.Collection
}

// New returns a shop that stores its documents in db.
func New(db *mongo.Database, cfg Config) (*Shop, error) {
	if cfg.HoldTime < 0 || cfg.Timeout < 0 || cfg.Pace < 0 || cfg.Reserve < OnAdd || cfg.Reserve > AtCheckout {
		return nil, fmt.Errorf("cart: times of %v, %v, %v, policy %d", cfg.HoldTime, cfg.Timeout, cfg.Pace, cfg.Reserve)
	}
	cfg.Inventories = cmp.Or(cfg.Inventories, "inventories")
	cfg.Carts = cmp.Or(cfg.Carts, "carts")
	cfg.Orders = cmp.Or(cfg.Orders, "orders")
	cfg.HoldTime = cmp.Or(cfg.HoldTime, DefaultHoldTime)
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.Pace = cmp.Or(cfg.Pace, DefaultPace)
	return &Shop{
		env: cfg.WithDefaults(), cfg: cfg, db: db,
		inventories: db.Collection(cfg.Inventories), carts: db.Collection(cfg.Carts), orders: db.Collection(cfg.Orders),
	}, nil
}

// NewID returns a random ID for a cart. Nobody can guess it, and random IDs spread over the shards.
func NewID() string { return rand.Text() }

// Indexes returns the indexes that a shop needs.
func (s *Shop) Indexes() []patterns.Index {
	return []patterns.Index{
		carts.ByDeadline(s.cfg.Carts),
		{Collection: s.cfg.Inventories, Model: mongo.IndexModel{
			Keys: bson.D{{"reservations.0.at", 1}}, Options: options.Index().SetSparse(true),
		}},
	}
}

// EnsureIndexes creates the indexes that a shop needs.
func (s *Shop) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.db, s.Indexes())
}

// ShardKeys returns the shard keys of the collections.
func (s *Shop) ShardKeys() []patterns.ShardKey {
	return carts.Hashed(s.cfg.Inventories, s.cfg.Carts, s.cfg.Orders)
}

// Shard distributes the collections over the shards of a cluster.
func (s *Shop) Shard(ctx context.Context) error { return patterns.Shard(ctx, s.db, s.ShardKeys()) }
