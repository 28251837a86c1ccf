package adversarial

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	// patience is the time limit of a command that an interrupt is to end.
	patience = 30 * time.Millisecond
	// livenessBound is how much processor time may pass between an interrupt and the reply on a busy machine; what does not look
	// at its operation takes longer.
	livenessBound = 3 * time.Second
	// strictBound is the bound with -adversarial.long, on a machine that does nothing else.
	strictBound = 250 * time.Millisecond
)

// overshoot runs a command with a time limit, and returns how much processor time passed between the limit and the reply. Without
// an interrupt it is 0.
func overshoot(t *testing.T, db *mongo.Database, cmd bson.D) (over time.Duration, code int32) {
	t.Helper()
	var limit atomic.Int64
	timer := time.AfterFunc(patience, func() { limit.Store(int64(torture.ProcessorTime())) })
	code, _ = run(t, db, append(cmd, bson.E{Key: "maxTimeMS", Value: patience.Milliseconds()}))
	end := torture.ProcessorTime()
	timer.Stop()
	if at := limit.Load(); at > 0 {
		over = end - time.Duration(at)
	}
	return over, code
}

// checkOvershoot fails where an interrupt is not heard in time.
func checkOvershoot(t *testing.T, db *mongo.Database, name string, cmd bson.D) {
	t.Helper()
	bound := livenessBound
	if *long {
		bound = strictBound
	}
	over, code := overshoot(t, db, cmd)
	if over > 20*time.Millisecond {
		t.Logf("%s: code %d, %v after the interrupt", name, code, over)
	}
	if over > bound {
		t.Errorf("%s: code %d, %v of processor time after the interrupt", name, code, over)
	}
}

// largeValues are values of documents, by the _id of the document that has one as its field v.
func largeValues() map[string]any {
	numbers, texts, docs, words := make(bson.A, 600_000), make(bson.A, 200_000), make(bson.A, 100_000), make([]string, 300_000)
	for i := range numbers {
		numbers[i] = int32((i * 7919) % 1_000_003)
	}
	for i := range texts {
		texts[i] = fmt.Sprintf("text %d", (i*7919)%1_000_003)
	}
	fields := make(bson.D, 200_000)
	for i := range fields {
		fields[i] = bson.E{Key: fmt.Sprintf("f%d", (i*7919)%1_000_003), Value: int32(i)}
	}
	for i := range docs {
		docs[i] = bson.D{{Key: "k", Value: fmt.Sprint(i)}, {Key: "v", Value: int32(i * 7919 % 1_000_003)}}
	}
	for i := range words {
		words[i] = fmt.Sprintf("word%d", i%50_000)
	}
	return map[string]any{
		"numbers": numbers, "texts": texts, "object": fields, "pairs": docs, "text": strings.Join(words, " "),
	}
}

// newLarge returns a database whose collection c has a document for each large value.
func newLarge(t *testing.T) *mongo.Database {
	t.Helper()
	db := newSmall(t)
	for name, v := range largeValues() {
		if _, err := db.Collection("large").InsertOne(t.Context(), bson.D{{Key: "_id", Value: name}, {Key: "v", Value: v}}); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// over is a pipeline over the document with a large value.
func over(kind string, stages ...string) string {
	return `{"aggregate": "large", "cursor": {}, "pipeline": [{"$match": {"_id": "` + kind + `"}}, ` + strings.Join(stages, ", ") + `]}`
}

// typed is a stage that computes an expression of the value and keeps next to nothing of it.
func typed(expr string) string { return `{"$project": {"x": {"$type": ` + expr + `}}}` }
