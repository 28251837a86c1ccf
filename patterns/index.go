package patterns

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Index is an index that a pattern needs.
type Index struct {
	Collection string
	Model      mongo.IndexModel
}

// EnsureIndexes creates the missing indexes in the given order. It fails if an index exists with
// other options.
func EnsureIndexes(ctx context.Context, db *mongo.Database, indexes []Index) error {
	for _, ix := range indexes {
		if _, err := db.Collection(ix.Collection).Indexes().CreateOne(ctx, ix.Model); err != nil {
			return fmt.Errorf("create the index %v of %s.%s: %w", ix.Model.Keys, db.Name(), ix.Collection, err)
		}
	}
	return nil
}

// ShardKey is the recommended shard key of a collection.
type ShardKey struct {
	Collection string
	Key        bson.D
	// Unique asks for a unique shard key. A hashed key cannot be unique.
	Unique bool
}
