package sheaf_test

import (
	"errors"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// requestMemory returns the section requestMemory of serverStatus.
func requestMemory(t *testing.T, db *sheaf.DB) (m struct {
	LimitBytes, UsedBytes, PeakBytes, RequestedBytes, Waiting, Refused, Ended int64
},
) {
	t.Helper()
	raw, err := db.Client().Database("admin").RunCommand(t.Context(), bson.D{{"serverStatus", 1}}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	figure := func(name string) int64 { return raw.Lookup("requestMemory", name).AsInt64() }
	m.LimitBytes, m.UsedBytes, m.PeakBytes, m.RequestedBytes = figure("limitBytes"), figure("usedBytes"),
		figure("peakBytes"), figure("requestedBytes")
	m.Waiting, m.Refused, m.Ended = figure("waiting"), figure("refused"), figure("ended")
	return m
}

// TestRequestMemoryIsTold: serverStatus reports the memory of a running request, and counts a
// refused request.
func TestRequestMemoryIsTold(t *testing.T) {
	t.Parallel()
	const limit = 16 << 20
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{RequestMemory: limit})
	before := requestMemory(t, db)
	if before.LimitBytes != limit || before.Refused != 0 {
		t.Fatalf("at the start %+v", before)
	}
	coll := db.Client().Database("d").Collection("c")
	for range 24 {
		if _, err := coll.InsertOne(t.Context(), bson.D{{"p", strings.Repeat("x", 1<<20)}}); err != nil {
			t.Fatal(err)
		}
	}
	all := bson.D{{"_id", 1}, {"all", bson.D{{"$push", "$p"}}}}
	_, err := coll.Aggregate(t.Context(), mongo.Pipeline{{{"$group", all}}})
	var refused mongo.CommandError
	if !errors.As(err, &refused) || refused.Code != 146 {
		t.Errorf("a group of 24 MiB: %v", err)
	}
	after := requestMemory(t, db)
	if after.Refused == 0 || after.PeakBytes < limit/2 || after.PeakBytes > limit+limit/4 ||
		after.RequestedBytes < limit {
		t.Errorf("after the refusal %+v", after)
	}
	if after.UsedBytes > limit/4 || after.Waiting != 0 {
		t.Errorf("something is left %+v", after)
	}
}

// TestLargeSortsAlone sorts documents that, together or with their sort keys, need more memory than
// all requests may use. A sort that runs alone spills to disk, leaves memory for the reply, and is
// not refused.
func TestLargeSortsAlone(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	// A document with its sort key, and the preceding reply, need 7 times the size of the document.
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{RequestMemory: 8 * size})
	coll := db.Client().Database("d").Collection("c")
	for i := range 12 {
		text := strings.Repeat([]string{"aa", "xa"}[i%2], size/2)
		if _, err := coll.InsertOne(t.Context(), bson.D{{"_id", i}, {"s", text}}); err != nil {
			t.Fatal(err)
		}
		if i == 4 || i == 11 {
			sortLarge(t, coll, i+1)
		}
	}
}

// sortLarge sorts large documents by a large field, and by a field that they do not have.
func sortLarge(t *testing.T, coll *mongo.Collection, documents int) {
	t.Helper()
	for _, field := range []string{"s", "n"} {
		sort := bson.D{{field, 1}}
		found, err := coll.Find(t.Context(), bson.D{}, options.Find().SetSort(sort))
		mustCount(t, "find by "+field, documents, found, err)
		for name, last := range map[string]bson.D{
			"whole documents": {{"$match", bson.D{}}},
			"numbers":         {{"$project", bson.D{{"s", 0}}}},
		} {
			found, err := coll.Aggregate(t.Context(), mongo.Pipeline{{{"$unwind", "$_id"}}, {{"$sort", sort}}, last})
			mustCount(t, name+" by "+field, documents, found, err)
		}
	}
}

// mustCount reads a cursor to its end, and checks the number of documents.
func mustCount(t *testing.T, name string, want int, c *mongo.Cursor, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	n := 0
	for c.Next(t.Context()) {
		n++
	}
	if err := c.Err(); err != nil || n != want {
		t.Errorf("%s: %d documents, want %d: %v", name, n, want, err)
	}
}
