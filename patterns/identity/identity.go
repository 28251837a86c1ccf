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
	// ErrTaken is returned where an identity belongs to another user.
	ErrTaken = errors.New("identity: it belongs to another user")
	// ErrBusy is returned where others are at this moment about to take the same identity, or to
	// merge the user. Try again.
	ErrBusy = errors.New("identity: somebody else is at work on it")
	// ErrExpired is returned where a claim took longer than Config.Timeout, so that others have
	// ended it.
	ErrExpired = errors.New("identity: the claim took too long and was given up")
	// ErrNotFound is returned where nobody, or not the user in question, has an identity.
	ErrNotFound = errors.New("identity: there is no such identity")
	// ErrNoUser is returned where a user does not exist, is deleted, or is merged into another one.
	ErrNoUser = errors.New("identity: there is no such user")
	// ErrUserExists is returned by Register for the _id of an existing user.
	ErrUserExists = errors.New("identity: the user exists")
	// ErrInvalid is returned for a value that its kind does not allow, or a kind that is not
	// configured.
	ErrInvalid = errors.New("identity: invalid")
)

const (
	// MaxValue is how many bytes a value has at most.
	MaxValue = 512
	// MaxClaim is how many identities are claimed at once at most.
	MaxClaim = 32
	// DefaultTimeout is how long a claim may take.
	DefaultTimeout = time.Minute
)

// maxMerges is how long a chain of merged users may be.
const maxMerges = 32

// Config configures Identities. The zero value works.
type Config struct {
	patterns.Env
	// Collection, Users and Claims are "identities", "users" and "claims" if empty.
	Collection, Users, Claims string
	// Kinds are DefaultKinds() if nil.
	Kinds map[string]Kind
	// Timeout is how long a claim of several identities may take before others give it up;
	// DefaultTimeout if zero.
	Timeout time.Duration
	// Pace is how often Run looks for what was left; Timeout if zero.
	Pace time.Duration
}

// Identities are the identities of the users of a database. It is safe for concurrent use.
type Identities struct {
	env                  patterns.Env
	cfg                  Config
	coll, users, claimed *mongo.Collection
}

// New returns the identities of a database.
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

// user is what this package has in the documents of users.
type user struct {
	ID         string         `bson:"_id"`
	Claim      *bson.ObjectID `bson:"claim,omitempty"`
	MergedInto string         `bson:"mergedInto,omitempty"`
	Merging    string         `bson:"merging,omitempty"`
	Leaving    bool           `bson:"leaving,omitempty"`
}

// may says why a user may own nothing, if so. One that is about to be registered may.
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

// merged reports whether the user has become part of another one.
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

// EnsureIndexes creates the indexes that do not exist.
func (s *Identities) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes())
}

// ShardKeys returns how the collections are best distributed.
func (s *Identities) ShardKeys() []patterns.ShardKey {
	hashed := bson.D{{"_id", "hashed"}}
	return []patterns.ShardKey{
		{Collection: s.cfg.Collection, Key: hashed},
		{Collection: s.cfg.Users, Key: hashed},
		{Collection: s.cfg.Claims, Key: hashed},
	}
}

// Shard distributes the collections over the shards of a cluster.
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

// wrap says what failed, if anything did.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("identity: %s: %w", what, err)
}
