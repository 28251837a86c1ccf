package sheaf_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// constant is an expression whose value takes about a megabyte.
const constant = `{"$range": [0, 100000]}`

// TestConstantsOfStatements runs commands that compile a constant expression for each of many
// documents or statements. The memory of its values must be counted only while they exist, not
// added up.
func TestConstantsOfStatements(t *testing.T) {
	t.Parallel()
	const documents = 36
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{RequestMemory: 32 << 20})
	d := db.Client().Database("d")
	for i := range documents {
		if _, err := d.Collection("c").InsertOne(t.Context(), bson.D{{"_id", i}}); err != nil {
			t.Fatal(err)
		}
	}
	var updates, deletes bson.A
	size := bsonxtest.ParseD(t, `{"x": {"$arrayElemAt": [{"$concatArrays": [["$_id"], `+constant+`]}, 0]}}`)
	for i := range documents {
		updates = append(updates, bson.D{{"q", bson.D{{"_id", i}}}, {"u", bson.A{bson.D{{"$set", size}}}}})
		deletes = append(deletes,
			bson.D{{"q", bson.D{{"_id", i}, {"$expr", bson.D{{"$lt", bson.A{size[0].Value, 0}}}}}}, {"limit", 0}})
	}
	pipeline := func(text string) bson.D {
		return bson.D{{"aggregate", "c"}, {"pipeline", bson.A{bsonxtest.ParseD(t, text)}}, {"cursor", bson.D{}}}
	}
	for name, cmd := range torture.SomeOf(map[string]bson.D{
		"update": {{"update", "c"}, {"updates", updates}},
		"delete": {{"delete", "c"}, {"deletes", deletes}},
		"$lookup": pipeline(`{"$lookup": {"from": "c", "let": {"i": "$_id"}, "as": "r", "pipeline": [{"$limit": 1},
			{"$match": {"$expr": {"$eq": ["$_id", {"$arrayElemAt": [{"$concatArrays": [["$$i"], ` + constant + `]}, 0]}]}}}]}}`),
		"$merge": pipeline(`{"$merge": {"into": "c", "whenMatched": [{"$set": {"y": {"$arrayElemAt": [{"$concatArrays": [["$_id"], ` + constant + `]}, 0]}}}]}}`),
	}, 2) {
		var reply struct {
			WriteErrors []bson.M `bson:"writeErrors"`
		}
		if err := d.RunCommand(t.Context(), cmd).Decode(&reply); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(reply.WriteErrors) > 0 {
			t.Errorf("%s: %v", name, reply.WriteErrors[0])
		}
	}
	if used := requestMemory(t, db).UsedBytes; used > 1<<20 {
		t.Errorf("%d bytes are left", used)
	}
}

// TestConstantsOfCursors opens cursors that hold a large constant. The constant must count as used
// memory until the cursor that holds it is closed.
func TestConstantsOfCursors(t *testing.T) {
	t.Parallel()
	const least = 900_000 // the least memory of a constant, in bytes
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{RequestMemory: 256 << 20})
	d := db.Client().Database("d")
	for i := range 4 {
		if _, err := d.Collection("c").InsertOne(t.Context(), bson.D{{"_id", i}, {"a", bson.A{1, 2, 3}}}); err != nil {
			t.Fatal(err)
		}
	}
	rare := `{"$cond": [{"$lt": ["$_id", 100]}, 1, ` + constant + `]}`
	for name, text := range map[string]string{
		"find":       `{"find": "c", "batchSize": 1, "filter": {"$expr": {"$gt": [` + rare + `, 0]}}}`,
		"projection": `{"find": "c", "batchSize": 1, "projection": {"x": ` + rare + `}}`,
		"aggregate":  `{"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [{"$set": {"x": ` + rare + `}}]}`,
		"$lookup": `{"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [{"$limit": 1}, {"$lookup": {"from": "c", "as": "r", "let": {"i": "$_id"},
			"pipeline": [{"$set": {"p": {"$reduce": {"input": {"$range": [0, 21]}, "initialValue": "x", "in": {"$concat": ["$$value", "$$value"]}}}}},
				{"$set": {"x": ` + rare + `}}, {"$unwind": "$a"}]}}, {"$unwind": "$r"}]}`,
	} {
		cmd := bsonxtest.ParseD(t, text)
		before := requestMemory(t, db).UsedBytes
		var reply struct {
			Cursor struct{ ID int64 }
		}
		var ids bson.A
		for range 4 {
			if err := d.RunCommand(t.Context(), cmd).Decode(&reply); err != nil || reply.Cursor.ID == 0 {
				t.Fatalf("%s: cursor %d, %v", name, reply.Cursor.ID, err)
			}
			ids = append(ids, reply.Cursor.ID)
		}
		if counted := requestMemory(t, db).UsedBytes - before; counted < 4*least {
			t.Errorf("%s: %d bytes are counted for four cursors", name, counted)
		}
		if err := d.RunCommand(t.Context(), bson.D{{"killCursors", "c"}, {"cursors", ids}}).Err(); err != nil {
			t.Error(err)
		}
		if left := requestMemory(t, db).UsedBytes - before; left > least {
			t.Errorf("%s: %d bytes are left", name, left)
		}
	}
}
