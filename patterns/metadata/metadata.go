package metadata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of metadata.
var (
	ErrNotFound = errors.New("metadata: there is no such document")
	ErrBadKey   = errors.New("metadata: a key cannot be empty, nor with the design Wildcard begin with a dollar sign or contain a dot")
	ErrBadValue = errors.New("metadata: with the design Wildcard a value cannot be an array")
	ErrTooMany  = errors.New("metadata: the document has as many attributes as are allowed")
)

// The defaults of a Config.
const (
	DefaultCollection = "objects"
	DefaultField      = "metadata"
	DefaultLimit      = 1000
)

// Design is how attributes are stored.
type Design int

// The designs.
const (
	// Array stores an array of keys and values, under one compound index.
	Array Design = iota
	// Wildcard stores a document whose fields are the keys, under a wildcard index.
	Wildcard
)

// String returns the design's name.
func (d Design) String() string {
	if d == Wildcard {
		return "wildcard"
	}
	return "array"
}

// Config configures a Store. The zero value works.
type Config struct {
	patterns.Env
	// Design is Array by default.
	Design Design
	// Collection has the documents, which are the application's; DefaultCollection if empty.
	Collection string
	// Field is where their attributes are; DefaultField if empty. The rest of a document is not
	// touched.
	Field string
	// Owner names the field by which the documents are distributed over shards, if they ever are:
	// whose they are. "_id" if empty.
	Owner string
	// Limit is how many attributes a document may have; DefaultLimit if zero.
	Limit int
}

// Attribute is a key and its value, of any type but an array, which the design Array takes as well.
type Attribute struct {
	Key   string `bson:"key"`
	Value any    `bson:"value"`
}

// Store keeps attributes in the documents of a collection. It is safe for concurrent use.
type Store struct {
	env    patterns.Env
	cfg    Config
	coll   *mongo.Collection
	design design
}

// New returns the attributes of a collection.
func New(db *mongo.Database, cfg Config) (*Store, error) {
	if cfg.Design < Array || cfg.Design > Wildcard || cfg.Limit < 0 {
		return nil, fmt.Errorf("metadata: design %d, limit %d", cfg.Design, cfg.Limit)
	}
	cfg.Collection = cmp.Or(cfg.Collection, DefaultCollection)
	cfg.Field = cmp.Or(cfg.Field, DefaultField)
	cfg.Owner = cmp.Or(cfg.Owner, "_id")
	cfg.Limit = cmp.Or(cfg.Limit, DefaultLimit)
	cfg.Env = cfg.WithDefaults()
	s := &Store{env: cfg.Env, cfg: cfg, coll: db.Collection(cfg.Collection), design: array{cfg.Field}}
	if cfg.Design == Wildcard {
		s.design = wildcard{cfg.Field}
	}
	return s, nil
}

// design is what differs between the designs. The names of fields are checked.
type design interface {
	checkKey(key string) error
	checkValue(v any) error
	// set returns the pipeline of an update that gives a key one value.
	set(key string, value any) mongo.Pipeline
	unset(key string) bson.D
	// size is the expression of how many attributes a document has, and has that of whether it has
	// one.
	size() bson.D
	has(key string) bson.D
	attributes(doc bson.Raw) ([]Attribute, error)
	// where returns the predicate of a condition.
	where(c Condition) bson.D
	// entries is the expression of an array of documents with the fields "k" and "v".
	entries() any
	index() mongo.IndexModel
}

// Set gives a document one attribute of a key, in place of all of that key.
func (s *Store) Set(ctx context.Context, id any, key string, value any) error {
	if err := s.design.checkKey(key); err != nil {
		return err
	}
	if err := s.design.checkValue(value); err != nil {
		return err
	}
	room := bson.D{{"$expr", bson.D{{"$or", bson.A{
		bson.D{{"$lt", bson.A{s.design.size(), s.cfg.Limit}}}, s.design.has(key),
	}}}}}
	res, err := s.coll.UpdateOne(ctx, append(bson.D{{"_id", id}}, room...), s.design.set(key, value))
	if err != nil {
		return fmt.Errorf("metadata: set %s of %v: %w", key, id, err)
	}
	if res.MatchedCount > 0 {
		return nil
	}
	if _, err := s.Get(ctx, id); err != nil {
		return err
	}
	return fmt.Errorf("%w: %d", ErrTooMany, s.cfg.Limit)
}

// Unset takes a key away from a document. That it has none is no error.
func (s *Store) Unset(ctx context.Context, id any, key string) error {
	if err := s.design.checkKey(key); err != nil {
		return err
	}
	res, err := s.coll.UpdateOne(ctx, bson.D{{"_id", id}}, s.design.unset(key))
	if err != nil {
		return fmt.Errorf("metadata: unset %s of %v: %w", key, id, err)
	}
	if res.MatchedCount == 0 {
		return ErrNotFound
	}
	return nil
}

// Get returns the attributes of a document in the order in which they were first set.
func (s *Store) Get(ctx context.Context, id any) ([]Attribute, error) {
	doc, err := s.coll.FindOne(ctx, bson.D{{"_id", id}},
		options.FindOne().SetProjection(bson.D{{s.cfg.Field, 1}})).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("metadata: get %v: %w", id, err)
	}
	return s.design.attributes(doc)
}

// Filter returns the filter of the documents that meet all conditions, to be used with conditions
// on other fields. An application whose documents are sharded adds the owner.
func (s *Store) Filter(conditions ...Condition) (bson.D, error) {
	all := make(bson.A, len(conditions))
	for i, c := range conditions {
		if err := s.design.checkKey(c.key); err != nil {
			return nil, err
		}
		all[i] = s.design.where(c)
	}
	switch len(all) {
	case 0:
		return bson.D{}, nil
	case 1:
		return s.design.where(conditions[0]), nil
	default:
		return bson.D{{"$and", all}}, nil
	}
}

// Find returns the documents that meet all conditions.
func (s *Store) Find(ctx context.Context, conditions ...Condition) (*mongo.Cursor, error) {
	filter, err := s.Filter(conditions...)
	if err != nil {
		return nil, err
	}
	cur, err := s.coll.Find(ctx, filter)
	if err != nil {
		return nil, fmt.Errorf("metadata: find: %w", err)
	}
	return cur, nil
}

// Facet is a value of a key with the number of documents that have it.
type Facet struct {
	Value any   `bson:"value"`
	Count int64 `bson:"count"`
}

// Facets returns for each of the keys the values that documents have which meet all conditions, the
// most frequent ones first, at most limit of each key. It is what stands beside the results of a
// search.
func (s *Store) Facets(ctx context.Context, keys []string, limit int,
	conditions ...Condition,
) (map[string][]Facet, error) {
	filter, err := s.Filter(conditions...)
	if err != nil {
		return nil, err
	}
	cur, err := s.coll.Aggregate(ctx, mongo.Pipeline{
		{{"$match", filter}},
		{{"$project", bson.D{{"_id", 0}, {"e", s.design.entries()}}}},
		{{"$unwind", "$e"}},
		{{"$match", bson.D{{"e.k", bson.D{{"$in", keys}}}}}},
		{{"$group", bson.D{{"_id", "$e"}, {"n", bson.D{{"$sum", int64(1)}}}}}},
		{{"$sort", bson.D{{"n", -1}, {"_id.v", 1}}}},
		{{"$group", bson.D{
			{"_id", "$_id.k"},
			{"all", bson.D{{"$push", bson.D{{"value", "$_id.v"}, {"count", "$n"}}}}},
		}}},
		{{"$set", bson.D{{"all", bson.D{{"$slice", bson.A{"$all", limit}}}}}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return nil, fmt.Errorf("metadata: facets: %w", err)
	}
	var rows []struct {
		Key string  `bson:"_id"`
		All []Facet `bson:"all"`
	}
	if err := cur.All(ctx, &rows); err != nil {
		return nil, fmt.Errorf("metadata: facets: %w", err)
	}
	out := make(map[string][]Facet, len(rows))
	for _, row := range rows {
		out[row.Key] = row.All
	}
	return out, nil
}

// Indexes returns what the attributes need.
func (s *Store) Indexes() []patterns.Index {
	return []patterns.Index{{Collection: s.coll.Name(), Model: s.design.index()}}
}

// EnsureIndexes creates the indexes.
func (s *Store) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes())
}

// ShardKeys returns how the documents are distributed over shards: by their owner, never by an
// attribute.
func (s *Store) ShardKeys() []patterns.ShardKey {
	key := bson.D{{s.cfg.Owner, 1}}
	if s.cfg.Owner != "_id" {
		key = append(key, bson.E{"_id", 1})
	}
	return []patterns.ShardKey{{Collection: s.coll.Name(), Key: key}}
}

// Shard distributes the documents over the shards of a cluster.
func (s *Store) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}

func checkFieldName(key string) error {
	if key == "" || strings.HasPrefix(key, "$") || strings.Contains(key, ".") || strings.Contains(key, "\x00") {
		return fmt.Errorf("%w: %q", ErrBadKey, key)
	}
	return nil
}
