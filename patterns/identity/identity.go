package identity

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

// Errors of identities.
var (
	// ErrTaken is returned if an identity belongs to another user.
	ErrTaken = errors.New("identity: it belongs to another user")
	// ErrBusy is returned if another process is about to take the same identity or to merge the
	// user. Try again.
	ErrBusy = errors.New("identity: somebody else is at work on it")
	// ErrExpired is returned if a claim took longer than Config.Timeout and another process has
	// given it up.
	ErrExpired = errors.New("identity: the claim took too long and was given up")
	// ErrNotFound is returned if no user, or not the given user, has the identity.
	ErrNotFound = errors.New("identity: there is no such identity")
	// ErrNoUser is returned if a user does not exist, is deleted, or is merged into another user.
	ErrNoUser = errors.New("identity: there is no such user")
	// ErrUserExists is returned by Register for the _id of an existing user.
	ErrUserExists = errors.New("identity: the user exists")
	// ErrInvalid is returned for a value that its kind does not allow, and for a kind that is not
	// configured.
	ErrInvalid = errors.New("identity: invalid")
)

const (
	// MaxValue is the largest length of a value in bytes.
	MaxValue = 512
	// MaxClaim is the largest number of identities in one claim.
	MaxClaim = 32
	// DefaultTimeout is the default of Config.Timeout, the longest time for a claim.
	DefaultTimeout = time.Minute
)

// maxMerges is the longest chain of merged users that the package follows.
const maxMerges = 32

// Config configures Identities. The zero value works.
type Config struct {
	patterns.Env
	// Collection, Users and Claims are the names of the collections; "identities", "users" and
	// "claims" if empty.
	Collection, Users, Claims string
	// Kinds holds the kinds of identities by their names; DefaultKinds() if nil.
	Kinds map[string]Kind
	// Timeout is the time after which other processes give up a claim of several identities;
	// DefaultTimeout if zero.
	Timeout time.Duration
	// Pace is the interval at which Run looks for unfinished work; Timeout if zero.
	Pace time.Duration
}

// Identities holds the identities of the users of a database. It is safe for concurrent use.
type Identities struct {
	env                  patterns.Env
	cfg                  Config
	coll, users, claimed *mongo.Collection
}

// New returns identities that store their documents in db.
func New(db *mongo.Database, cfg Config) (*Identities, error) {
	if cfg.Timeout < 0 || cfg.Pace < 0 {
		return nil, fmt.Errorf("identity: a timeout of %v, a pace of %v", cfg.Timeout, cfg.Pace)
	}
	for _, name := range []struct {
		name      *string
		otherwise string
	}{
		{&cfg.Collection, "identities"}, {&cfg.Users, "users"}, {&cfg.Claims, "claims"},
	} {
		if *name.name == "" {
			*name.name = name.otherwise
		}
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Pace == 0 {
		cfg.Pace = cfg.Timeout
	}
	if cfg.Kinds == nil {
		cfg.Kinds = DefaultKinds()
	}
	return &Identities{
		env: cfg.WithDefaults(), cfg: cfg,
		coll: db.Collection(cfg.Collection), users: db.Collection(cfg.Users), claimed: db.Collection(cfg.Claims),
	}, nil
}

// document is an identity as it is stored.
type document struct {
	ID    string         `bson:"_id"`
	Kind  string         `bson:"kind"`
	Value string         `bson:"value"`
	User  string         `bson:"user"`
	At    time.Time      `bson:"at"`
	Claim *bson.ObjectID `bson:"claim,omitempty"`
}

// user holds the fields that this package stores in the documents of users.
type user struct {
	ID         string         `bson:"_id"`
	Claim      *bson.ObjectID `bson:"claim,omitempty"`
	MergedInto string         `bson:"mergedInto,omitempty"`
	Merging    string         `bson:"merging,omitempty"`
	Leaving    bool           `bson:"leaving,omitempty"`
}

// may returns nil if a user may own identities, and the reason as an error if not. A user whose
// registration is under way may own identities.
func (u *user) may() error {
	switch {
	case u == nil || u.Leaving || u.merged():
		return ErrNoUser
	case u.MergedInto != "":
		return ErrBusy
	default:
		return nil
	}
}

// merged reports whether the user has become part of another user.
func (u *user) merged() bool { return u.MergedInto != "" && u.Merging != mergeBegun }

// Indexes returns the indexes that identities need.
func (s *Identities) Indexes() []patterns.Index {
	sparse := func(coll, field string) patterns.Index {
		return patterns.Index{Collection: coll, Model: mongo.IndexModel{
			Keys: bson.D{{field, 1}}, Options: options.Index().SetSparse(true),
		}}
	}
	return []patterns.Index{
		{Collection: s.cfg.Collection, Model: mongo.IndexModel{Keys: bson.D{{"user", 1}}}},
		sparse(s.cfg.Collection, "claim"),
		sparse(s.cfg.Users, "claim"),
		sparse(s.cfg.Users, "mergedInto"),
		sparse(s.cfg.Users, "merging"),
		sparse(s.cfg.Users, "leaving"),
		{Collection: s.cfg.Claims, Model: mongo.IndexModel{Keys: bson.D{{"deadline", 1}}}},
	}
}

// EnsureIndexes creates the missing indexes.
func (s *Identities) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes())
}

// ShardKeys returns the shard keys of the collections.
func (s *Identities) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{
		{Collection: s.cfg.Collection, Key: hashed},
		{Collection: s.cfg.Users, Key: hashed},
		{Collection: s.cfg.Claims, Key: hashed},
	}
}

// Shard shards the collections by the keys of ShardKeys.
func (s *Identities) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}

func byID(id any) bson.D { return bson.D{{"_id", id}} }

func in(values any) bson.D { return bson.D{{"$in", values}} }

func exists(is bool) bson.D { return bson.D{{"$exists", is}} }

func set(fields ...bson.E) bson.D { return bson.D{{"$set", bson.D(fields)}} }

func unset(field string) bson.D {
	return bson.D{{"$unset", bson.D{{field, ""}}}}
}

// wrap adds to an error the operation that failed. It returns nil if err is nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("identity: %s: %w", what, err)
}
