package command_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestConcernsOfPipelines checks which read and write concerns the stages of a pipeline refuse.
func TestConcernsOfPipelines(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	if _, err := db.Collection("c").InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		stages, read, write string
		code                int
	}{
		"out, majority":           {`[{"$out": "o"}]`, "majority", "", 0},
		"out, linearizable":       {`[{"$out": "o"}]`, "linearizable", "", 72},
		"merge, linearizable":     {`[{"$match": {}}, {"$merge": "o"}]`, "linearizable", "", 72},
		"match, linearizable":     {`[{"$match": {}}]`, "linearizable", "", 0},
		"merge, write concern":    {`[{"$merge": "o"}]`, "", "majority", 0},
		"match, write concern":    {`[{"$match": {}}]`, "", "majority", 72},
		"collStats, local":        {`[{"$collStats": {"count": {}}}]`, "local", "", 0},
		"collStats, majority":     {`[{"$collStats": {"count": {}}}]`, "majority", "", 72},
		"changeStream, majority":  {`[{"$changeStream": {}}]`, "majority", "", 0},
		"changeStream, no level":  {`[{"$changeStream": {}}]`, "", "", 0},
		"changeStream, snapshot":  {`[{"$changeStream": {}}]`, "snapshot", "", 72},
		"changeStream, available": {`[{"$changeStream": {}}]`, "available", "", 72},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := bson.D{{"aggregate", "c"}, {"pipeline", bsonxtest.ParseA(t, c.stages)}, {"cursor", bson.D{}}}
			if c.read != "" {
				cmd = append(cmd, bson.E{"readConcern", bson.D{{"level", c.read}}})
			}
			if c.write != "" {
				cmd = append(cmd, bson.E{"writeConcern", bson.D{{"w", c.write}}})
			}
			err := db.RunCommand(t.Context(), cmd).Err()
			if c.code == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			mustHaveCode(t, err, c.code, "support")
		})
	}
	err := db.RunCommand(t.Context(), bson.D{{"createSearchIndexes", "c"}, {"indexes", bson.A{}}}).Err()
	mustHaveCode(t, err, 31082, "Atlas")
}
