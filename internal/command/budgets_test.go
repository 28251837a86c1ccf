package command_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

func openWithTestCommands(t *testing.T) *mongo.Client {
	t.Helper()
	db, err := sheaf.Open(sheaf.Memory, &sheaf.Options{TestCommands: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Client()
}

// codeOf runs a pipeline without temporary files and returns the code of its error, or 0 if it
// succeeds.
func codeOf(t *testing.T, c *mongo.Collection, stages string) int32 {
	t.Helper()
	_, err := run(t, c, bson.D{
		{"aggregate", c.Name()},
		{"pipeline", bsonxtest.ParseA(t, stages)},
		{"cursor", bson.D{}},
		{"allowDiskUse", false},
	})
	return errorCode(t, err)
}

func errorCode(t *testing.T, err error) int32 {
	t.Helper()
	var failed mongo.CommandError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed):
		return failed.Code
	}
	t.Fatal(err)
	return 0
}

// TestBudgets checks that each of MongoDB's memory parameters limits its own kind of stage and no
// other.
func TestBudgets(t *testing.T) {
	t.Parallel()
	client := openWithTestCommands(t)
	c := client.Database("d").Collection("c")
	if _, err := c.InsertMany(t.Context(),
		[]bson.D{
			{{"_id", 1}, {"a", "x"}},
			{{"_id", 2}, {"a", "y"}},
		}); err != nil {
		t.Fatal(err)
	}
	stages := map[string]string{
		"internalQueryMaxBlockingSortMemoryUsageBytes":        `[{"$sort": {"a": 1}}]`,
		"internalDocumentSourceGroupMaxMemoryBytes":           `[{"$group": {"_id": "$a"}}]`,
		"internalDocumentSourceSetWindowFieldsMaxMemoryBytes": `[{"$setWindowFields": {"output": {"n": {"$sum": "$_id"}}}}]`,
		"internalDocumentSourceBucketAutoMaxMemoryBytes":      `[{"$bucketAuto": {"groupBy": "$a", "buckets": 2}}]`,
		"internalDocumentSourceDensifyMaxMemoryBytes":         `[{"$densify": {"field": "_id", "partitionByFields": ["a"], "range": {"step": 1, "bounds": "full"}}}]`,
		"internalDocumentSourceGraphLookupMaxMemoryBytes":     `[{"$graphLookup": {"from": "c", "startWith": "$_id", "connectFromField": "z", "connectToField": "_id", "as": "r"}}]`,
	}
	set := func(name string, v any) int32 {
		return errorCode(t, client.Database("admin").
			RunCommand(t.Context(), bson.D{{"setParameter", 1}, {name, v}}).Err())
	}
	for name := range stages {
		if code := set(name, 1); code != 0 {
			t.Fatal(name, code)
		}
		for other, pipeline := range stages {
			if code := codeOf(t, c, pipeline); (code != 0) != (other == name) {
				t.Errorf("%s = 1, %s: code %d", name, pipeline, code)
			}
		}
		if code := set(name, 100<<20); code != 0 {
			t.Fatal(name, code)
		}
		for _, bad := range []any{-1, "x"} {
			if code := set(name, bad); code != 2 {
				t.Errorf("%s = %v: code %d", name, bad, code)
			}
		}
	}
	if code := set("internalLookupStageIntermediateDocumentMaxSizeBytes", 16<<20); code != 2 {
		t.Error(code)
	}
	if code := set("internalLookupStageIntermediateDocumentMaxSizeBytes", 17<<20); code != 0 {
		t.Error(code)
	}
}

// TestExplainShowsParameters checks that explain shows the values that setParameter has set.
func TestExplainShowsParameters(t *testing.T) {
	t.Parallel()
	client := openWithTestCommands(t)
	const engine, regex = "internalQueryFrameworkControl", "internalQueryPlannerIgnoreIndexWithCollationForRegex"
	for _, want := range []struct {
		engine string
		ignore bool
		shown  int32
	}{{"forceClassicEngine", true, 1}, {"trySbeEngine", false, 0}} {
		set := bson.D{
			{"setParameter", 1},
			{engine, want.engine},
			{regex, want.ignore},
		}
		if err := client.Database("admin").RunCommand(t.Context(), set).Err(); err != nil {
			t.Fatal(err)
		}
		var got struct {
			ServerParameters bson.M `bson:"serverParameters"`
		}
		explain := bson.D{{"explain", bson.D{{"find", "c"}}}}
		if err := client.Database("d").RunCommand(t.Context(), explain).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if p := got.ServerParameters; p[engine] != want.engine || p[regex] != want.shown {
			t.Error(p)
		}
	}
}

// TestDisablePipelineOptimization checks the fail point of the same name. Without the optimiser a
// stage processes documents that a later $match drops.
func TestDisablePipelineOptimization(t *testing.T) {
	t.Parallel()
	client := openWithTestCommands(t)
	c := client.Database("d").Collection("c")
	if _, err := c.InsertOne(t.Context(), bson.D{{"_id", 1}, {"zero", 0}}); err != nil {
		t.Fatal(err)
	}
	fail := func(mode any) {
		t.Helper()
		if err := client.Database("admin").
			RunCommand(t.Context(),
				bson.D{
					{"configureFailPoint", "disablePipelineOptimization"},
					{"mode", mode},
				}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	const stages = `[{"$addFields": {"x": {"$divide": [1, "$zero"]}}}, {"$match": {"ok": true}}]`
	for _, step := range []struct {
		mode any
		want int32
	}{{"off", 0}, {"alwaysOn", 2}, {"off", 0}, {bson.D{{"times", 1}}, 2}} {
		fail(step.mode)
		if code := codeOf(t, c, stages); code != step.want {
			t.Errorf("%v: code %d", step.mode, code)
		}
	}
	if code := codeOf(t, c, stages); code != 0 {
		t.Errorf("after its time: code %d", code)
	}
}
