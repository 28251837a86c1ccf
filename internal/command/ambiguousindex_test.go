package command_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/sheaftest"
)

// TestDropIndexesByAmbiguousKey has several indexes with one key pattern: the error counts them and shows the first two.
func TestDropIndexesByAmbiguousKey(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	key := bson.D{{Key: "a", Value: 1}}
	indexes := bson.A{}
	for i, option := range []bson.E{{Key: "sparse", Value: false}, {Key: "sparse", Value: true}, {Key: "collation", Value: bson.M{"locale": "fr"}}} {
		indexes = append(indexes, bson.D{{Key: "key", Value: key}, {Key: "name", Value: fmt.Sprint("i", i)}, option})
	}
	mustRun(t, db.Collection("c"), bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: indexes}})
	drop := bson.D{{Key: "dropIndexes", Value: "c"}, {Key: "index", Value: key}}
	mustHaveCode(t, db.RunCommand(t.Context(), drop).Err(), 181, "3 indexes found for key: { a: 1 }, identify by name instead. Conflicting indexes: ")
	mustRun(t, db.Collection("c"), bson.D{{Key: "dropIndexes", Value: "c"}, {Key: "index", Value: "i2"}})
	mustHaveCode(t, db.RunCommand(t.Context(), drop).Err(), 181, "2 indexes found for key")
}
