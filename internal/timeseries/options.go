package timeseries

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// bucketsPrefix is the prefix of the name of a collection with the buckets of a time-series
// collection.
const bucketsPrefix = "system.buckets."

// BucketsName returns the name of the collection with the buckets of a time-series collection.
func BucketsName(name string) string { return bucketsPrefix + name }

// NameOf returns the name of the time-series collection for a collection of buckets. It reports
// false if the collection does not hold buckets.
func NameOf(buckets string) (name string, ok bool) { return strings.CutPrefix(buckets, bucketsPrefix) }

// Limits of buckets.
const (
	// MaxCount is the maximum number of measurements in a bucket. MaxBytes is their maximum size
	// before compression. A single measurement may be larger.
	MaxCount = 1000
	MaxBytes = 125 << 10
	// HeadCount and HeadBytes limit the head of a window, the bucket for single inserts. Each
	// insert rewrites the head, so it is small.
	HeadCount = 32
	HeadBytes = 8 << 10
)

// Granularity is a named choice of the span and the rounding of buckets.
type Granularity struct {
	Name           string
	Span, Rounding int64 // seconds
}

// Granularities are MongoDB's granularities, the finest first.
var Granularities = [...]Granularity{
	{"seconds", 3600, 60},
	{"minutes", 24 * 3600, 3600},
	{"hours", 30 * 24 * 3600, 24 * 3600},
}

// Options are the options of a time-series collection.
type Options struct {
	Time string // the field of the time
	Meta string // the field of the meta value, or ""
	Span int64  // of a bucket, in seconds
	// Rounding is the unit to which the time in control.min is rounded down, in seconds.
	Rounding int64
}

// FromOptions reads the stored option "timeseries" of a collection. It returns nil if the
// collection does not have the option.
func FromOptions(collection bsonx.Doc) *Options {
	v := collection.Lookup("timeseries")
	if v.Type != bsonx.TypeDocument {
		return nil
	}
	doc := v.Doc()
	o := &Options{Time: text(doc.Lookup("timeField")), Meta: text(doc.Lookup("metaField"))}
	o.Span, _ = doc.Lookup("bucketMaxSpanSeconds").AsInt64()
	o.Rounding, _ = doc.Lookup("bucketRoundingSeconds").AsInt64()
	for _, g := range Granularities {
		if text(doc.Lookup("granularity")) == g.Name {
			o.Rounding = g.Rounding
		}
	}
	o.Span = max(o.Span, 1)
	if o.Rounding <= 0 {
		o.Rounding = o.Span
	}
	return o
}

func text(v bsonx.Value) string {
	if v.Type != bsonx.TypeString {
		return ""
	}
	return v.Str()
}

// floorDiv returns a/b rounded down, for positive b.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
