package patterns

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Upsert executes updates with upsert in any order. An update fails if another process has just
// made its document; Upsert repeats it, and it updates that document then. A unique index must
// limit each update to one document. An update with conditions that an existing document does not
// meet would be repeated for ever.
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
