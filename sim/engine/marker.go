package engine

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// MarkerCollection is the collection that marks a database as the simulator's.
const MarkerCollection = "sheaf_simulator"

// ErrNotOurs is returned if a database is not the simulator's, so it must not be emptied.
var ErrNotOurs = errors.New("sim: the database holds data that is not the simulator's")

// claim empties and marks a database. It refuses a database with other data, unless force is set.
func claim(ctx context.Context, db *mongo.Database, force bool) error {
	names, err := db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return fmt.Errorf("sim: look into the database %s: %w", db.Name(), err)
	}
	if len(names) > 0 && !force {
		err := db.Collection(MarkerCollection).FindOne(ctx, bson.D{{"_id", "marker"}}).Err()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return fmt.Errorf("%w: %s; choose another name, or use --force to delete its content", ErrNotOurs, db.Name())
		}
		if err != nil {
			return fmt.Errorf("sim: look for the marker of %s: %w", db.Name(), err)
		}
	}
	if err := db.Drop(ctx); err != nil {
		return fmt.Errorf("sim: empty the database %s: %w", db.Name(), err)
	}
	marker := bson.D{{"_id", "marker"}, {"about", "This database belongs to the workload simulator, which empties it."}}
	if _, err := db.Collection(MarkerCollection).InsertOne(ctx, marker); err != nil {
		return fmt.Errorf("sim: mark the database %s: %w", db.Name(), err)
	}
	return nil
}
