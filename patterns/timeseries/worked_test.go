package timeseries_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/timeseries"
)

// TestW037 adds to the same second twice, in a minute without a bucket. A sample of the next second
// adds the second key of W038.
func TestW037(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	b := buckets(t, db, timeseries.Config{})
	for i, second := range []int{2, 2, 3} {
		at := time.Date(2014, 1, 1, 10, 1, second, 0, time.UTC)
		must(t, b.Add(t.Context(), timeseries.Sample{Tag: "/index.htm", At: at, N: 1}))
		var doc bson.M
		must(t, db.Collection("series").FindOne(t.Context(), bson.D{}).Decode(&doc))
		want := []string{
			`/index.htm 2014-01-01T10:01:00.000Z 1 {"2":{"$numberLong":"1"}}`,
			`/index.htm 2014-01-01T10:01:00.000Z 2 {"2":{"$numberLong":"2"}}`,
			`/index.htm 2014-01-01T10:01:00.000Z 3 {"2":{"$numberLong":"2"},"3":{"$numberLong":"1"}}`,
		}[i]
		stamp := doc["timestamp"].(bson.DateTime).Time().UTC().Format("2006-01-02T15:04:05.000Z")
		if got := fmt.Sprint(doc["tag"], " ", stamp, " ", doc["total"], " ", doc["seconds"]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestW039 creates the documents of an hour beforehand.
func TestW039(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	b := buckets(t, db, timeseries.Config{})
	if n, err := b.Preallocate(t.Context(), "/index.htm", begin, begin.Add(time.Hour)); err != nil || n != 60 {
		t.Errorf("%d documents: %v", n, err)
	}
	mustHold(t, b)
	var doc struct{ Seconds map[string]int64 }
	must(t, db.Collection("series").FindOne(t.Context(), bson.D{}).Decode(&doc))
	if len(doc.Seconds) != 60 {
		t.Errorf("%d seconds", len(doc.Seconds))
	}
}

// TestW040 adds to a template of six hours, whose shape does not change.
func TestW040(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	w := windows(t, db, timeseries.Config{})
	start := time.Date(2014, 1, 1, 6, 0, 0, 0, time.UTC)
	if n, err := w.Preallocate(t.Context(), "fred", start, start.Add(time.Hour)); err != nil || n != 1 {
		t.Errorf("%d documents: %v", n, err)
	}
	must(t, w.Add(t.Context(), timeseries.Sample{Tag: "fred", At: start, N: 3}))
	// Check verifies that the window has six hours of sixty minutes.
	mustHold(t, w)
	var doc struct {
		Visits struct {
			Minutes [][]int64
			Hours   []int64
		}
	}
	must(t, db.Collection("series").FindOne(t.Context(), bson.D{}).Decode(&doc))
	if doc.Visits.Minutes[0][0] != 3 || fmt.Sprint(doc.Visits.Hours) != "[3 0 0 0 0 0]" {
		t.Error(doc)
	}
}

// TestW041 removes a field that only reserved space in the document.
func TestW041(t *testing.T) {
	t.Parallel()
	coll := patterntest.Open(t).Collection("c")
	_, err := coll.InsertOne(t.Context(), bson.D{{"_id", 123}, {"a", 1}, {"garbage", "xxxxxxxxxxxx"}})
	must(t, err)
	_, err = coll.UpdateOne(t.Context(), bson.D{{"_id", 123}}, bson.D{{"$unset", bson.D{{"garbage", 1}}}})
	must(t, err)
	var doc bson.D
	must(t, coll.FindOne(t.Context(), bson.D{}).Decode(&doc))
	if got := fmt.Sprint(doc); got != `{"_id":{"$numberInt":"123"},"a":{"$numberInt":"1"}}` {
		t.Error(got)
	}
}
