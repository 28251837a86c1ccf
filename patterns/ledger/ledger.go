package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of the ledger. The first group are the reasons of transfers that were canceled; they stay
// with the transfer.
var (
	ErrInsufficientFunds = errors.New("ledger: the account would fall below its floor")
	ErrCeiling           = errors.New("ledger: the account would rise above its ceiling")
	ErrNoAccount         = errors.New("ledger: there is no such account")
	ErrClosed            = errors.New("ledger: the account is closed")
	ErrCurrency          = errors.New("ledger: the account has another currency")
	ErrCanceled          = errors.New("ledger: the transfer was canceled")
	ErrExpired           = errors.New("ledger: the hold has expired")
	// ErrBusy says that an account has too many transfers under way, or that it changed while it
	// was looked at. Call again.
	ErrBusy = errors.New("ledger: the account is busy")
	// ErrInterrupted says that the process that executed the transfer did not come to an end, and
	// it was rolled back. Call again.
	ErrInterrupted = errors.New("ledger: the transfer was interrupted")

	// ErrInProgress is returned where another process executes the transfer at this moment.
	ErrInProgress = errors.New("ledger: the transfer is under way")
	// ErrKeyReused is returned where a transfer of the same id is another one.
	ErrKeyReused = errors.New("ledger: the id belongs to another transfer")
	// ErrNoTransfer is returned where there is no transfer of an id.
	ErrNoTransfer = errors.New("ledger: there is no such transfer")
	// ErrApplied is returned by Cancel where it is too late: there is Undo.
	ErrApplied = errors.New("ledger: the transfer has been applied")
	// ErrNotHeld is returned by Post for a transfer that is no hold, and by Undo for one that was
	// not applied.
	ErrNotHeld = errors.New("ledger: the transfer is not in the state for that")
	// ErrExists is returned by Open where the account exists with other properties.
	ErrExists = errors.New("ledger: the account exists and is another one")
	// ErrNotEmpty is returned by Close for an account with a balance, or with transfers under way.
	ErrNotEmpty = errors.New("ledger: the account is not empty")
	// ErrAmount is returned for amounts that are not possible.
	ErrAmount = errors.New("ledger: not a possible amount")
	// ErrID is returned for transfers without an id, or with one that the ledger keeps for itself.
	ErrID = errors.New("ledger: not a possible id")
	// ErrNoTransactions is returned where Config.Transactions is set and the server has none.
	ErrNoTransactions = errors.New("ledger: the server has no transactions")
)

// The defaults, and the bounds of documents.
const (
	DefaultTimeout = 30 * time.Second
	DefaultPace    = time.Second
	// MaxMoves is how many moves a transfer may have.
	MaxMoves = 100
	// MaxPending is how many transfers, holds included, may be under way on an account.
	MaxPending = 1000
	// MaxFences is how many of the runs that were rolled back an account remembers.
	MaxFences = 64
)

// Config configures a Ledger. The zero value works.
type Config struct {
	patterns.Env
	// Accounts and Transfers are the collections: "accounts" and "transfers" if empty.
	Accounts, Transfers string
	// Transactions has transfers executed in multi-document transactions. Ledgers with and without
	// may share the documents.
	Transactions bool
	// Decimals is how many decimals amounts have in documents, as decimal128. Zero keeps them as
	// whole numbers. Ledgers that share documents must agree on it.
	Decimals int
	// App names the application, or the process, that executes transfers.
	App string
	// Timeout is how long a transfer may be under way before others may think that its process is
	// dead; DefaultTimeout if zero.
	Timeout time.Duration
	// Pace is how often Run looks for work; DefaultPace if zero.
	Pace time.Duration
}

// Ledger holds accounts and moves amounts between them. It is safe for concurrent use.
type Ledger struct {
	env       patterns.Env
	cfg       Config
	db        *mongo.Database
	accounts  *mongo.Collection
	transfers *mongo.Collection
	engine    engine
}

// engine is how a transfer is executed.
type engine interface {
	// execute brings a transfer that is pending, and whose run is the caller's, to done, held or
	// canceled.
	execute(ctx context.Context, t *Record) error
	// post brings a hold to done. posted are the legs with what is moved.
	post(ctx context.Context, t *Record, posted []Leg) error
}

// New returns the ledger of a database.
func New(db *mongo.Database, cfg Config) (*Ledger, error) {
	if cfg.Decimals < 0 || cfg.Decimals > MaxDecimals {
		return nil, fmt.Errorf("ledger: %d decimals", cfg.Decimals)
	}
	if cfg.Timeout < 0 || cfg.Pace < 0 {
		return nil, fmt.Errorf("ledger: a timeout of %v and a pace of %v", cfg.Timeout, cfg.Pace)
	}
	cfg.Accounts = or(cfg.Accounts, "accounts")
	cfg.Transfers = or(cfg.Transfers, "transfers")
	cfg.Timeout = or(cfg.Timeout, DefaultTimeout)
	cfg.Pace = or(cfg.Pace, DefaultPace)
	// What is decided here must outlast a change of the primary, and what decides must be the
	// newest.
	opts := options.Collection().SetRegistry(registry(cfg.Decimals)).SetWriteConcern(writeconcern.Majority()).
		SetReadPreference(readpref.Primary())
	l := &Ledger{
		env: cfg.WithDefaults(), cfg: cfg, db: db,
		accounts: db.Collection(cfg.Accounts, opts), transfers: db.Collection(cfg.Transfers, opts),
	}
	l.engine = twoPhase{l}
	if cfg.Transactions {
		l.engine = inTransaction{l}
	}
	return l, nil
}

// or is value, or what stands for the zero value.
func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// Indexes returns the indexes that the ledger needs.
func (l *Ledger) Indexes() []patterns.Index {
	underWay := options.Index().SetPartialFilterExpression(bson.D{{"deadline", bson.D{{"$exists", true}}}})
	return []patterns.Index{
		{
			Collection: l.cfg.Transfers,
			Model:      mongo.IndexModel{Keys: bson.D{{"state", 1}, {"deadline", 1}}, Options: underWay},
		},
		{Collection: l.cfg.Transfers, Model: mongo.IndexModel{Keys: bson.D{
			{"legs.account", 1}, {"committed", 1}, {"_id", 1},
		}}},
	}
}

// EnsureIndexes creates the indexes that the ledger needs.
func (l *Ledger) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, l.db, l.Indexes())
}

// ShardKeys returns how accounts and transfers are distributed over shards.
func (l *Ledger) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{{Collection: l.cfg.Accounts, Key: hashed}, {Collection: l.cfg.Transfers, Key: hashed}}
}

// Shard distributes accounts and transfers over the shards of a cluster.
func (l *Ledger) Shard(ctx context.Context) error { return patterns.Shard(ctx, l.db, l.ShardKeys()) }
