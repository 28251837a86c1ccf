package adversarial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

// hang is how long the test waits for the end of an operation. An operation that does not check its
// context runs longer.
const hang = time.Minute

// blocking are stages that collect their input, or that work for long on one document. Each gets an
// input that takes minutes.
var blocking = map[string]string{
	"group":           `{"$group": {"_id": "$i", "n": {"$sum": 1}}}`,
	"group of one":    `{"$group": {"_id": null, "n": {"$avg": "$i"}}}`,
	"sort":            `{"$sort": {"i": -1}}`,
	"top sort":        `{"$sort": {"i": -1}}, {"$limit": 5}`,
	"bucket":          `{"$bucket": {"groupBy": "$i", "boundaries": [0, 1e18]}}`,
	"bucketAuto":      `{"$bucketAuto": {"groupBy": "$i", "buckets": 5}}`,
	"setWindowFields": `{"$setWindowFields": {"sortBy": {"i": 1}, "output": {"r": {"$sum": "$i", "window": {"documents": [-5, 5]}}}}}`,
	"window of all":   `{"$setWindowFields": {"output": {"r": {"$sum": "$i"}}}}`,
	"fill":            `{"$fill": {"sortBy": {"i": 1}, "output": {"x": {"method": "linear"}}}}`,
	"densify":         `{"$densify": {"field": "i", "range": {"step": 0.5, "bounds": "full"}}}`,
	"facet":           `{"$facet": {"a": [{"$group": {"_id": null, "n": {"$sum": 1}}}], "b": [{"$count": "n"}]}}`,
	"count":           `{"$count": "n"}`,
	"sortByCount":     `{"$sortByCount": "$i"}`,
	"sample":          `{"$sample": {"size": 5}}`,
	"match":           `{"$match": {"i": -1}}`,
	"expr match":      `{"$match": {"$expr": {"$lt": ["$i", 0]}}}`,
	"regex match":     `{"$set": {"t": {"$concat": ["$s", {"$toString": "$i"}]}}}, {"$match": {"t": {"$regex": "(a+)+$"}}}`,
	"redact":          `{"$redact": "$$PRUNE"}`,
	"skip":            `{"$skip": 1000000000000}`,
	"unwind":          `{"$set": {"a": []}}, {"$unwind": "$a"}`,
	"replaceRoot":     `{"$replaceRoot": {"newRoot": {"i": "$i"}}}, {"$match": {"i": -1}}`,
	"lookup":          `{"$lookup": {"from": "c", "localField": "i", "foreignField": "x", "as": "r"}}, {"$match": {"r": 5}}`,
	"lookup pipeline": `{"$lookup": {"from": "c", "let": {"i": "$i"}, "pipeline": [{"$match": {"$expr": {"$eq": ["$x", "$$i"]}}}], "as": "r"}}, {"$match": {"r": 5}}`,
	"graphLookup":     `{"$graphLookup": {"from": "c", "startWith": "$i", "connectFromField": "next", "connectToField": "x", "as": "r"}}, {"$match": {"r": 5}}`,
	"inner lookup":    `{"$limit": 1}, {"$lookup": {"from": "c", "pipeline": [ENDLESS, {"$group": {"_id": "$i"}}], "as": "r"}}`,
	"unionWith":       `{"$limit": 1}, {"$unionWith": {"coll": "c", "pipeline": [ENDLESS, {"$count": "n"}]}}`,
	"out":             `{"$project": {"_id": "$i"}}, {"$out": "o"}`,
	"merge":           `{"$merge": {"into": "o"}}`,
	"map in map":      `{"$limit": 1}, {"$set": {"x": {"$sum": {"$map": {"input": {"$range": [0, 100000]}, "in": {"$sum": {"$map": {"input": {"$range": [0, "$$this"]}, "as": "y", "in": 1}}}}}}}}`,
	"filter":          `{"$limit": 1}, {"$set": {"x": {"$filter": {"input": {"$range": [0, 100000]}, "cond": {"$in": ["$$this", {"$filter": {"input": {"$range": [0, "$$this"]}, "cond": false}}]}}}}}`,
	"reduce":          `{"$limit": 1}, {"$set": {"x": {"$reduce": {"input": {"$range": [0, 100000]}, "initialValue": 0, "in": {"$add": [{"$size": {"$range": [0, "$$this"]}}, "$$value"]}}}}}`,
	"function":        `{"$limit": 1}, {"$set": {"x": {"$function": {"body": "function() { for (;;) {} }", "args": [], "lang": "js"}}}}`,
	"accumulator":     `{"$group": {"_id": null, "x": {"$accumulator": {"init": "() => 0", "accumulate": "(s, i) => s + i", "accumulateArgs": ["$i"], "merge": "(a, b) => a + b", "lang": "js"}}}}`,
}

// endless returns stages that make 10^9 documents from the documents of the collection c.
func endless() string {
	stages := append([]string{`{"$limit": 1}`}, times(1_000_000)...)
	return strings.Join(stages, ", ")
}

func blockingCommand(t *testing.T, stages string) bson.D {
	t.Helper()
	return bsonxtest.ParseD(t, blockingText(stages, endless()))
}

// blockingText returns a command that runs stages over the documents that the stages in source
// make.
func blockingText(stages, source string) string {
	stages = strings.ReplaceAll(stages, "ENDLESS", source)
	return `{"aggregate": "c", "cursor": {}, "pipeline": [` + source + `, ` + stages + `]}`
}

// blockingAttacks returns the blocking stages as attacks that only their time limit ends.
func blockingAttacks() (out []attack) {
	for _, name := range slices.Sorted(maps.Keys(blocking)) {
		stages := endless() + ", " + strings.ReplaceAll(blocking[name], "ENDLESS", endless())
		out = append(out, attack{name, `{"aggregate": "c", "cursor": {}, "pipeline": [` + stages + `]}`, []int32{50}})
	}
	return out
}

func newSmall(t *testing.T) *mongo.Database {
	t.Helper()
	db := sheaftest.New(t).Database("d")
	for i := range 5 {
		if _, err := db.Collection("c").
			InsertOne(t.Context(), bson.D{
				{"_id", i},
				{"x", i},
				{"next", i + 1},
				{"s", "aaaa!"},
			}); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

func TestDeadlineStopsStages(t *testing.T) {
	watchMemory(t, 2<<30)
	db := newSmall(t)
	for name, stages := range torture.SomeOf(blocking, 3) {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			code, message := run(t, db, append(blockingCommand(t, stages), bson.E{"maxTimeMS", 50}))
			if code != 50 {
				t.Errorf("code %d: %s", code, message)
			}
			t.Logf("ended after %v", time.Since(start))
		})
	}
}

// running returns the ids of the running operations with a comment.
func running(t *testing.T, db *mongo.Database, comment string) []int64 {
	t.Helper()
	var ops struct {
		InProg []struct {
			OpID int64 `bson:"opid"`
		} `bson:"inprog"`
	}
	err := db.Client().Database("admin").
		RunCommand(t.Context(),
			bson.D{{"currentOp", 1}, {"command.comment", comment}}).Decode(&ops)
	if err != nil {
		t.Error(err)
	}
	var ids []int64
	for _, op := range ops.InProg {
		ids = append(ids, op.OpID)
	}
	return ids
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for start := time.Now(); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > hang {
			t.Fatal(what)
		}
	}
}

func TestKillOpStopsStages(t *testing.T) {
	db := newSmall(t)
	for _, name := range []string{
		"group", "sort", "setWindowFields", "facet", "graphLookup", "out",
		"map in map", "function", "accumulator",
	} {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			wg.Go(func() {
				code, message := run(t, db,
					append(blockingCommand(t, blocking[name]), bson.E{"comment", name}))
				if code != 11601 {
					t.Errorf("code %d: %s", code, message)
				}
			})
			eventually(t, "the operation did not begin", func() bool { return len(running(t, db, name)) > 0 })
			for _, id := range running(t, db, name) {
				if err := db.Client().Database("admin").
					RunCommand(t.Context(),
						bson.D{{"killOp", 1}, {"op", id}}).Err(); err != nil {
					t.Error(err)
				}
			}
			wg.Wait()
		})
	}
}

// TestDisconnectStopsStages cancels the driver's context, so that the driver closes its connection.
// The stages must stop.
func TestDisconnectStopsStages(t *testing.T) {
	onEachConnection(t, func(t *testing.T, db *mongo.Database) {
		if _, err := db.Collection("c").InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"group", "sort", "map in map", "function"} {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := db.RunCommand(ctx,
					append(blockingCommand(t, blocking[name]), bson.E{"comment", name})).
					Err(); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			})
			eventually(t, fmt.Sprintf("%s did not begin", name), func() bool { return len(running(t, db, name)) > 0 })
			cancel()
			wg.Wait()
			eventually(t, fmt.Sprintf("%s goes on though its client is gone", name),
				func() bool { return len(running(t, db, name)) == 0 })
		}
	})
}
