package slicecache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Errors of Latest.
var (
	// ErrNoParent is returned for a parent that does not exist.
	ErrNoParent = errors.New("slicecache: there is no such parent")
	// ErrNoItem is returned for an item that does not exist.
	ErrNoItem = errors.New("slicecache: there is no such item")
	// ErrBusy is returned if a parent changed during every attempt to replace its cache.
	ErrBusy = errors.New("slicecache: the parent changes all the time")
)

// DefaultMax is the default number of items that a parent shows.
const DefaultMax = 10

// LatestConfig configures Latest. The zero value works.
type LatestConfig[T any] struct {
	patterns.Env
	// Parents and Items are the names of the collections; "posts" and "comments" if empty.
	Parents, Items string
	// Field is the field of a parent that holds its latest items; "latest" if empty.
	Field string
	// Max is the number of items that a parent shows; DefaultMax if zero.
	Max int
	// Preallocate fills the cache with copies of Template before there are items, so that the size
	// of a parent hardly changes.
	Preallocate bool
	Template    T
}

// Item is an item of a parent.
type Item[T any] struct {
	// ID identifies the item: an item that is added again with the same ID is the same item.
	ID any `bson:"_id"`
	// At is the time by which items are ordered.
	At   time.Time `bson:"at"`
	Body T         `bson:"body"`
}

// stored is an item in the collection of items.
type stored[T any] struct {
	Item   Item[T] `bson:",inline"`
	Parent any     `bson:"parent"`
}

// Latest stores copies of the latest items of each parent in the parent's document. A collection of
// its own holds all items. It is safe for concurrent use.
type Latest[T any] struct {
	env            patterns.Env
	parents, items *mongo.Collection
	cfg            LatestConfig[T]
	rev            string // the field that counts changes of the cache
}

// NewLatest returns a Latest for the parents and items in db.
func NewLatest[T any](db *mongo.Database, cfg LatestConfig[T]) (*Latest[T], error) {
	if cfg.Max < 0 {
		return nil, fmt.Errorf("slicecache: %d items", cfg.Max)
	}
	if cfg.Max == 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Parents == "" {
		cfg.Parents = "posts"
	}
	if cfg.Items == "" {
		cfg.Items = "comments"
	}
	if cfg.Field == "" {
		cfg.Field = "latest"
	}
	return &Latest[T]{
		env: cfg.WithDefaults(), parents: db.Collection(cfg.Parents), items: db.Collection(cfg.Items),
		cfg: cfg, rev: cfg.Field + "Rev",
	}, nil
}

// order is the order of items in a cache: the oldest first.
var order = bson.D{{"at", 1}, {"_id", 1}}

// Add adds an item to a parent. It sets ID and At if they are empty. After an error the same item
// may be added again. Add returns ErrNoParent if the parent does not exist.
func (l *Latest[T]) Add(ctx context.Context, parent any, item *Item[T]) error {
	if item.ID == nil {
		item.ID = bson.NewObjectID()
	}
	if item.At.IsZero() {
		item.At = l.env.Now()
	}
	if _, err := l.items.InsertOne(ctx, stored[T]{*item, parent}); err != nil && !mongo.IsDuplicateKeyError(err) {
		return fmt.Errorf("slicecache: add an item to %v: %w", parent, err)
	}
	without := bson.D{{"_id", parent}, {l.cfg.Field + "._id", bson.D{{"$ne", item.ID}}}}
	push := bson.D{{"$each", bson.A{item}}, {"$sort", order}, {"$slice", -l.cfg.Max}}
	res, err := l.parents.UpdateOne(ctx, without, bson.D{
		{"$push", bson.D{{l.cfg.Field, push}}},
		{"$inc", bson.D{{l.rev, int64(1)}}},
	})
	if err != nil {
		return fmt.Errorf("slicecache: show an item in %v: %w", parent, err)
	}
	if res.MatchedCount > 0 {
		return nil
	}
	err = l.parents.FindOne(ctx, bson.D{{"_id", parent}}, options.FindOne().SetProjection(bson.D{{"_id", 1}})).Err()
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return err // nil: the parent already shows the item
	}
	if _, err := l.items.DeleteOne(ctx, bson.D{{"_id", item.ID}}); err != nil {
		return fmt.Errorf("slicecache: remove an item without a parent: %w", err)
	}
	return ErrNoParent
}

// Prepare fills the cache of a parent with templates, if the parent has no cache yet.
func (l *Latest[T]) Prepare(ctx context.Context, parent any) error {
	without := bson.D{{"_id", parent}, {l.cfg.Field, bson.D{{"$exists", false}}}}
	_, err := l.parents.UpdateOne(ctx, without, bson.D{
		{"$set", bson.D{{l.cfg.Field, l.padded(nil)}}},
		{"$inc", bson.D{{l.rev, int64(1)}}},
	})
	if err != nil {
		return fmt.Errorf("slicecache: prepare %v: %w", parent, err)
	}
	return nil
}

// padded prepends templates to items. Templates are older than all items, so they are dropped
// first.
func (l *Latest[T]) padded(items []Item[T]) []Item[T] {
	if !l.cfg.Preallocate {
		return append([]Item[T]{}, items...)
	}
	out := make([]Item[T], l.cfg.Max-len(items), l.cfg.Max)
	for i := range out {
		out[i] = Item[T]{At: time.UnixMilli(0).UTC(), Body: l.cfg.Template}
	}
	return append(out, items...)
}

// Show returns the latest items of a parent, the newest first.
func (l *Latest[T]) Show(ctx context.Context, parent any) ([]Item[T], error) {
	doc, err := l.read(ctx, parent)
	if err != nil {
		return nil, err
	}
	items := slices.DeleteFunc(doc.items, func(i Item[T]) bool { return i.ID == nil })
	slices.Reverse(items)
	return items, nil
}

// cache is the cache of a parent, and the number of its changes.
type cache[T any] struct {
	items []Item[T]
	rev   int64
}

func (l *Latest[T]) read(ctx context.Context, parent any) (c cache[T], err error) {
	fields := options.FindOne().SetProjection(bson.D{{l.cfg.Field, 1}, {l.rev, 1}})
	var doc bson.Raw
	err = l.parents.FindOne(ctx, bson.D{{"_id", parent}}, fields).Decode(&doc)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return c, ErrNoParent
	}
	if err != nil {
		return c, fmt.Errorf("slicecache: read %v: %w", parent, err)
	}
	c.rev, _ = doc.Lookup(l.rev).AsInt64OK()
	if v, err := doc.LookupErr(l.cfg.Field); err == nil {
		if err := v.Unmarshal(&c.items); err != nil {
			return c, fmt.Errorf("slicecache: decode the items of %v: %w", parent, err)
		}
	}
	return c, nil
}

// newest returns the items that a parent should show, the oldest first.
func (l *Latest[T]) newest(ctx context.Context, parent any) ([]Item[T], error) {
	opts := options.Find().SetSort(bson.D{{"at", -1}, {"_id", -1}}).SetLimit(int64(l.cfg.Max)).
		SetProjection(bson.D{{"parent", 0}})
	found, err := l.items.Find(ctx, bson.D{{"parent", parent}}, opts)
	if err != nil {
		return nil, fmt.Errorf("slicecache: find the items of %v: %w", parent, err)
	}
	var items []Item[T]
	if err := found.All(ctx, &items); err != nil {
		return nil, fmt.Errorf("slicecache: find the items of %v: %w", parent, err)
	}
	slices.Reverse(items)
	return items, nil
}

// rebuildTries is the number of attempts of Rebuild.
const rebuildTries = 100

// Rebuild builds the cache of a parent again from all its items. It may run at any time: if the
// cache changes meanwhile, Rebuild starts again.
func (l *Latest[T]) Rebuild(ctx context.Context, parent any) error {
	for range rebuildTries {
		before, err := l.read(ctx, parent)
		if err != nil {
			return err
		}
		items, err := l.newest(ctx, parent)
		if err != nil {
			return err
		}
		same := bson.D{{"_id", parent}, {l.rev, before.rev}}
		if before.rev == 0 { // the parent has no cache, or the cache was never changed
			same[1].Value = bson.D{{"$in", bson.A{nil, 0}}}
		}
		res, err := l.parents.UpdateOne(ctx, same, bson.D{{"$set", bson.D{
			{l.cfg.Field, l.padded(items)}, {l.rev, before.rev + 1},
		}}})
		if err != nil {
			return fmt.Errorf("slicecache: rebuild %v: %w", parent, err)
		}
		if res.MatchedCount > 0 {
			return nil
		}
	}
	return ErrBusy
}

// Edit changes the body of an item, and rebuilds the cache of its parent.
func (l *Latest[T]) Edit(ctx context.Context, id any, body T) error {
	set := bson.D{{"$set", bson.D{{"body", body}}}}
	return l.rebuilt(ctx, l.items.FindOneAndUpdate(ctx, bson.D{{"_id", id}}, set,
		options.FindOneAndUpdate().SetProjection(parentOnly)))
}

// Delete removes an item. The cache of its parent then shows the next older item.
func (l *Latest[T]) Delete(ctx context.Context, id any) error {
	return l.rebuilt(ctx, l.items.FindOneAndDelete(ctx, bson.D{{"_id", id}},
		options.FindOneAndDelete().SetProjection(parentOnly)))
}

var parentOnly = bson.D{{"parent", 1}}

// rebuilt rebuilds the cache of the parent of a changed item.
func (l *Latest[T]) rebuilt(ctx context.Context, changed *mongo.SingleResult) error {
	var item struct {
		Parent any `bson:"parent"`
	}
	err := changed.Decode(&item)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrNoItem
	}
	if err != nil {
		return fmt.Errorf("slicecache: change an item: %w", err)
	}
	if err := l.Rebuild(ctx, item.Parent); !errors.Is(err, ErrNoParent) {
		return err
	}
	return nil // the parent was removed meanwhile
}
