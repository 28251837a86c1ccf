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

// Errors of content.
var (
	// ErrConflict is what a *ConflictError is.
	ErrConflict = errors.New("cms: another one has saved this node meanwhile")
	ErrNotFound = errors.New("cms: there is no such node")
	ErrSlug     = errors.New("cms: the slug is used in this section")
	ErrBadNode  = errors.New("cms: a node has a kind, a slug or a title, and text and tags within the limits")
	ErrBase     = errors.New("cms: the base of a change is a node as it was read; this one was changed in memory")
	ErrBusy     = errors.New("cms: as many uploads for this node are in progress as may be")
	// ErrUploadLost is returned by Upload where its source has paused for so long that others took
	// it for dead.
	ErrUploadLost = errors.New("cms: the upload was given up by others")
	ErrNoVersion  = errors.New("cms: the node has no such version of its file")
)

// Limits of a node.
const (
	MaxText    = 4 << 20 // bytes
	MaxTags    = 100
	MaxName    = 500 // bytes of a title, a slug, a section, an author, a tag
	MaxUploads = 10  // in progress for one node
)

// Config configures a CMS. The zero value works.
type Config struct {
	patterns.Env
	// Prefix begins the names of the collections "nodes", "assets.files", "assets.chunks" and
	// "locks".
	Prefix string
	// Versions is how many versions of a node's file are kept, 20 if zero.
	Versions int
	// Lease is how long an upload may pause, an hour if zero.
	Lease time.Duration
	// Grace is how old chunks and files that nothing belongs to become before they are deleted, a
	// day if zero.
	Grace time.Duration
	// Every is how often Run sweeps, an hour if zero.
	Every time.Duration
	// ChunkSize is the driver's, 255 KiB, if zero.
	ChunkSize int32
	// Checkout is how long a node is checked out where the lease is not renewed, lock.DefaultLease
	// if zero.
	Checkout time.Duration
}

// CMS keeps content. It is safe for concurrent use.
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

// New returns the content of a database.
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

// bucket returns the GridFS bucket of the assets. One is not safe for concurrent use, so that each
// operation has its own.
func (c *CMS) bucket() *mongo.GridFSBucket {
	return c.db.GridFSBucket(options.GridFSBucket().SetName(c.cfg.Prefix + "assets").SetChunkSizeBytes(c.cfg.ChunkSize))
}

// Indexes returns the indexes that content needs. Those of GridFS are the ones that drivers create.
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

// EnsureIndexes creates them.
func (c *CMS) EnsureIndexes(ctx context.Context) error {
	return c.prepared.Ensure(ctx, c.db, c.Indexes())
}

// ready fails before the first use without the indexes: two pages could have one address.
func (c *CMS) ready(ctx context.Context) error {
	return c.prepared.Check(ctx, c.db, c.env.Logger, c.Indexes)
}

// ShardKeys returns how content is distributed over shards.
func (c *CMS) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{
		{
			Collection: c.nodes.Name(), Unique: true,
			Key: bson.D{{"metadata.section", 1}, {"metadata.slug", 1}},
		},
		{Collection: c.chunks.Name(), Unique: true, Key: bson.D{{"files_id", 1}, {"n", 1}}},
	}
}

// Shard distributes the nodes and the chunks of their files over the shards of a cluster.
func (c *CMS) Shard(ctx context.Context) error { return patterns.Shard(ctx, c.db, c.ShardKeys()) }

// Checkout tells others that somebody works at a node, for instance at its photo in another
// program: lock.ErrHeld says that another one does. It keeps nobody from saving; the nonce does
// that. The lease ends by itself.
func (c *CMS) Checkout(ctx context.Context, id bson.ObjectID) (*lock.Lease, error) {
	return c.locks.Acquire(ctx, id.Hex())
}
