package adversarial

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/sheaftest"
)

// keptStages returns arguments for each stage that yields documents. The stage runs over large
// documents, between stages that unwind arrays, so that a cursor stops in the middle of them. A
// stage without a case fails the test.
func keptStages() map[string][]string {
	set := []string{`{"x": {"$range": ["$i", 20000]}}`}
	return map[string][]string{
		"$addFields": set, "$set": set,
		"$bucket":     {`{"groupBy": "$i", "boundaries": [0, 1, 2, 3, 4, 5], "output": {"v": {"$push": "$v"}, "p": {"$push": "$p"}}}`},
		"$bucketAuto": {`{"groupBy": "$i", "buckets": 5, "output": {"v": {"$push": "$v"}, "p": {"$push": "$p"}}}`},
		"$count":      {`"n"`},
		"$densify":    {`{"field": "i", "range": {"step": 1, "bounds": "full"}}`},
		"$documents":  {`[{"v": {"$range": [0, 20000]}, "i": 1}, {"i": 2, "v": {"$range": [0, 20000]}}]`},
		"$facet":      {`{"v": [{"$limit": 5}], "w": [{"$project": {"p": 1}}]}`},
		"$fill":       {`{"sortBy": {"i": 1}, "output": {"v": {"method": "locf"}}}`},
		"$geoNear":    {`{"near": {"type": "Point", "coordinates": [1, 1]}, "distanceField": "d", "key": "g"}`},
		"$graphLookup": {
			`{"from": "c", "startWith": "$i", "connectFromField": "i", "connectToField": "i", "as": "v"}`,
			`{"from": "c", "startWith": "$i", "connectFromField": "next", "connectToField": "i", "as": "w"}`,
		},
		"$group": {`{"_id": "$i", "v": {"$push": "$v"}, "p": {"$push": "$p"}}`, `{"_id": null, "v": {"$push": "$p"}}`},
		"$limit": {`4`},
		"$lookup": {
			`{"from": "c", "localField": "i", "foreignField": "i", "as": "v"}`, `{"from": "c", "pipeline": [], "as": "v"}`,
			`{"from": "c", "let": {"i": "$i"}, "pipeline": [{"$match": {"$expr": {"$lte": ["$$i", 3]}}}], "as": "w"}`,
		},
		"$match": {`{"i": {"$gte": 0}}`},
		"$merge": nil, "$out": nil, // the cursor has no documents
		"$project":     {`{"v": 1, "q": "$p"}`, `{"v": 1, "w": {"$range": ["$i", 20000]}}`},
		"$redact":      {`{"$cond": [{"$gte": ["$i", 0]}, "$$DESCEND", "$$KEEP"]}`},
		"$replaceRoot": {`{"newRoot": {"v": "$v", "w": "$p"}}`}, "$replaceWith": {`{"v": "$v", "w": "$p"}`},
		"$sample":          {`{"size": 4}`},
		"$setWindowFields": {`{"sortBy": {"i": 1}, "output": {"w": {"$push": "$p", "window": {"documents": [-1, 0]}}}}`},
		"$skip":            {`1`},
		"$sort":            {`{"p": 1, "i": -1}`},
		"$sortByCount":     {`"$p"`},
		"$unionWith":       {`{"coll": "c", "pipeline": [{"$set": {"x": 1}}]}`, `"largeview"`},
		"$unset":           {`"q"`},
		"$unwind":          {`"$v"`, `{"path": "$v", "includeArrayIndex": "n"}`},
		"$changeStream":    {`{"fullDocument": "updateLookup", "startAtOperationTime": START}`},
		// In this test, the output of these stages is small.
		"$changeStreamSplitLargeEvent": nil, "$collStats": nil, "$currentOp": nil,
		"$indexStats": nil, "$listLocalSessions": nil,
		"$listSessions": nil, "$planCacheStats": nil,
	}
}

// keptCommands are further commands, besides the stages in keptStages, that leave a cursor with
// much data.
var keptCommands = []string{
	`{"find": "c", "batchSize": 1}`,
	`{"find": "c", "batchSize": 1, "sort": {"p": 1, "i": -1}}`,
	`{"find": "c", "batchSize": 1, "filter": {"a": {"$in": [1, 2, 3, 4]}}, "sort": {"i": 1}}`,
	`{"find": "c", "batchSize": 1, "filter": {"$text": {"$search": "word"}}, "sort": {"s": {"$meta": "textScore"}}}`,
	`{"find": "c", "batchSize": 1, "filter": {"g": {"$near": {"$geometry": {"type": "Point", "coordinates": [1, 1]}}}}}`,
	`{"find": "c", "batchSize": 1, "filter": {"$or": [{"a": 1}, {"i": {"$gte": 0}}]}}`,
	`{"find": "largeview", "batchSize": 1}`,
	`{"find": "viewofmuch", "batchSize": 1}`,
	`{"find": "capped", "batchSize": 1, "tailable": true}`,
	`{"listCollections": 1, "cursor": {"batchSize": 1}}`,
	`{"listIndexes": "indexed", "cursor": {"batchSize": 1}}`,
	`{"aggregate": 1, "cursor": {"batchSize": 1}, "pipeline": [{"$listLocalSessions": {}}]}`,
}

// keptBulk returns a bulkWrite with large results: the _ids of upserted documents.
func keptBulk() string {
	id := `{"x": "` + strings.Repeat("i", 50_000) + `", "n": #}`
	return `{"bulkWrite": 1, "ops": [` +
		joined(8, `{"update": 0, "filter": {"_id": `+id+
			`}, "updateMods": {"$set": {"x": 1}}, "upsert": true}`) + `], ` +
		`"nsInfo": [{"ns": "d.upserted"}], "cursor": {"batchSize": 1}, "ordered": false}`
}

// fillKept creates collections with large documents, large definitions, and transactions.
func fillKept(t *testing.T, db *mongo.Database) {
	t.Helper()
	do := func(cmds ...string) {
		for _, cmd := range cmds {
			if err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, cmd)).Err(); err != nil {
				t.Fatalf("%.200s: %v", cmd, err)
			}
		}
	}
	large := strings.Repeat("p", 1<<18)
	for i := range 4 {
		numbers := make(bson.A, 15_000)
		for n := range numbers {
			numbers[n] = int64(n)
		}
		doc := bson.D{
			{"_id", i},
			{"i", i},
			{"a", i + 1},
			{"next", i + 1},
			{"t", "word"},
			{"g", bson.D{{"type", "Point"}, {"coordinates", bson.A{1, 1}}}},
			{"v", numbers},
			{"p", large},
		}
		if _, err := db.Collection("c").InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
	filler := strings.Repeat("f", 50_000)
	do(
		`{"createIndexes": "c", "indexes": [{"key": {"a": 1, "i": 1}, "name": "ai"}, {"key": {"t": "text"}, "name": "t"}, {"key": {"g": "2dsphere"}, "name": "g"}, {"key": {"i": 1}, "name": "i"}]}`,
		`{"create": "largeview", "viewOn": "c", "pipeline": [{"$match": {"x": {"$ne": "`+large+`"}}}]}`,
		`{"create": "viewofmuch", "viewOn": "c", "pipeline": [{"$match": {"$nor": [`+joined(1000, `{"n#": 1}`)+`]}}]}`,
		`{"create": "capped", "capped": true, "size": 10000000}`,
		`{"insert": "capped", "documents": [{"x": "`+filler+`"}, {"x": 1}]}`,
	)
	for i := range 10 {
		do(fmt.Sprintf(`{"create": "v%d", "validator": {"x": {"$ne": "%s"}}}`, i, filler),
			fmt.Sprintf(`{"createIndexes": "indexed", "indexes": [{"key": {"x%d": 1}, "name": "x%d", "partialFilterExpression": {"x": {"$eq": "%s"}}}]}`, i, i, filler))
	}
}

// keptBehind is the number of cursors that a test opens with one command.
const keptBehind = 6

// liveBytes returns the size of all reachable objects on the heap.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // data in pools is freed by the second collection
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// keptMeter compares the memory that cursors keep with the memory that the budget of the requests
// counts.
type keptMeter struct {
	t  *testing.T
	db *mongo.Database
}

func (m *keptMeter) used() int64 {
	raw, err := m.db.Client().Database("admin").
		RunCommand(context.Background(), bson.D{{"serverStatus", 1}}).Raw()
	if err != nil {
		m.t.Fatal(err)
	}
	return raw.Lookup("requestMemory", "usedBytes").AsInt64()
}

// open opens n cursors by a command and returns their ids. It returns no ids if the command fails
// or leaves no cursor.
func (m *keptMeter) open(n int, cmd bson.D) (ids bson.A, err error) {
	for range n {
		var reply struct {
			Cursor struct{ ID int64 }
		}
		db := m.db
		if cmd[0].Key == "bulkWrite" {
			db = db.Client().Database("admin")
		}
		if err := db.RunCommand(m.t.Context(), cmd).Decode(&reply); err != nil || reply.Cursor.ID == 0 {
			return ids, err
		}
		ids = append(ids, reply.Cursor.ID)
	}
	return ids, nil
}

func (m *keptMeter) kill(ids bson.A) {
	if len(ids) > 0 {
		_ = m.db.RunCommand(m.t.Context(), bson.D{{"killCursors", "c"}, {"cursors", ids}}).Err()
	}
}

// check opens cursors by a command, and fails if they keep more memory than the budget counts. It
// reports whether the command leaves cursors open.
func (m *keptMeter) check(cmd string) bool {
	m.t.Helper()
	ids, err := m.open(1, bsonxtest.ParseD(m.t, cmd)) // fills caches and pools before the measurement
	if err != nil {
		m.t.Errorf("%.300s: %v", cmd, err)
	}
	m.kill(ids)
	if len(ids) == 0 {
		return false
	}
	// The heap also has memory of other code. A buffer that other code allocates and keeps disturbs
	// only the first try.
	for try := 1; ; try++ {
		kept, counted := m.keep(cmd)
		if *showErrors {
			m.t.Logf("%d cursors keep %d KiB, %d KiB are counted: %.300s", keptBehind, kept>>10, counted>>10, cmd)
		}
		// Buffers and caches may take a quarter of a document for each cursor.
		if kept <= counted+counted/2+keptBehind<<17 {
			return true
		}
		if try == 3 {
			m.t.Errorf("%d cursors keep %d KiB, of which %d KiB are counted: %.300s", keptBehind, kept>>10, counted>>10, cmd)
			return true
		}
	}
}

// keep opens cursors, and returns how many bytes they keep and how many bytes the budget counts for
// them.
func (m *keptMeter) keep(cmd string) (kept, counted int64) {
	m.t.Helper()
	live, used := liveBytes(), m.used()
	ids, err := m.open(keptBehind, bsonxtest.ParseD(m.t, cmd))
	if err != nil {
		m.t.Errorf("%.300s: %v", cmd, err)
	}
	kept, counted = liveBytes()-live, m.used()-used
	m.kill(ids)
	return kept, counted
}

// TestCursorsAreCounted opens cursors that keep much memory between two batches, for each stage and
// each command that leaves a cursor. The budget of the requests must count this memory.
func TestCursorsAreCounted(t *testing.T) {
	needsServer(t)
	db := served(t, sheaftest.Open(t, nil)).Database("d")
	var hello bson.M
	if err := db.RunCommand(t.Context(), bson.D{{"hello", 1}}).Decode(&hello); err != nil {
		t.Fatal(err)
	}
	start := hello["operationTime"].(bson.Timestamp)
	fillKept(t, db)
	m := &keptMeter{t: t, db: db}
	all := keptStages()
	for _, st := range pipeline.Stages() {
		args, ok := all[st.Name]
		if !ok && st.Status == feature.Supported {
			t.Errorf("%s has no case: write its arguments into the table", st.Name)
		}
		open := len(args) == 0
		for _, arg := range args {
			for _, cmd := range keptPipelines(st.Name, arg, start) {
				if strings.Contains(cmd, *only) && m.check(cmd) {
					open = true
				}
			}
		}
		if !open && *only == "" && st.Name != "$count" {
			t.Errorf("%s left no cursor", st.Name)
		}
	}
	for _, cmd := range append(keptCommands, keptBulk()) {
		if strings.Contains(cmd, *only) && !m.check(cmd) {
			t.Errorf("%.200s left no cursor", cmd)
		}
	}
}

// keptPipelines returns pipelines with a stage before and after one that unwinds an array.
func keptPipelines(name, arg string, start bson.Timestamp) []string {
	stage := `{"` + name + `": ` +
		strings.Replace(arg, "START", fmt.Sprintf(`{"$timestamp": {"t": %d, "i": %d}}`, start.T, start.I), 1) + `}`
	coll := `"c"`
	if name == "$documents" {
		coll = "1"
	}
	form := func(stages string) string {
		return `{"aggregate": ` + coll + `, "cursor": {"batchSize": 1}, "maxTimeMS": 10000, "pipeline": [` + stages + `]}`
	}
	switch name {
	case "$unwind":
		return []string{form(stage), form(stage + `, {"$unwind": {"path": "$v", "preserveNullAndEmptyArrays": true}}`)}
	case "$changeStream":
		return []string{form(stage), form(stage + `, {"$match": {"operationType": {"$ne": "x"}}}`)}
	case "$documents", "$geoNear":
		return []string{form(stage), form(stage + `, {"$unwind": "$v"}`)}
	}
	return []string{
		form(stage), form(stage + `, {"$unwind": "$v"}`), form(stage + `, {"$unwind": "$x"}`),
		form(stage + `, {"$unwind": "$w"}`),
		form(`{"$unwind": {"path": "$v", "includeArrayIndex": "n"}}, {"$limit": 3}, ` + stage),
	}
}
