package command_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// TestAggregateExplainIsRefused: an explain that is not supported yet must not run the pipeline instead.
func TestAggregateExplainIsRefused(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 10)
	for _, rest := range []bson.D{nil, {{Key: "cursor", Value: bson.D{}}}} {
		cmd := append(bson.D{{Key: "aggregate", Value: c.Name()}, {Key: "pipeline", Value: bson.A{}}, {Key: "explain", Value: true}}, rest...)
		_, err := run(t, c, cmd)
		var refused mongo.CommandError
		if !errors.As(err, &refused) || refused.Code != 238 {
			t.Errorf("%v: %v", cmd, err)
		}
	}
}
