package relation

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// BucketConfig configures Bucketed. The zero value works.
type BucketConfig struct {
	patterns.Env
	// Collection is the collection of the buckets; "buckets" if empty.
	Collection string
	// Size is the number of items in a full bucket; DefaultSize if zero.
	Size int
}

// DefaultSize is the default of BucketConfig.Size.
const DefaultSize = 50

// Bucketed stores the many children of one-to-many in documents of one page each. It is safe for
// concurrent use.
type Bucketed struct {
	env  patterns.Env
	coll *mongo.Collection
	size int
}

// NewBuckets returns a Bucketed that stores its documents in db.
func NewBuckets(db *mongo.Database, cfg BucketConfig) (*Bucketed, error) {
	if cfg.Collection == "" {
		cfg.Collection = "buckets"
	}
	if cfg.Size == 0 {
		cfg.Size = DefaultSize
	}
	if cfg.Size < 0 {
		return nil, fmt.Errorf("relation: buckets of %d", cfg.Size)
	}
	return &Bucketed{env: cfg.WithDefaults(), coll: db.Collection(cfg.Collection), size: cfg.Size}, nil
}

// Indexes returns the indexes that buckets need.
func (b *Bucketed) Indexes() []patterns.Index {
	return []patterns.Index{{
		Collection: b.coll.Name(),
		Model:      mongo.IndexModel{Keys: bson.D{{"owner", 1}, {"page", -1}}},
	}}
}

// EnsureIndexes creates the missing indexes.
func (b *Bucketed) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, b.coll.Database(), b.Indexes())
}

// ShardKeys returns the shard key of the buckets.
func (b *Bucketed) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: b.coll.Name(), Key: bson.D{{"owner", 1}, {"page", 1}}}}
}

// Shard shards the buckets by the key of ShardKeys.
func (b *Bucketed) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, b.coll.Database(), b.ShardKeys())
}

// bucket holds the fields of a bucket that Add and Check read.
type bucket struct {
	Owner bson.RawValue   `bson:"owner"`
	Page  int64           `bson:"page"`
	Count int             `bson:"count"`
	Items []bson.RawValue `bson:"items"`
}

// at returns the condition that selects a bucket.
func at(owner any, page int64) bson.D {
	return bson.D{
		{"_id", bson.D{{"owner", owner}, {"page", page}}},
		{"owner", owner},
		{"page", page},
	}
}

// Add adds an item to the last page of an owner, or to a new page if the last one is full. It
// returns the number of the page.
func (b *Bucketed) Add(ctx context.Context, owner, item any) (page int64, err error) {
	last, err := b.last(ctx, owner)
	if err != nil {
		return 0, err
	}
	page = max(last.Page, 1)
	if last.Count >= b.size {
		page++
	}
	add := bson.D{
		{"$push", bson.D{{"items", item}}},
		{"$inc", bson.D{{"count", 1}}},
	}
	for first := true; ; {
		free := append(at(owner, page), bson.E{"count", bson.D{{"$lt", b.size}}})
		_, err := b.coll.UpdateOne(ctx, free, add, options.UpdateOne().SetUpsert(true))
		switch {
		case err == nil:
			return page, nil
		case !mongo.IsDuplicateKeyError(err):
			return 0, wrap(err, "add to a bucket")
		case first: // the page is full, or another process has just created it
			first = false
		default:
			page, first = page+1, true
		}
	}
}

func (b *Bucketed) last(ctx context.Context, owner any) (*bucket, error) {
	opts := options.FindOne().SetSort(bson.D{{"page", -1}}).SetProjection(bson.D{{"items", 0}})
	last := &bucket{}
	err := b.coll.FindOne(ctx, bson.D{{"owner", owner}}, opts).Decode(last)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return last, nil
	}
	return last, wrap(err, "read the last bucket")
}

// Count returns the number of items of an owner.
func (b *Bucketed) Count(ctx context.Context, owner any) (int64, error) {
	last, err := b.last(ctx, owner)
	return max(last.Page-1, 0)*int64(b.size) + int64(last.Count), err
}

// Page decodes the items of a page into items, which must be a pointer to a slice. Pages begin at
// 1. Page returns ErrNotFound if the page does not exist.
func (b *Bucketed) Page(ctx context.Context, owner any, page int64, items any) error {
	raw, err := b.coll.FindOne(ctx, at(owner, page)).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrNotFound
	}
	if err != nil {
		return wrap(err, "read a bucket")
	}
	return wrap(raw.Lookup("items").Unmarshal(items), "decode items")
}

// Check reads all buckets in the order of the index, and lists the violations of the rules.
func (b *Bucketed) Check(ctx context.Context) (out []patterns.Violation, err error) {
	found, err := b.coll.Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{"owner", 1}, {"page", -1}}))
	if err != nil {
		return nil, wrap(err, "check the buckets")
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	next := bucket{}
	for found.Next(ctx) {
		now := bucket{}
		if err := found.Decode(&now); err != nil {
			return nil, wrap(err, "check the buckets")
		}
		id := found.Current.Lookup("_id").String()
		if now.Count != len(now.Items) || now.Count > b.size || now.Count == 0 {
			out = append(out, patterns.Violation{
				Rule: RuleCount, Collection: b.coll.Name(), ID: id,
				Detail: fmt.Sprintf("count %d, %d items", now.Count, len(now.Items)),
			})
		}
		last := next.Page == 0 || !now.Owner.Equal(next.Owner)
		if last && next.Page > 1 {
			out = append(out, b.gap(next))
		}
		if !last && (next.Page != now.Page+1 || now.Count < b.size) {
			out = append(out, b.gap(now))
		}
		next = now
	}
	if next.Page > 1 {
		out = append(out, b.gap(next))
	}
	return out, wrap(found.Err(), "check the buckets")
}

func (b *Bucketed) gap(at bucket) patterns.Violation {
	return patterns.Violation{
		Rule: RulePages, Collection: b.coll.Name(), ID: at.Owner.String(),
		Detail: fmt.Sprintf("page %d has %d items", at.Page, at.Count),
	}
}
