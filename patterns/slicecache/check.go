package slicecache

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Latest.Check lists.
const (
	RuleSize   = "a parent shows no more than so many items"
	RuleLatest = "a parent shows its latest items"
	RuleParent = "an item has a parent"
)

// Check reads all parents and the latest items of each, and lists the violations of the rules.
// While items are being added, it also lists parents that do not show an item yet.
func (l *Latest[T]) Check(ctx context.Context) (out []patterns.Violation, err error) {
	err = l.wrong(ctx, func(parent bson.RawValue, shown, latest int, rule string) error {
		detail := fmt.Sprintf("%d items are shown; %d are the latest", shown, latest)
		out = append(out, patterns.Violation{Rule: rule, Collection: l.parents.Name(), ID: parent, Detail: detail})
		return nil
	})
	if err != nil {
		return nil, err
	}
	orphans, err := l.orphans(ctx)
	for _, o := range orphans {
		out = append(out, patterns.Violation{
			Rule: RuleParent, Collection: l.items.Name(), ID: o.ID,
			Detail: fmt.Sprintf("%v does not exist", o.Parent),
		})
	}
	return out, err
}

// Repair rebuilds caches that do not show the latest items, and removes items whose parents do not
// exist: a process that died may have left them. It returns the number of corrections. It may run
// at any time, and reads as much as Check.
func (l *Latest[T]) Repair(ctx context.Context) (n int, err error) {
	err = l.wrong(ctx, func(parent bson.RawValue, _, _ int, _ string) error {
		n++
		return l.Rebuild(ctx, parent)
	})
	if err != nil {
		return n, err
	}
	orphans, err := l.orphans(ctx)
	if err != nil {
		return n, err
	}
	for _, o := range orphans {
		if _, err := l.items.DeleteOne(ctx, bson.D{{"_id", o.ID}}); err != nil {
			return n, fmt.Errorf("slicecache: remove an item without a parent: %w", err)
		}
		n++
	}
	if n > 0 {
		l.env.Logger.Info("caches of latest items were mended", "count", n)
	}
	return n, nil
}

// wrong calls f for each parent whose cache does not have the latest items.
func (l *Latest[T]) wrong(ctx context.Context,
	f func(parent bson.RawValue, shown, latest int, rule string) error,
) error {
	newest := mongo.Pipeline{
		{{"$match", bson.D{{"$expr", bson.D{{"$eq", bson.A{"$parent", "$$parent"}}}}}}},
		{{"$sort", bson.D{{"at", -1}, {"_id", -1}}}},
		{{"$limit", l.cfg.Max}},
		{{"$sort", order}},
		{{"$project", bson.D{{"parent", 0}}}},
	}
	shown := bson.D{{"$ifNull", bson.A{"$" + l.cfg.Field, bson.A{}}}}
	items := bson.D{{"$filter", bson.D{ // the items of the cache that are not templates
		{"input", "$shown"}, {"cond", bson.D{{"$ne", bson.A{"$$this._id", nil}}}},
	}}}
	tooMany := bson.D{{"$gt", bson.A{bson.D{{"$size", "$shown"}}, l.cfg.Max}}}
	found, err := l.parents.Aggregate(ctx, mongo.Pipeline{
		{{"$project", bson.D{{"shown", shown}}}},
		{{"$lookup", bson.D{
			{"from", l.items.Name()},
			{"let", bson.D{{"parent", "$_id"}}},
			{"pipeline", newest},
			{"as", "latest"},
		}}},
		{{"$match", bson.D{{"$expr", bson.D{{"$or", bson.A{
			tooMany, bson.D{{"$ne", bson.A{items, "$latest"}}},
		}}}}}}},
		{{"$project", bson.D{
			{"shown", bson.D{{"$size", items}}},
			{"latest", bson.D{{"$size", "$latest"}}},
			{"tooMany", tooMany},
		}}},
	})
	if err != nil {
		return fmt.Errorf("slicecache: compare caches with items: %w", err)
	}
	var docs []struct {
		ID            bson.RawValue `bson:"_id"`
		Shown, Latest int
		TooMany       bool `bson:"tooMany"`
	}
	if err := found.All(ctx, &docs); err != nil {
		return fmt.Errorf("slicecache: compare caches with items: %w", err)
	}
	for _, doc := range docs {
		rule := RuleLatest
		if doc.TooMany {
			rule = RuleSize
		}
		if err := f(doc.ID, doc.Shown, doc.Latest, rule); err != nil {
			return err
		}
	}
	return nil
}

// orphan is an item without a parent.
type orphan struct {
	ID     bson.RawValue `bson:"_id"`
	Parent bson.RawValue `bson:"parent"`
}

func (l *Latest[T]) orphans(ctx context.Context) (out []orphan, err error) {
	found, err := l.items.Aggregate(ctx, mongo.Pipeline{
		{{"$project", bson.D{{"parent", 1}}}},
		{{"$lookup", bson.D{
			{"from", l.parents.Name()}, {"localField", "parent"}, {"foreignField", "_id"}, {"as", "found"},
		}}},
		{{"$match", bson.D{{"found", bson.D{{"$size", 0}}}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("slicecache: find items without parents: %w", err)
	}
	if err := found.All(ctx, &out); err != nil {
		return nil, fmt.Errorf("slicecache: find items without parents: %w", err)
	}
	return out, nil
}

// Indexes returns the index by which the items of a parent are found. Parents need no index.
func (l *Latest[T]) Indexes() []patterns.Index {
	keys := bson.D{{"parent", 1}, {"at", 1}, {"_id", 1}}
	return []patterns.Index{{Collection: l.items.Name(), Model: mongo.IndexModel{Keys: keys}}}
}

// EnsureIndexes creates the index.
func (l *Latest[T]) EnsureIndexes(ctx context.Context) error {
	return patterns.EnsureIndexes(ctx, l.items.Database(), l.Indexes())
}

// ShardKeys returns the shard key of the items. The application chooses the shard key of the
// parents.
func (l *Latest[T]) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: l.items.Name(), Key: bson.D{{"parent", 1}, {"_id", 1}}}}
}

// Shard shards the items by the key of ShardKeys.
func (l *Latest[T]) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, l.items.Database(), l.ShardKeys())
}
