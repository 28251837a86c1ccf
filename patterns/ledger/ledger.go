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

// Errors of the ledger. The errors of the first group are the reasons for which transfers are
// canceled; the transfer's document stores the reason.
var (
	ErrInsufficientFunds = errors.New("ledger: the account would fall below its floor")
	ErrCeiling           = errors.New("ledger: the account would rise above its ceiling")
	ErrNoAccount         = errors.New("ledger: there is no such account")
	ErrClosed            = errors.New("ledger: the account is closed")
	ErrCurrency          = errors.New("ledger: the account has another currency")
	ErrCanceled          = errors.New("ledger: the transfer was canceled")
	ErrExpired           = errors.New("ledger: the hold has expired")
	// ErrBusy says that an account has too many transfers under way, or that it changed while the
	// ledger looked for the reason of a refusal. Call again.
	ErrBusy = errors.New("ledger: the account is busy")
	// ErrInterrupted says that the process executing the transfer did not finish, and the transfer
	// was rolled back. Call again.
	ErrInterrupted = errors.New("ledger: the transfer was interrupted")

	// ErrInProgress is returned if another process is executing the transfer at this moment.
	ErrInProgress = errors.New("ledger: the transfer is under way")
	// ErrKeyReused is returned if the stored transfer with the same id has other moves.
	ErrKeyReused = errors.New("ledger: the id belongs to another transfer")
	// ErrNoTransfer is returned if no transfer has the id.
	ErrNoTransfer = errors.New("ledger: there is no such transfer")
	// ErrApplied is returned by Cancel if the transfer is already committed. Use Undo instead.
	ErrApplied = errors.New("ledger: the transfer has been applied")
	// ErrNotHeld is returned by Post for a transfer that is not a hold, and by Undo for a transfer
	// that was not applied.
	ErrNotHeld = errors.New("ledger: the transfer is not in the state for that")
	// ErrExists is returned by Open if the account exists with other properties.
	ErrExists = errors.New("ledger: the account exists and is another one")
	// ErrNotEmpty is returned by Close if the account has a balance or transfers under way.
	ErrNotEmpty = errors.New("ledger: the account is not empty")
	// ErrAmount is returned for amounts, limits and lists of moves that are not valid.
	ErrAmount = errors.New("ledger: not a possible amount")
	// ErrID is returned for an empty id, and for an id with the prefix that the ledger reserves for
	// the transfers of Undo.
	ErrID = errors.New("ledger: not a possible id")
	// ErrNoTransactions is returned if Config.Transactions is set and the server does not support
	// transactions.
	ErrNoTransactions = errors.New("ledger: the server has no transactions")
)

// These are the defaults of Config, and the limits that keep documents small.
const (
	DefaultTimeout = 30 * time.Second
	DefaultPace    = time.Second
	// MaxMoves is the largest number of moves in a transfer.
	MaxMoves = 100
	// MaxPending is the largest number of transfers, holds included, that may be under way on an
	// account.
	MaxPending = 1000
	// MaxFences is the number of rolled-back runs that an account remembers.
	MaxFences = 64
)

// Config configures a Ledger. The zero value works.
type Config struct {
	patterns.Env
	// Accounts and Transfers are the names of the collections; "accounts" and "transfers" if empty.
	Accounts, Transfers string
	// Transactions makes the ledger execute transfers in multi-document transactions. Ledgers with
	// and without it may share the same documents.
	Transactions bool
	// Decimals is the number of decimals that amounts have in documents, where they are decimal128.
	// With zero, documents store whole numbers. Ledgers that share documents must use the same
	// value.
	Decimals int
	// App is the name of the application, or of the process. The ledger stores it in the transfers
	// that it executes, and RecoverOwn finishes these transfers.
	App string
	// Timeout is the time that a process has for a step of a transfer; DefaultTimeout if zero.
	// After that time, Repair finishes the transfer.
	Timeout time.Duration
	// Pace is the time that Run waits between two searches for work; DefaultPace if zero.
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

// engine executes transfers. Its implementations are twoPhase and inTransaction.
type engine interface {
	// execute brings a pending transfer to the state done, held or canceled. The caller must own
	// the transfer: t.Run is the run of the caller.
	execute(ctx context.Context, t *Record) error
	// post brings a hold to the state done. posted are its legs with the amounts to post.
	post(ctx context.Context, t *Record, posted []Leg) error
}

// New returns a ledger that stores its documents in db. It fails if cfg has a negative timeout or
// pace, or an invalid number of decimals.
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
	// A decision of the ledger must survive a failover, and must rest on the newest data.
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

// or returns value, or otherwise if value is the zero value.
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

// ShardKeys returns the shard keys of the accounts and the transfers.
func (l *Ledger) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{{Collection: l.cfg.Accounts, Key: hashed}, {Collection: l.cfg.Transfers, Key: hashed}}
}

// Shard shards the two collections by the keys of ShardKeys.
func (l *Ledger) Shard(ctx context.Context) error { return patterns.Shard(ctx, l.db, l.ShardKeys()) }
