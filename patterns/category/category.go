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

// Errors of trees.
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

// Design is how categories know what is above them.
type Design int

// The designs.
const (
	// Ancestors keeps the categories above one in an array of its document: bread crumbs need no
	// second query.
	Ancestors Design = iota
	// Paths keeps the slugs of the categories above one as a path, in products too: products of a
	// subtree need no list of categories.
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
	// Design is Ancestors by default. All programs that share a tree use the same.
	Design Design
	// Collection is that of the categories, DefaultCollection if empty. The one named
	// "<Collection>.state" is the pattern's too.
	Collection string
	// Products is the collection of the things that have categories, DefaultProducts if empty. Its
	// documents are the application's; the pattern changes nothing of them but Field, DefaultField
	// if empty.
	Products, Field string
	// Lease is how long a change may take before others take it to be dead and finish it;
	// DefaultLease if zero.
	Lease time.Duration
	// MaxDepth is how many levels a tree may have; DefaultMaxDepth if zero.
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

// Category is one of a tree.
type Category struct {
	ID bson.ObjectID
	// Slug is unique in the tree, and Name is for people.
	Slug, Name string
	// Parent is the zero ObjectID for a category at the top.
	Parent bson.ObjectID
	// Rank orders the children of a parent; those of the same rank are ordered by their slugs.
	Rank int
}

// Crumb is a category above another one.
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

// New returns the tree of a database.
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
	Parent *bson.ObjectID `bson:"parent"` // null at the top
	Rank   int            `bson:"rank"`
	// Change is the number of the change that wrote the document last.
	Change int64 `bson:"change"`
	// Ancestors, nearest first, or Path: what the design derives from the parents.
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

// design is what differs between the designs.
type design interface {
	// derive sets what a node takes from its parent, which is nil at the top.
	derive(n, parent *node)
	// derived returns the fields that derive sets.
	derived(n *node) bson.D
	// depth is the level of a node, 1 at the top.
	depth(n *node) int
	// subtree is the condition that a document is the node or below it.
	subtree(n *node) bson.D
	// crumbs returns the categories above a node, the top first.
	crumbs(ctx context.Context, n *node) ([]Crumb, error)
	// tag is what a product holds of a category.
	tag(n *node) any
	// tagged is the condition that a product is in a category, or in one of those below it.
	tagged(ctx context.Context, n *node, below bool) (bson.D, error)
	// retag returns the writes that make the products of a node hold its tag; none where a tag
	// never changes.
	retag(n *node) []mongo.WriteModel
	// tagID is the path below the field of products at which the _id of the category is.
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

// Indexes returns what the tree needs.
func (t *Tree) Indexes() []patterns.Index {
	name := t.categories.Name()
	return append([]patterns.Index{
		{Collection: name, Model: unique(bson.D{{"slug", 1}})},
		// With all that a menu shows: it is read from the index alone.
		{Collection: name, Model: mongo.IndexModel{Keys: bson.D{
			{"parent", 1}, {"rank", 1}, {"slug", 1}, {"name", 1}, {"_id", 1},
		}}},
	}, t.design.indexes()...)
}

// EnsureIndexes creates the indexes.
func (t *Tree) EnsureIndexes(ctx context.Context) error {
	return t.prepared.Ensure(ctx, t.categories.Database(), t.Indexes())
}

// ready fails before the first use without the indexes: two categories could have one slug.
func (t *Tree) ready(ctx context.Context) error {
	return t.prepared.Check(ctx, t.categories.Database(), t.env.Logger, t.Indexes)
}

// ShardKeys returns how the categories are distributed over shards, if they are so many that it is
// worth it.
func (t *Tree) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: t.categories.Name(), Key: bson.D{{"_id", 1}}}}
}

// Shard distributes the categories over the shards of a cluster. A unique index of slugs cannot
// exist there: see the package's text.
func (t *Tree) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, t.categories.Database(), t.ShardKeys())
}
