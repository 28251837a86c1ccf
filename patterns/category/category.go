package category

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of category trees.
var (
	ErrNotFound    = errors.New("category: there is no such category")
	ErrSlugTaken   = errors.New("category: another category has that slug")
	ErrBadSlug     = errors.New("category: a slug has 1 to 200 bytes without a slash")
	ErrCycle       = errors.New("category: a category cannot be moved below itself")
	ErrHasChildren = errors.New("category: there are categories below it")
	ErrTooDeep     = errors.New("category: the tree would be too deep")
)

// The defaults of a Config.
const (
	DefaultCollection = "categories"
	DefaultProducts   = "products"
	DefaultField      = "categories"
	DefaultLease      = 30 * time.Second
	DefaultMaxDepth   = 32
)

// Design selects how a category stores the categories above it.
type Design int

// These are the values of Config.Design.
const (
	// Ancestors stores the categories above a category in an array of its document. The bread
	// crumbs need no second query.
	Ancestors Design = iota
	// Paths stores the slugs of the categories above a category as a path, in the category and in
	// its products. A query for the products of a subtree needs no list of categories.
	Paths
)

// String returns the design's name.
func (d Design) String() string {
	if d == Paths {
		return "paths"
	}
	return "ancestors"
}

// Config configures a Tree. The zero value works.
type Config struct {
	patterns.Env
	// Design is Ancestors by default. All programs that share a tree must use the same design.
	Design Design
	// Collection is the collection of the categories; DefaultCollection if empty. The pattern also
	// owns the collection "<Collection>.state".
	Collection string
	// Products is the collection of the documents that have categories; DefaultProducts if empty.
	// The application owns these documents. The pattern changes only the field named Field;
	// DefaultField if empty.
	Products, Field string
	// Lease is the time after which other processes consider the author of a change dead and finish
	// the change; DefaultLease if zero.
	Lease time.Duration
	// MaxDepth is the largest number of levels of a tree; DefaultMaxDepth if zero.
	MaxDepth int
}

func (c Config) withDefaults() Config {
	c.Env = c.WithDefaults()
	c.Collection = cmp.Or(c.Collection, DefaultCollection)
	c.Products = cmp.Or(c.Products, DefaultProducts)
	c.Field = cmp.Or(c.Field, DefaultField)
	c.Lease = cmp.Or(c.Lease, DefaultLease)
	c.MaxDepth = cmp.Or(c.MaxDepth, DefaultMaxDepth)
	return c
}

// Category is a category of a tree.
type Category struct {
	ID bson.ObjectID
	// Slug is unique in the tree. Name is for people.
	Slug, Name string
	// Parent is the zero ObjectID for a category at the top.
	Parent bson.ObjectID
	// Rank orders the children of a parent. Children with the same rank are ordered by their slugs.
	Rank int
}

// Crumb is a bread crumb: a category above another one.
type Crumb struct {
	ID   bson.ObjectID `bson:"_id"`
	Slug string        `bson:"slug"`
	Name string        `bson:"name"`
}

// Tree is a tree of categories. It is safe for concurrent use.
type Tree struct {
	env        patterns.Env
	cfg        Config
	design     design
	categories *mongo.Collection
	products   *mongo.Collection
	state      *mongo.Collection
	prepared   patterns.Prepared
}

// New returns a tree that stores its categories in db.
func New(db *mongo.Database, cfg Config) (*Tree, error) {
	if cfg.Lease < 0 || cfg.MaxDepth < 0 || cfg.Design < Ancestors || cfg.Design > Paths {
		return nil, fmt.Errorf("category: design %d, lease %v, depth %d", cfg.Design, cfg.Lease, cfg.MaxDepth)
	}
	cfg = cfg.withDefaults()
	t := &Tree{
		env:        cfg.Env,
		cfg:        cfg,
		categories: db.Collection(cfg.Collection),
		products:   db.Collection(cfg.Products),
		state:      db.Collection(cfg.Collection + ".state"),
	}
	t.design = ancestors{t}
	if cfg.Design == Paths {
		t.design = paths{t}
	}
	return t, nil
}

// node is a category as it is stored.
type node struct {
	ID     bson.ObjectID  `bson:"_id"`
	Slug   string         `bson:"slug"`
	Name   string         `bson:"name"`
	Parent *bson.ObjectID `bson:"parent"` // null for a category at the top
	Rank   int            `bson:"rank"`
	// Change is the number of the last change that wrote the document.
	Change int64 `bson:"change"`
	// Ancestors (the parent first) or Path is the copy that the design derives from the parents.
	Ancestors []Crumb `bson:"ancestors,omitempty"`
	Path      string  `bson:"path,omitempty"`
}

func (n *node) category() Category {
	return Category{ID: n.ID, Slug: n.Slug, Name: n.Name, Parent: deref(n.Parent), Rank: n.Rank}
}

func (n *node) crumb() Crumb { return Crumb{n.ID, n.Slug, n.Name} }

func deref(id *bson.ObjectID) bson.ObjectID {
	if id == nil {
		return bson.ObjectID{}
	}
	return *id
}

func ref(id bson.ObjectID) *bson.ObjectID {
	if id.IsZero() {
		return nil
	}
	return &id
}

// design holds the operations that differ between the designs.
type design interface {
	// derive sets the copies of a node from its parent. parent is nil at the top.
	derive(n, parent *node)
	// derived returns the fields that derive sets.
	derived(n *node) bson.D
	// depth returns the level of a node, which is 1 at the top.
	depth(n *node) int
	// subtree returns the condition that selects the node and all nodes below it.
	subtree(n *node) bson.D
	// crumbs returns the categories above a node, beginning at the top.
	crumbs(ctx context.Context, n *node) ([]Crumb, error)
	// tag returns the value that a product stores for a category.
	tag(n *node) any
	// tagged returns the condition that selects the products of a category, and of the categories
	// below it if below is set.
	tagged(ctx context.Context, n *node, below bool) (bson.D, error)
	// retag returns the writes that update the tags in a node's products. It returns nil if tags
	// never change.
	retag(n *node) []mongo.WriteModel
	// tagID returns the path of a category's _id within the products' field Config.Field. It is
	// empty if the field holds the _ids themselves.
	tagID() string
	indexes() []patterns.Index
}

func checkSlug(slug string) error {
	const longest = 200
	if slug == "" || len(slug) > longest || strings.Contains(slug, "/") {
		return fmt.Errorf("%w: %q", ErrBadSlug, slug)
	}
	return nil
}

// Indexes returns the indexes that the tree needs.
func (t *Tree) Indexes() []patterns.Index {
	name := t.categories.Name()
	return append([]patterns.Index{
		{Collection: name, Model: unique(bson.D{{"slug", 1}})},
		// This index has all fields that a menu shows, so that Children reads only the index.
		{Collection: name, Model: mongo.IndexModel{Keys: bson.D{
			{"parent", 1}, {"rank", 1}, {"slug", 1}, {"name", 1}, {"_id", 1},
		}}},
	}, t.design.indexes()...)
}

// EnsureIndexes creates the indexes.
func (t *Tree) EnsureIndexes(ctx context.Context) error {
	return t.prepared.Ensure(ctx, t.categories.Database(), t.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, two categories
// could have the same slug.
func (t *Tree) ready(ctx context.Context) error {
	return t.prepared.Check(ctx, t.categories.Database(), t.env.Logger, t.Indexes)
}

// ShardKeys returns the shard key of the categories. Only very large trees need it.
func (t *Tree) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: t.categories.Name(), Key: bson.D{{"_id", 1}}}}
}

// Shard shards the categories by the key of ShardKeys. A sharded collection cannot have the unique
// index of slugs: see the package documentation.
func (t *Tree) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, t.categories.Database(), t.ShardKeys())
}
