package cms

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
)

// Errors of the package.
var (
	// ErrConflict is the error that errors.Is finds in a *ConflictError.
	ErrConflict = errors.New("cms: another one has saved this node meanwhile")
	ErrNotFound = errors.New("cms: there is no such node")
	ErrSlug     = errors.New("cms: the slug is used in this section")
	ErrBadNode  = errors.New("cms: a node has a kind, a slug or a title, and text and tags within the limits")
	ErrBase     = errors.New("cms: the base of a change is a node as it was read; this one was changed in memory")
	ErrBusy     = errors.New("cms: as many uploads for this node are in progress as may be")
	// ErrUploadLost is returned by Upload if its source paused for so long that another process
	// gave the upload up.
	ErrUploadLost = errors.New("cms: the upload was given up by others")
	ErrNoVersion  = errors.New("cms: the node has no such version of its file")
)

// Limits of a node.
const (
	MaxText    = 4 << 20 // bytes
	MaxTags    = 100
	MaxName    = 500 // bytes of a title, a slug, a section, an author or a tag
	MaxUploads = 10  // uploads in progress for one node
)

// Config configures a CMS. The zero value works.
type Config struct {
	patterns.Env
	// Prefix is a prefix of the names of the collections "nodes", "assets.files", "assets.chunks"
	// and "locks".
	Prefix string
	// Versions is the number of versions of a node's file that are kept; 20 if zero.
	Versions int
	// Lease is the longest time for which an upload may pause; an hour if zero.
	Lease time.Duration
	// Grace is the age at which chunks and files without an owner are deleted; a day if zero.
	Grace time.Duration
	// Every is the interval of Run; an hour if zero.
	Every time.Duration
	// ChunkSize is the size of a chunk in bytes; the driver's default of 255 KiB if zero.
	ChunkSize int32
	// Checkout is the time after which a checkout ends if it is not renewed; lock.DefaultLease if
	// zero.
	Checkout time.Duration
}

// CMS stores the content of a web site. It is safe for concurrent use.
type CMS struct {
	env    patterns.Env
	cfg    Config
	db     *mongo.Database
	nodes  *mongo.Collection
	files  *mongo.Collection
	chunks *mongo.Collection
	locks  *lock.Locks

	prepared patterns.Prepared
}

// New returns a CMS that stores its documents in db.
func New(db *mongo.Database, cfg Config) (*CMS, error) {
	for _, d := range []struct {
		of *time.Duration
		to time.Duration
	}{{&cfg.Lease, time.Hour}, {&cfg.Grace, 24 * time.Hour}, {&cfg.Every, time.Hour}} {
		if *d.of < 0 {
			return nil, fmt.Errorf("cms: a time of %v", *d.of)
		}
		if *d.of == 0 {
			*d.of = d.to
		}
	}
	if cfg.Versions < 0 || cfg.ChunkSize < 0 {
		return nil, fmt.Errorf("cms: %d versions, chunks of %d bytes", cfg.Versions, cfg.ChunkSize)
	}
	if cfg.Versions == 0 {
		cfg.Versions = 20
	}
	if cfg.ChunkSize == 0 {
		cfg.ChunkSize = mongo.DefaultGridFSChunkSize
	}
	cfg.Env = cfg.WithDefaults()
	locks, err := lock.New(db, lock.Config{Env: cfg.Env, Collection: cfg.Prefix + "locks", Lease: cfg.Checkout})
	if err != nil {
		return nil, err
	}
	return &CMS{
		env: cfg.Env, cfg: cfg, db: db, locks: locks,
		nodes:  db.Collection(cfg.Prefix + "nodes"),
		files:  db.Collection(cfg.Prefix + "assets.files"),
		chunks: db.Collection(cfg.Prefix + "assets.chunks"),
	}, nil
}

// bucket returns the GridFS bucket of the assets. Each operation gets its own bucket, because a
// bucket is not safe for concurrent use.
func (c *CMS) bucket() *mongo.GridFSBucket {
	return c.db.GridFSBucket(options.GridFSBucket().SetName(c.cfg.Prefix + "assets").SetChunkSizeBytes(c.cfg.ChunkSize))
}

// Indexes returns the indexes that the package needs. They include the indexes of GridFS that
// drivers create.
func (c *CMS) Indexes() []patterns.Index {
	index := func(coll *mongo.Collection, opts *options.IndexOptionsBuilder, keys ...bson.E) patterns.Index {
		return patterns.Index{Collection: coll.Name(), Model: mongo.IndexModel{Keys: bson.D(keys), Options: opts}}
	}
	up := func(field string) bson.E { return bson.E{field, 1} }
	newest := []bson.E{{publishOn, -1}, {"_id", -1}}
	return []patterns.Index{
		index(c.nodes, options.Index().SetUnique(true), up("metadata.section"), up("metadata.slug")),
		index(c.nodes, nil, append([]bson.E{up("metadata.section"), up("metadata.nodetype")}, newest...)...),
		index(c.nodes, nil, append([]bson.E{up("metadata.tags")}, newest...)...),
		index(c.nodes, options.Index().SetSparse(true), up("uploads.file")),
		index(c.nodes, options.Index().SetSparse(true), up("versions.file")),
		index(c.files, nil, up("filename"), up("uploadDate")),
		index(c.chunks, options.Index().SetUnique(true), up("files_id"), up("n")),
	}
}

// EnsureIndexes creates the indexes.
func (c *CMS) EnsureIndexes(ctx context.Context) error {
	return c.prepared.Ensure(ctx, c.db, c.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, two pages could
// have the same address.
func (c *CMS) ready(ctx context.Context) error {
	return c.prepared.Check(ctx, c.db, c.env.Logger, c.Indexes)
}

// ShardKeys returns the shard keys of the nodes and the chunks.
func (c *CMS) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{
		{
			Collection: c.nodes.Name(), Unique: true,
			Key: bson.D{{"metadata.section", 1}, {"metadata.slug", 1}},
		},
		{Collection: c.chunks.Name(), Unique: true, Key: bson.D{{"files_id", 1}, {"n", 1}}},
	}
}

// Shard shards the nodes and the chunks of their files by the keys of ShardKeys.
func (c *CMS) Shard(ctx context.Context) error { return patterns.Shard(ctx, c.db, c.ShardKeys()) }

// Checkout tells other editors that somebody is working on a node, for example on its photo in
// another program. It returns lock.ErrHeld if somebody else has checked the node out. A checkout
// does not prevent saves; the nonce detects conflicts. The lease ends by itself.
func (c *CMS) Checkout(ctx context.Context, id bson.ObjectID) (*lock.Lease, error) {
	return c.locks.Acquire(ctx, id.Hex())
}
