package patterns

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// ErrNotSharded is returned by Shard if the server is not a router of a sharded cluster.
var ErrNotSharded = errors.New("patterns: the server is not a mongos: there is nothing to distribute over")

// Shard shards the collections of a pattern in the cluster of db. It does not change a collection
// that is sharded by the same key.
func Shard(ctx context.Context, db *mongo.Database, keys []ShardKey) error {
	sharded, err := isRouter(ctx, db)
	if err != nil {
		return err
	}
	if !sharded {
		return ErrNotSharded
	}
	admin := db.Client().Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{"enableSharding", db.Name()}}).Err(); err != nil {
		return fmt.Errorf("enable sharding of %s: %w", db.Name(), err)
	}
	for _, k := range keys {
		ns := db.Name() + "." + k.Collection
		cmd := bson.D{{"shardCollection", ns}, {"key", k.Key}, {"unique", k.Unique}}
		if err := admin.RunCommand(ctx, cmd).Err(); err != nil {
			return fmt.Errorf("shard %s by %v: %w", ns, k.Key, err)
		}
	}
	return nil
}

// isRouter reports whether the server is a mongos: a mongos answers with "isdbgrid".
func isRouter(ctx context.Context, db *mongo.Database) (bool, error) {
	var hello struct {
		Msg string `bson:"msg"`
	}
	if err := db.RunCommand(ctx, bson.D{{"hello", 1}}).Decode(&hello); err != nil {
		return false, fmt.Errorf("ask the server what it is: %w", err)
	}
	return hello.Msg == "isdbgrid", nil
}
