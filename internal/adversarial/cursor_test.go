package adversarial

import (
	"runtime"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

const (
	// mostGrowth is how much the heap may grow while a cursor is read. It is far less than the size
	// of its documents.
	mostGrowth = 200 << 20
	// lookInterval is the number of documents between two measurements of the heap.
	lookInterval = 500_000
)

// heapInUse returns the size of the heap in use after a garbage collection.
func heapInUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

// readAll reads a cursor over TCP to its end, and fails if the heap grows too much.
func readAll(t *testing.T, db *mongo.Database, cmd bson.D, want int) {
	t.Helper()
	start, most := heapInUse(), uint64(0)
	cursor, err := db.RunCommandCursor(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	cursor.SetBatchSize(10_000)
	n := 0
	for cursor.Next(t.Context()) {
		if n++; n%lookInterval == 0 {
			most = max(most, heapInUse())
		}
	}
	if err := cursor.Err(); err != nil || n != want {
		t.Fatalf("%d documents, want %d: %v", n, want, err)
	}
	t.Logf("%d documents; the heap: %d MiB at the start, at most %d MiB", n, start>>20, most>>20)
	if most > start+mostGrowth {
		t.Errorf("the heap grew from %d MiB to %d MiB", start>>20, most>>20)
	}
}

func TestCursorOverTenMillion(t *testing.T) {
	needsLong(t)
	db := served(t, sheaftest.Open(t, nil)).Database("d")
	readAll(t, db, bsonxtest.ParseD(t, pipelineOver(`[{}]`, times(10_000)...)), 10_000_000)
}

func TestCursorOverStoredDocuments(t *testing.T) {
	needsLong(t)
	db := served(t, sheaftest.Open(t, nil)).Database("d")
	const documents, batch = 1_000_000, 10_000
	for i := 0; i < documents; i += batch {
		docs := make([]any, batch)
		for j := range docs {
			docs[j] = bson.D{{"_id", i + j}, {"s", "some text"}}
		}
		if _, err := db.Collection("many").
			InsertMany(t.Context(), docs, options.InsertMany().SetOrdered(false)); err != nil {
			t.Fatal(err)
		}
	}
	readAll(t, db, bsonxtest.ParseD(t, `{"find": "many", "batchSize": 1000}`), documents)
	readAll(t, db, bsonxtest.ParseD(t, `{"aggregate": "many", "cursor": {}, "pipeline": [{"$set": {"j": {"$range": [0, 10]}}}, {"$unwind": "$j"}]}`), 10*documents)
}
