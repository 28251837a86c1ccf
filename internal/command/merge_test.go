package command_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// TestMergeOrder checks the order of fields after $merge with the mode merge. It works like $set,
// so new fields are added sorted by name.
func TestMergeOrder(t *testing.T) {
	t.Parallel()
	c := newNumbers(t, 1)
	to := c.Database().Collection("to")
	if _, err := to.InsertOne(t.Context(), bson.D{{"_id", 0}, {"z", 1}, {"v", "old"}}); err != nil {
		t.Fatal(err)
	}
	stages := bson.A{
		bson.D{{"$set", bson.D{{"y", 1}, {"b", 2}}}},
		bson.D{{"$merge", "to"}},
	}
	if _, err := c.Aggregate(t.Context(), stages); err != nil {
		t.Fatal(err)
	}
	raw, err := to.FindOne(t.Context(), bson.D{}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"_id": {"$numberInt":"0"},"z": {"$numberInt":"1"},"v": {"$numberInt":"0"},"b": {"$numberInt":"2"},"k": {"$numberInt":"0"},"y": {"$numberInt":"1"}}`
	if got := raw.String(); got != want {
		t.Errorf("merged\n%s, want\n%s", got, want)
	}
}
