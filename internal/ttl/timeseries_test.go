package ttl_test

import (
	"context"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/timeseries"
	"github.com/sheafdb/sheaf/internal/ttl"
)

// newSeriesFixture returns a fixture for the buckets of a time series. An index has another expiry
// rule for the buckets with the meta value "short".
func newSeriesFixture(t *testing.T, options ...any) *fixture {
	t.Helper()
	spec := bsonx.NewDoc("timeField", "t", "metaField", "m", "granularity", "seconds", "bucketMaxSpanSeconds", 3600)
	rule := bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("control.min.t", 1, "control.max.t", 1), "name", "rule",
		"partialFilterExpression", bsonx.NewDoc("meta", "short"),
		"originalSpec", bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("t", 1), "name", "rule", "expireAfterSeconds", 100))
	f := newFixture(t, bsonx.Empty)
	buckets, err := schema.CreateTimeseries(f.store, "db", "series",
		bsonx.NewDoc(append([]any{"timeseries", spec}, options...)...), rule)
	if err != nil {
		t.Fatal(err)
	}
	f.coll = buckets
	return f
}

// TestSeries checks that whole buckets are removed. The rule of the collection applies when a
// bucket's window and last measurement have expired. The rule of an index applies to some meta
// values.
func TestSeries(t *testing.T) {
	f := newSeriesFixture(t, "expireAfterSeconds", int64(8*3600))
	for _, meta := range []string{"long", "short"} {
		for hours := range int64(12) {
			f.insert(bsonx.NewDoc("t", ago(hours*3600+1800), "m", meta),
				bsonx.NewDoc("t", ago(hours*3600+1900), "m", meta))
		}
	}
	// Before the epoch, and after the last time that an ObjectId can hold.
	f.insert(bsonx.NewDoc("t", bsonx.Date(-1e12), "m", "long"), bsonx.NewDoc("t", bsonx.Date(1e14), "m", "short"))
	f.monitor.Pass(t.Context())
	left := map[string]int{}
	snap := f.store.Engine().NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(f.coll.RecordPrefix(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		doc, err := it.Value()
		if err != nil {
			t.Fatal(err)
		}
		if meta := bsonx.Doc(doc).Lookup("meta"); meta.Type == bsonx.TypeString {
			left[meta.Str()] += timeseries.Count(doc)
		}
	}
	// Eight windows are not older than eight hours. Of "short", the windows of this hour and one in
	// the future remain.
	if left["long"] != 16 || left["short"] != 3 {
		t.Errorf("measurements left: %v", left)
	}
}

// TestSparseSeries checks that a pass finds the few expired buckets after many that have not
// expired.
func TestSparseSeries(t *testing.T) {
	f := newSeriesFixture(t)
	f.monitor.SetTurn(128)
	for meta := range 300 {
		f.insert(bsonx.NewDoc("t", ago(50*3600), "m", meta))
	}
	f.insert(bsonx.NewDoc("t", ago(10*3600), "m", "short"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	f.monitor.Pass(ctx)
	if got, want := f.monitor.Stats(), (ttl.Stats{Deleted: 1, Passes: 1, SubPasses: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
