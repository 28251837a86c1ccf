package catalog

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/schema"
)

// Errors of catalogues.
var (
	ErrNotFound = errors.New("catalog: there is no such product")
	ErrExists   = errors.New("catalog: there is a product with that SKU")
	// ErrConflict is returned by Save if the product was changed or deleted since it was read.
	ErrConflict = errors.New("catalog: the product has been changed since it was read")
	// ErrType is returned if a product has another type than the program's details, or a type that
	// was not declared.
	ErrType = errors.New("catalog: the product is of another type")
	// ErrPrice is returned for a negative price, and for a retail price above the list price.
	ErrPrice = errors.New("catalog: a price is from zero to the list price")
	// ErrNoText is returned for a search with Query.Text if there is no text index.
	ErrNoText = errors.New("catalog: there is no text index")
)

// The defaults of a Config.
const (
	DefaultCollection = "products"
	DefaultRules      = "price_rules"
	DefaultLimit      = 50
	DefaultCounts     = 20
)

// Details are the fields that products of one type have and other products do not have. A program
// implements Details for a struct, with value receivers.
type Details interface {
	// Type returns the name of the type: "Film".
	Type() string
	// Validate returns an error if the details are not valid.
	Validate() error
}

// Any holds the details of products of any type, for programs that display products without knowing
// their types. A program can read products with these details, but not save them.
type Any bson.D

// Type implements Details.
func (Any) Type() string { return "" }

// Validate implements Details.
func (Any) Validate() error { return ErrType }

// Type is a declared type of products.
type Type struct {
	name     string
	sort     string
	facets   []string
	validate func(details bson.RawValue) error
}

// TypeOf declares the type of D. Searches return its products in descending order of sort, if sort
// is not empty. The facets are the fields by which its products can be searched. The sort field and
// the facets are paths: "details.issue_date", "details.genre".
func TypeOf[D Details](sort string, facets ...string) Type {
	var zero D
	return Type{name: zero.Type(), sort: sort, facets: facets, validate: func(v bson.RawValue) error {
		var d D
		if err := v.Unmarshal(&d); err != nil {
			return err
		}
		return d.Validate()
	}}
}

// Config configures a Catalog. The zero value works, for products of any type without facets.
type Config struct {
	patterns.Env
	// Collection is the collection of the products; DefaultCollection if empty. Rules is the
	// collection of the price rules; DefaultRules if empty.
	Collection, Rules string
	// Types lists the types of the products. If it is not empty, the catalogue refuses other types.
	Types []Type
	// Text maps the fields of the text index to their weights. If nil, the title has weight 10 and
	// the description has weight 1.
	Text map[string]int
	// Steps bring products of older versions to the current version: see package schema.
	Steps []schema.Step
}

// Catalog is a catalogue of products. It is safe for concurrent use.
type Catalog struct {
	env      patterns.Env
	cfg      Config
	types    map[string]Type
	products *mongo.Collection
	rules    *mongo.Collection
	schema   *schema.Schema
}

// New returns a catalogue that stores its products in db.
func New(db *mongo.Database, cfg Config) (*Catalog, error) {
	cfg.Env = cfg.WithDefaults()
	if cfg.Collection == "" {
		cfg.Collection = DefaultCollection
	}
	if cfg.Rules == "" {
		cfg.Rules = DefaultRules
	}
	if cfg.Text == nil {
		cfg.Text = map[string]int{"title": 10, "description": 1}
	}
	types := map[string]Type{}
	for _, t := range cfg.Types {
		if _, twice := types[t.name]; twice || t.name == "" || t.validate == nil {
			return nil, fmt.Errorf("catalog: the type %q has no name, or there are two", t.name)
		}
		types[t.name] = t
	}
	s, err := schema.New(db, schema.Config{Env: cfg.Env, Collection: cfg.Collection, Steps: cfg.Steps})
	if err != nil {
		return nil, err
	}
	return &Catalog{
		env: cfg.Env, cfg: cfg, types: types, products: db.Collection(cfg.Collection),
		rules: db.Collection(cfg.Rules), schema: s,
	}, nil
}

// Schema returns the schema of the products. It migrates products of older versions.
func (c *Catalog) Schema() *schema.Schema { return c.schema }

// known returns ErrType for a type that was not declared.
func (c *Catalog) known(name string) error {
	if _, ok := c.types[name]; name == "" || !ok && len(c.types) > 0 {
		return fmt.Errorf("%w: %q", ErrType, name)
	}
	return nil
}

// Indexes returns the indexes for the queries of the declared types. The text index, if there is
// one, is the last.
func (c *Catalog) Indexes() []patterns.Index {
	var keys []bson.D
	for _, t := range c.cfg.Types {
		order := bson.D{}
		if t.sort != "" {
			order = bson.D{{t.sort, -1}}
			// The title is last, so that a search for a part of a title compares titles in the
			// index, in the order of the search.
			keys = append(keys, bson.D{{"type", 1}, {t.sort, -1}, {"title", 1}})
		}
		for _, f := range t.facets {
			keys = append(keys, append(bson.D{{"type", 1}, {f, 1}}, order...))
		}
	}
	keys = append(keys,
		bson.D{{"type", 1}, {"title", 1}},
		bson.D{{"type", 1}, {"pricing.pct_savings", 1}},
		bson.D{{"pricing.pct_savings", 1}})
	out := c.schema.Indexes()
	seen := map[string]bool{}
	for _, k := range keys {
		if name := fmt.Sprint(k); !seen[name] { // two types may share a field
			seen[name] = true
			out = append(out, patterns.Index{Collection: c.products.Name(), Model: mongo.IndexModel{Keys: k}})
		}
	}
	out = append(out, patterns.Index{Collection: c.rules.Name(), Model: mongo.IndexModel{Keys: bson.D{{"until", 1}}}})
	if len(c.cfg.Text) > 0 {
		fields := bson.D{}
		for _, f := range sortedKeys(c.cfg.Text) {
			fields = append(fields, bson.E{f, "text"})
		}
		model := mongo.IndexModel{Keys: fields, Options: options.Index().SetName("text").SetWeights(c.cfg.Text)}
		out = append(out, patterns.Index{Collection: c.products.Name(), Model: model})
	}
	return out
}

// These are error codes of the server.
const (
	codeIndexNotFound   = 27
	codeOptionsConflict = 85
	codeKeySpecs        = 86
)

// EnsureIndexes creates the indexes. If the server does not support text indexes, it logs a
// warning; searches with Query.Text then fail with ErrNoText.
func (c *Catalog) EnsureIndexes(ctx context.Context) error {
	all := c.Indexes()
	if len(c.cfg.Text) == 0 {
		return patterns.EnsureIndexes(ctx, c.products.Database(), all)
	}
	if err := patterns.EnsureIndexes(ctx, c.products.Database(), all[:len(all)-1]); err != nil {
		return err
	}
	err := patterns.EnsureIndexes(ctx, c.products.Database(), all[len(all)-1:])
	var refused mongo.ServerError
	if errors.As(err, &refused) && !refused.HasErrorCode(codeOptionsConflict) && !refused.HasErrorCode(codeKeySpecs) &&
		!refused.HasErrorLabel("RetryableWriteError") {
		c.env.Logger.Warn("there is no text index", "collection", c.products.Name(), "error", err)
		return nil
	}
	return err
}

// ShardKeys returns the shard key of the products.
func (c *Catalog) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: c.products.Name(), Key: bson.D{{"type", 1}, {"_id", 1}}}}
}

// Shard shards the products by the key of ShardKeys.
func (c *Catalog) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, c.products.Database(), c.ShardKeys())
}
