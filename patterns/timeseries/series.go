package timeseries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// The errors of the package.
var (
	// ErrStep is returned for a step that is not a positive multiple of the resolution of the
	// design.
	ErrStep = errors.New("timeseries: the step is not a multiple of the resolution")
	// ErrRange is returned for a query of more than MaxPoints points.
	ErrRange = errors.New("timeseries: the query would have too many points")
	// ErrNone is returned by Last if the tag has no samples that are not zero.
	ErrNone = errors.New("timeseries: there are no samples")
	// ErrNative is returned by Native.EnsureIndexes if the server does not support time-series
	// collections.
	ErrNative = errors.New("timeseries: the server has no time-series collections")
)

// MaxPoints is the largest number of points of a query.
const MaxPoints = 100_000

// Series is the interface of the three designs.
type Series interface {
	// Add adds each sample to the sum of its time.
	Add(ctx context.Context, samples ...Sample) error
	// Query divides the time between from and to into steps. For each step it returns a point with
	// the sum of the tag's samples, or zero if the step has no samples. Query rounds from down, and
	// to up, to multiples of step since 1970.
	Query(ctx context.Context, tag string, from, to time.Time, step time.Duration) ([]Point, error)
	// Last returns the last point of a tag that is not zero, or ErrNone.
	Last(ctx context.Context, tag string) (Point, error)
	// EnsureIndexes creates the indexes of the design, and the collection if needed.
	EnsureIndexes(ctx context.Context) error
	// Check lists the violations of the rules of the design.
	Check(ctx context.Context) ([]patterns.Violation, error)
}

// Sample is an amount at a time: views, bytes or cents.
type Sample struct {
	Tag string
	At  time.Time
	N   int64
}

// Point is the sum of the samples of the step that begins at Start.
type Point struct {
	Start time.Time
	N     int64
}

// Resolution is the length of the shortest time for which Buckets keeps its own sum.
type Resolution int

// These are the values of Config.Resolution.
const (
	// Seconds keeps a sum for each second. A bucket is a minute.
	Seconds Resolution = iota
	// Minutes keeps a sum for each minute. A bucket is an hour.
	Minutes
	// Hours keeps a sum for each hour. A bucket is a day in UTC.
	Hours
)

// Config configures a series. The zero value works.
type Config struct {
	patterns.Env
	// Collection is the name of the collection; "series" if empty. Each design needs its own
	// collection.
	Collection string
	// Resolution is the resolution of Buckets. Native passes it to the server as the granularity of
	// the collection.
	Resolution Resolution
	// Keep is how long documents are kept after the time at which they begin. If it is zero, they
	// are kept for ever.
	Keep time.Duration
	// Prefill is the probability with which a sample creates the documents of its tag's next hour
	// (the next six hours of Windows; the next day of Buckets with the resolution Hours). A good
	// value is one over the number of samples that a tag has in that time. If it is zero, samples
	// do not create documents beforehand.
	Prefill float64
	// Lead is how long before the next hour Run begins to create the documents of that hour;
	// DefaultLead if zero.
	Lead time.Duration
}

// DefaultLead is the default of Config.Lead.
const DefaultLead = 10 * time.Minute

// The fields that the documents of all designs have.
const (
	tagField  = "tag"
	timeField = "timestamp"
)

func (cfg Config) withDefaults() (Config, error) {
	if cfg.Keep < 0 || cfg.Lead < 0 || cfg.Prefill < 0 || cfg.Prefill > 1 ||
		cfg.Resolution < Seconds || cfg.Resolution > Hours {
		return cfg, fmt.Errorf("timeseries: keep %v, lead %v, prefill %v, resolution %d", cfg.Keep,
			cfg.Lead, cfg.Prefill, cfg.Resolution)
	}
	cfg.Env = cfg.Env.WithDefaults()
	if cfg.Collection == "" {
		cfg.Collection = "series"
	}
	if cfg.Lead == 0 {
		cfg.Lead = DefaultLead
	}
	return cfg, nil
}

// floor rounds a time down to a multiple of d since 1970.
func floor(t time.Time, d time.Duration) time.Time {
	rest := t.UnixMilli() % d.Milliseconds()
	if rest < 0 {
		rest += d.Milliseconds()
	}
	return time.UnixMilli(t.UnixMilli() - rest).UTC()
}

// floorOf is floor as an expression of the server.
func floorOf(at any, d time.Duration) bson.D {
	since := bson.D{{"$subtract", bson.A{at, time.UnixMilli(0)}}}
	whole := bson.D{{"$multiply", bson.A{
		bson.D{{"$floor", bson.D{{"$divide", bson.A{since, d.Milliseconds()}}}}}, d.Milliseconds(),
	}}}
	return bson.D{{"$add", bson.A{time.UnixMilli(0), whole}}}
}

// query is a query whose times are rounded to whole steps.
type query struct {
	tag      string
	from, to time.Time
	step     time.Duration
}

func newQuery(tag string, from, to time.Time, step, resolution time.Duration) (*query, error) {
	if step <= 0 || step%resolution != 0 {
		return nil, ErrStep
	}
	q := &query{tag: tag, from: floor(from, step), to: floor(to.Add(step-1), step), step: step}
	if q.to.Before(q.from) {
		q.to = q.from
	}
	if q.to.Sub(q.from)/step > MaxPoints {
		return nil, ErrRange
	}
	return q, nil
}

// match returns the stage that selects the documents of a query, if each document covers the given
// span.
func (q *query) match(span time.Duration) bson.D {
	when := bson.D{{"$gte", floor(q.from, span)}, {"$lt", q.to}}
	return bson.D{{"$match", bson.D{{tagField, q.tag}, {timeField, when}}}}
}

// run sums up the results of stages: each result has a number n and a time at. A point without
// results has the sum zero.
func (q *query) run(ctx context.Context, coll *mongo.Collection, stages mongo.Pipeline) ([]Point, error) {
	stages = append(stages,
		bson.D{{"$match", bson.D{{"at", bson.D{{"$gte", q.from}, {"$lt", q.to}}}}}},
		bson.D{{"$group", bson.D{{"_id", floorOf("$at", q.step)}, {"n", bson.D{{"$sum", "$n"}}}}}})
	found, err := coll.Aggregate(ctx, stages)
	if err != nil {
		return nil, fmt.Errorf("timeseries: sum up %s: %w", coll.Name(), err)
	}
	var sums []struct {
		Start time.Time `bson:"_id"`
		N     int64     `bson:"n"`
	}
	if err := found.All(ctx, &sums); err != nil {
		return nil, fmt.Errorf("timeseries: sum up %s: %w", coll.Name(), err)
	}
	points := make([]Point, q.to.Sub(q.from)/q.step)
	for i := range points {
		points[i].Start = q.from.Add(time.Duration(i) * q.step)
	}
	for _, s := range sums {
		points[s.Start.Sub(q.from)/q.step].N = s.N
	}
	return points, nil
}

// at is an expression for the time that lies offset units after the timestamp of a document.
func at(offset any, unit time.Duration) bson.D {
	millis := bson.D{{"$multiply", bson.A{offset, unit.Milliseconds()}}}
	return bson.D{{"$add", bson.A{"$" + timeField, millis}}}
}
