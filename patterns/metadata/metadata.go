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

// Errors of the package.
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

// Design selects how attributes are stored.
type Design int

// These are the values of Config.Design.
const (
	// Array stores an array of keys and values, with one compound index.
	Array Design = iota
	// Wildcard stores a document whose fields are the keys, with a wildcard index.
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
	// Collection is the collection of the documents, which the application owns; DefaultCollection
	// if empty.
	Collection string
	// Field is the field that holds the attributes; DefaultField if empty. The package changes no
	// other field.
	Field string
	// Owner is the field by which the documents are sharded, for example the user that owns a
	// document; "_id" if empty.
	Owner string
	// Limit is the largest number of attributes in a document; DefaultLimit if zero.
	Limit int
}

// Attribute is a key with its value. The value may have any type; only the design Array allows
// arrays.
type Attribute struct {
	Key   string `bson:"key"`
	Value any    `bson:"value"`
}

// Store stores attributes in the documents of a collection. It is safe for concurrent use.
type Store struct {
	env    patterns.Env
	cfg    Config
	coll   *mongo.Collection
	design design
}

// New returns a Store for a collection in db.
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

// design holds the operations that differ between the designs. Callers check a key with checkKey
// before they pass it to another method.
type design interface {
	checkKey(key string) error
	checkValue(v any) error
	// set returns the update pipeline that sets the value of a key.
	set(key string, value any) mongo.Pipeline
	unset(key string) bson.D
	// size returns the expression for the number of attributes in a document. has returns the
	// expression for whether the document has the key.
	size() bson.D
	has(key string) bson.D
	attributes(doc bson.Raw) ([]Attribute, error)
	// where returns the filter for a condition.
	where(c Condition) bson.D
	// entries returns the expression for the attributes as an array of documents with the fields
	// "k" and "v".
	entries() any
	index() mongo.IndexModel
}

// Set sets the value of a key in a document, and replaces all earlier values of the key. It returns
// ErrNotFound if the document does not exist, and ErrTooMany if it has Config.Limit attributes.
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

// Unset removes a key from a document. It is not an error if the document does not have the key.
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

// Get returns the attributes of a document, in the order in which they were first set.
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

// Filter returns a filter for the documents that satisfy all conditions. Combine it with conditions
// on other fields. If the documents are sharded, add a condition on the owner.
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

// Find returns the documents that satisfy all conditions.
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

// Facets returns, for each of the keys, the values in the documents that satisfy all conditions,
// with their counts. It returns at most limit values of each key, the most frequent ones first.
// Shops show such counts beside search results.
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

// Indexes returns the index of the attributes.
func (s *Store) Indexes() []patterns.Index {
	return []patterns.Index{{Collection: s.coll.Name(), Model: s.design.index()}}
}

// EnsureIndexes creates the indexes.
func (s *Store) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes())
}

// ShardKeys returns the shard key of the documents: the owner, never an attribute.
func (s *Store) ShardKeys() []patterns.ShardKey {
	key := bson.D{{s.cfg.Owner, 1}}
	if s.cfg.Owner != "_id" {
		key = append(key, bson.E{"_id", 1})
	}
	return []patterns.ShardKey{{Collection: s.coll.Name(), Key: key}}
}

// Shard shards the documents by the key of ShardKeys.
func (s *Store) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}

func checkFieldName(key string) error {
	if key == "" || strings.HasPrefix(key, "$") || strings.Contains(key, ".") || strings.Contains(key, "\x00") {
		return fmt.Errorf("%w: %q", ErrBadKey, key)
	}
	return nil
}
