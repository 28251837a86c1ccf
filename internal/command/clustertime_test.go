package command_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestClusterTimeStandalone: outside of a replica set there is no cluster time.
func TestClusterTimeStandalone(t *testing.T) {
	t.Parallel()
	c := sheaftest.Open(t, &sheaf.Options{Standalone: true}).Client().Database("d").Collection("c")
	err := c.FindOne(t.Context(), bson.D{{Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{"$$CLUSTER_TIME", 0}}}}}).Err()
	var refused mongo.CommandError
	if !errors.As(err, &refused) || refused.Code != 51144 {
		t.Error(err)
	}
}
