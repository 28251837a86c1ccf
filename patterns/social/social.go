package social

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

// Errors of networks.
var (
	ErrNotFound = errors.New("social: there is no such user or post")
	ErrBlocked  = errors.New("social: one of them has blocked the other")
	ErrTooLong  = errors.New("social: the text is too long, or there are too many recipients")
	ErrSelf     = errors.New("social: that is oneself")
)

// These are the defaults of Config and the limits of documents.
const (
	DefaultPushLimit = 5000
	DefaultLease     = time.Minute
	// BucketSize is the number of items in a full bucket of a feed or an inbox.
	BucketSize = 50
	// MaxText is the largest length of a text in bytes. MaxRecipients is the largest number of
	// recipients of a message.
	MaxText       = 10_000
	MaxRecipients = 1000
)

// Config configures a Network. The zero value works.
type Config struct {
	patterns.Env
	// Prefix is a prefix of the names of all collections.
	Prefix string
	// PushLimit is the largest number of followers for which an author's posts are copied into
	// feeds. Posts of authors with more followers are read when their followers read. It is
	// DefaultPushLimit if zero.
	PushLimit int
	// Lease is the time that a process has for 500 copies before other processes consider it dead;
	// DefaultLease if zero.
	Lease time.Duration
}

// Network is a social network. It is safe for concurrent use.
type Network struct {
	env                    patterns.Env
	cfg                    Config
	db                     *mongo.Database
	users, follows, blocks *mongo.Collection
	posts, messages        channel
	prepared               patterns.Prepared
}

// channel is a pair of collections: the letters, and the buckets of the recipients into which they
// are copied.
type channel struct{ out, boxes *mongo.Collection }

// New returns a network that stores its documents in db.
func New(db *mongo.Database, cfg Config) (*Network, error) {
	if cfg.PushLimit < 0 || cfg.Lease < 0 {
		return nil, fmt.Errorf("social: a limit of %d, a lease of %v", cfg.PushLimit, cfg.Lease)
	}
	if cfg.PushLimit == 0 {
		cfg.PushLimit = DefaultPushLimit
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	coll := func(name string) *mongo.Collection { return db.Collection(cfg.Prefix + name) }
	return &Network{
		env: cfg.WithDefaults(), cfg: cfg, db: db, users: coll("users"),
		follows: coll("follows"), blocks: coll("blocks"),
		posts: channel{coll("posts"), coll("feeds")}, messages: channel{coll("messages"), coll("inbox")},
	}, nil
}

// Indexes returns the indexes that the network needs. The guarantees rest on the unique indexes.
func (n *Network) Indexes() []patterns.Index {
	var out []patterns.Index
	add := func(coll *mongo.Collection, keys bson.D, opts *options.IndexOptionsBuilder) {
		out = append(out, patterns.Index{Collection: coll.Name(), Model: mongo.IndexModel{Keys: keys, Options: opts}})
	}
	for _, coll := range []*mongo.Collection{n.follows, n.blocks} {
		add(coll, bson.D{{"from", 1}, {"to", 1}}, options.Index().SetUnique(true))
		add(coll, bson.D{{"to", 1}, {"from", 1}}, nil)
	}
	add(n.posts.out, bson.D{{"author", 1}, {"_id", -1}}, nil)
	add(n.posts.out, bson.D{{"author", 1}, {"pull", 1}, {"_id", -1}}, nil)
	for _, ch := range n.channels() {
		unfinished := bson.D{{"until", bson.D{{"$exists", true}}}}
		add(ch.out, bson.D{{"until", 1}}, options.Index().SetPartialFilterExpression(unfinished))
		open := bson.D{{"open", true}}
		add(ch.boxes, bson.D{{"owner", 1}}, options.Index().SetUnique(true).SetPartialFilterExpression(open))
		// An owner cannot have the same item twice, whichever process delivers it.
		add(ch.boxes, bson.D{{"owner", 1}, {"items._id", 1}}, options.Index().SetUnique(true))
		add(ch.boxes, bson.D{{"owner", 1}, {"_id", -1}}, nil)
		add(ch.boxes, bson.D{{"items._id", 1}}, nil)
	}
	return out
}

func (n *Network) channels() []channel { return []channel{n.posts, n.messages} }

// EnsureIndexes creates the indexes.
func (n *Network) EnsureIndexes(ctx context.Context) error {
	return n.prepared.Ensure(ctx, n.db, n.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, pairs and letters
// could exist twice.
func (n *Network) ready(ctx context.Context) error {
	return n.prepared.Check(ctx, n.db, n.env.Logger, n.Indexes)
}

// ShardKeys returns the shard keys of the collections.
func (n *Network) ShardKeys() []patterns.ShardKey {
	by := func(coll *mongo.Collection, field string) patterns.ShardKey {
		return patterns.ShardKey{Collection: coll.Name(), Key: bson.D{{field, 1}}}
	}
	return []patterns.ShardKey{
		by(n.posts.boxes, "owner"), by(n.messages.boxes, "owner"), by(n.posts.out, "author"),
		by(n.follows, "from"), by(n.blocks, "from"),
		by(n.users, "_id"),
	}
}

// Shard shards the collections by the keys of ShardKeys.
func (n *Network) Shard(ctx context.Context) error { return patterns.Shard(ctx, n.db, n.ShardKeys()) }
