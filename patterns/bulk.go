package patterns

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Upsert executes updates with upsert in any order. An update fails with a duplicate key if another
// process has just inserted its document. Upsert repeats such an update, which then updates that
// document. Each update must be limited to one document by a unique index. Its filter must match an
// existing document with the same key: otherwise Upsert would repeat the update for ever.
func Upsert(ctx context.Context, coll *mongo.Collection, models []mongo.WriteModel) error {
	for len(models) > 0 {
		_, err := coll.BulkWrite(ctx, models, options.BulkWrite().SetOrdered(false))
		if err == nil {
			return nil
		}
		failed := mongo.BulkWriteException{}
		if !errors.As(err, &failed) || failed.WriteConcernError != nil || len(failed.WriteErrors) == 0 {
			return fmt.Errorf("update %s: %w", coll.Name(), err)
		}
		again := make([]mongo.WriteModel, 0, len(failed.WriteErrors))
		for _, e := range failed.WriteErrors {
			if !mongo.IsDuplicateKeyError(e) {
				return fmt.Errorf("update %s: %w", coll.Name(), err)
			}
			again = append(again, models[e.Index])
		}
		models = again
	}
	return nil
}
