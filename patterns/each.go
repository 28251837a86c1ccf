package patterns

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Each calls fn with each document that matches a filter. If fn returns an error, Each stops and
// returns the error. fn may keep the document.
func Each[T any](ctx context.Context, coll *mongo.Collection, filter any, fn func(*T) error,
	opts ...options.Lister[options.FindOptions],
) error {
	found, err := coll.Find(ctx, filter, opts...)
	if err != nil {
		return fmt.Errorf("read %s: %w", coll.Name(), err)
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	for found.Next(ctx) {
		doc := new(T)
		if err := found.Decode(doc); err != nil {
			return fmt.Errorf("read %s: %w", coll.Name(), err)
		}
		if err := fn(doc); err != nil {
			return err
		}
	}
	if err := found.Err(); err != nil {
		return fmt.Errorf("read %s: %w", coll.Name(), err)
	}
	return nil
}

// EachOf calls fn with each document of a collection. fn may keep the document.
func EachOf[T any](ctx context.Context, coll *mongo.Collection, fn func(*T)) error {
	return Each(ctx, coll, bson.D{}, func(doc *T) error {
		fn(doc)
		return nil
	})
}
