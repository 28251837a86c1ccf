package command_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/sheaftest"
)

// TestDropIndexesByAmbiguousKey drops by a key pattern that several indexes have. The error must
// have their number and show the first two.
func TestDropIndexesByAmbiguousKey(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	key := bson.D{{"a", 1}}
	indexes := bson.A{}
	for i, option := range []bson.E{{"sparse", false}, {"sparse", true}, {"collation", bson.M{"locale": "fr"}}} {
		indexes = append(indexes, bson.D{{"key", key}, {"name", fmt.Sprint("i", i)}, option})
	}
	mustRun(t, db.Collection("c"), bson.D{{"createIndexes", "c"}, {"indexes", indexes}})
	drop := bson.D{{"dropIndexes", "c"}, {"index", key}}
	mustHaveCode(t, db.RunCommand(t.Context(), drop).Err(), 181, "3 indexes found for key: { a: 1 }, identify by name instead. Conflicting indexes: ")
	mustRun(t, db.Collection("c"), bson.D{{"dropIndexes", "c"}, {"index", "i2"}})
	mustHaveCode(t, db.RunCommand(t.Context(), drop).Err(), 181, "2 indexes found for key")
}
