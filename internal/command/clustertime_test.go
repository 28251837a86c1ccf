package command_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestClusterTimeStandalone checks that a standalone server has no $$CLUSTER_TIME.
func TestClusterTimeStandalone(t *testing.T) {
	t.Parallel()
	c := sheaftest.Open(t, &sheaf.Options{Standalone: true}).Client().Database("d").Collection("c")
	err := c.FindOne(t.Context(), bson.D{{"$expr", bson.D{{"$gt", bson.A{"$$CLUSTER_TIME", 0}}}}}).Err()
	var refused mongo.CommandError
	if !errors.As(err, &refused) || refused.Code != 51144 {
		t.Error(err)
	}
	validator := bson.M{"$expr": bson.M{"$gt": bson.A{"$$CLUSTER_TIME", 0}}}
	err = c.Database().CreateCollection(t.Context(), "checked", options.CreateCollection().SetValidator(validator))
	if !errors.As(err, &refused) || refused.Code != 51144 {
		t.Error(err)
	}
}

// TestClusterTimeInValidators checks validators that use $$CLUSTER_TIME. Its value must be the time
// of each write.
func TestClusterTimeInValidators(t *testing.T) {
	t.Parallel()
	h := newSetPath(t)
	validator := bsonx.NewDoc("$expr",
		bsonx.NewDoc("$gt", []bsonx.Value{bsonx.String("$$CLUSTER_TIME"), bsonx.String("$t")}))
	h.run(bsonx.NewDoc("create", "made", "validator", validator, "$db", "db"))
	h.run(bsonx.NewDoc("create", "changed", "$db", "db"))
	h.run(bsonx.NewDoc("collMod", "changed", "validator", validator, "$db", "db"))
	for _, name := range []string{"made", "changed"} {
		insert := func(at bsonx.Value) (n int64) {
			docs := []bsonx.Doc{bsonx.NewDoc("t", at)}
			n, _ = h.ask(bsonx.NewDoc("insert", name, "documents", docs, "$db", "db")).Lookup("n").AsInt64()
			return n
		}
		before := h.run(bsonx.NewDoc("ping", 1, "$db", "db")).Lookup("operationTime")
		if n := insert(before); n != 0 {
			t.Errorf("%s: a document of the present is valid", name)
		}
		h.run(bsonx.NewDoc("insert", "other", "documents", []bsonx.Doc{bsonx.NewDoc("a", 1)}, "$db", "db"))
		if n := insert(before); n != 1 {
			t.Errorf("%s: a document of the past is not valid", name)
		}
	}
}

// TestClusterTimeInViews checks views that use $$CLUSTER_TIME.
func TestClusterTimeInViews(t *testing.T) {
	t.Parallel()
	h := newSetPath(t)
	h.run(bsonx.NewDoc("insert", "c", "documents", []bsonx.Doc{bsonx.NewDoc("_id", 1)}, "$db", "db"))
	stages := []bsonx.Doc{bsonx.NewDoc("$set", bsonx.NewDoc("now", "$$CLUSTER_TIME"))}
	h.run(bsonx.NewDoc("create", "made", "viewOn", "c", "pipeline", stages, "$db", "db"))
	h.run(bsonx.NewDoc("create", "changed", "viewOn", "c", "pipeline", []bsonx.Doc{}, "$db", "db"))
	h.run(bsonx.NewDoc("collMod", "changed", "viewOn", "c", "pipeline", stages, "$db", "db"))
	for _, view := range []string{"made", "changed"} {
		docs := h.run(bsonx.NewDoc("find", view, "$db", "db")).Lookup("cursor").Doc().Lookup("firstBatch").Doc()
		if now := docs.Index(0).Doc().Lookup("now"); now.Type != bsonx.TypeTimestamp || now.Int64() == 0 {
			t.Errorf("%s: %s", view, bsonx.FormatShell(bsonx.Document(docs)))
		}
	}
}
