package command_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// pipelineOf parses the stages of a pipeline in Extended JSON.
func pipelineOf(t *testing.T, text string) bson.A {
	t.Helper()
	stages, _ := bsonxtest.ParseD(t, `{"v":`+text+`}`)[0].Value.(bson.A)
	return stages
}

// lookup returns the value at a path in a document.
func lookup(t *testing.T, doc bson.D, path ...string) bson.RawValue {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return bson.Raw(raw).Lookup(path...)
}

// TestPlanCacheStats checks that an entry of $planCacheStats shows the query that created it, its
// plan, and the results of the candidates.
func TestPlanCacheStats(t *testing.T) {
	t.Parallel()
	c := sheaftest.New(t).Database("d").Collection("c")
	for i := range 20 {
		insert(t, c, bson.D{{"_id", i}, {"a", i}, {"b", i % 3}})
	}
	for _, field := range []string{"a", "b"} {
		if _, err := c.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{field, 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		aggregate(t, c, pipelineOf(t, `[{"$match": {"a": 5, "b": 2}}, {"$project": {"b": 1}}]`))
	}
	entries := aggregate(t, c, pipelineOf(t, `[{"$planCacheStats": {}}]`))
	if len(entries) != 1 {
		t.Fatal(entries)
	}
	e := entries[0]
	if !lookup(t, e, "isActive").Boolean() || lookup(t, e, "works").AsInt64() == 0 ||
		time.Since(lookup(t, e, "timeOfCreation").Time()) > time.Hour {
		t.Error(e)
	}
	if got := lookup(t, e, "createdFromQuery", "query").
		String(); got != `{"a": {"$numberInt":"5"},"b": {"$numberInt":"2"}}` {
		t.Error(got)
	}
	if got := lookup(t, e, "cachedPlan").String(); got == "" {
		t.Error(e)
	}
	candidates, _ := lookup(t, e, "creationExecStats").Array().Values()
	scores, _ := lookup(t, e, "candidatePlanScores").Array().Values()
	if len(candidates) != 2 || len(scores) != 2 || scores[0].Double() < scores[1].Double() {
		t.Error(candidates, scores)
	}
	for _, name := range []string{"queryHash", "planCacheKey"} {
		if got := lookup(t, e, name).StringValue(); len(got) != 8 {
			t.Error(name, got)
		}
	}
}

// TestLatencyStats checks that $collStats counts reads, writes and other commands on a collection
// separately.
func TestLatencyStats(t *testing.T) {
	t.Parallel()
	c := sheaftest.New(t).Database("d").Collection("c")
	for i := range 3 {
		insert(t, c, bson.D{{"_id", i}})
	}
	for range 2 {
		aggregate(t, c, bson.A{})
	}
	if err := c.Database().RunCommand(t.Context(), bson.D{{"collStats", "c"}}).Err(); err != nil {
		t.Fatal(err)
	}
	stats := aggregate(t, c, pipelineOf(t, `[{"$collStats": {"latencyStats": {"histograms": true}}}]`))[0]
	for kind, want := range map[string]int64{"reads": 2, "writes": 3, "commands": 1, "transactions": 0} {
		if got := lookup(t, stats, "latencyStats", kind, "ops").AsInt64(); got < want || got > want+1 {
			t.Errorf("%d %s, want %d", got, kind, want)
		}
		classes, _ := lookup(t, stats, "latencyStats", kind, "histogram").Array().Values()
		sum := int64(0)
		for _, class := range classes {
			sum += class.Document().Lookup("count").AsInt64()
		}
		if sum != lookup(t, stats, "latencyStats", kind, "ops").AsInt64() {
			t.Errorf("%s: the classes have %d of the operations", kind, sum)
		}
	}
}

// TestLatencyStatsOfTimeSeries checks that operations on a time series are counted too.
func TestLatencyStatsOfTimeSeries(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	run := func(cmd bson.D) {
		t.Helper()
		if err := db.RunCommand(t.Context(), cmd).Err(); err != nil {
			t.Fatal(err)
		}
	}
	run(bson.D{{"create", "ts"}, {"timeseries", bson.D{{"timeField", "t"}}}})
	run(bson.D{{"insert", "ts"}, {"documents", bson.A{bson.D{{"t", bson.DateTime(0)}}}}})
	run(bson.D{{"find", "ts"}})
	stats := aggregate(t, db.Collection("ts"), pipelineOf(t, `[{"$collStats": {"latencyStats": {}}}]`))[0]
	for kind, want := range map[string]int64{"reads": 1, "writes": 1, "commands": 1} {
		if got := lookup(t, stats, "latencyStats", kind, "ops").AsInt64(); got != want {
			t.Errorf("%d %s, want %d", got, kind, want)
		}
	}
}

// TestCurrentOpShowsAggregates checks that $currentOp shows a running pipeline with its command and
// its plan.
func TestCurrentOpShowsAggregates(t *testing.T) {
	// Not parallel: a JavaScript call is ended when the heap of the process grows by 512 MB, and
	// other tests would make it grow.
	client := sheaftest.New(t)
	c := client.Database("d").Collection("c")
	insert(t, c, bson.D{{"_id", 1}})
	endless := pipelineOf(t, `[{"$set": {"x": {"$function": {"body": "function() { while (true) {} }", "args": [], "lang": "js"}}}}]`)
	ended := make(chan error, 1)
	go func() {
		_, err := c.Aggregate(t.Context(), endless)
		ended <- err
	}()
	admin := client.Database("admin")
	search := pipelineOf(t, `[{"$currentOp": {}}, {"$match": {"command.aggregate": "c", "planSummary": "COLLSCAN"}}]`)
	var found []bson.D
	for deadline := time.Now().Add(time.Minute); len(found) == 0; {
		cursor, err := admin.Aggregate(t.Context(), search)
		if err != nil {
			t.Fatal(err)
		}
		if err := cursor.All(t.Context(), &found); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the operation is not listed")
		}
	}
	if err := admin.RunCommand(t.Context(),
		bson.D{{"killOp", 1}, {"op", lookup(t, found[0], "opid").AsInt64()}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("the operation was not ended")
	}
}
