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

// Errors of series.
var (
	// ErrStep is returned for a step that is not a positive multiple of what the design tells
	// apart.
	ErrStep = errors.New("timeseries: the step is not a multiple of the resolution")
	// ErrRange is returned for a query of more than MaxPoints points.
	ErrRange = errors.New("timeseries: the query would have too many points")
	// ErrNone is returned by Last for a tag without samples.
	ErrNone = errors.New("timeseries: there are no samples")
	// ErrNative is returned by a server that has no time-series collections.
	ErrNative = errors.New("timeseries: the server has no time-series collections")
)

// MaxPoints is how many points a query may return.
const MaxPoints = 100_000

// Series is what the three designs have in common.
type Series interface {
	// Add adds samples to the sums of their times.
	Add(ctx context.Context, samples ...Sample) error
	// Query returns the sums of a tag from one time to another, one for each step. from is rounded
	// down and to up to a multiple of step since 1970; where there are no samples, the sum is zero.
	Query(ctx context.Context, tag string, from, to time.Time, step time.Duration) ([]Point, error)
	// Last returns the last point of a tag that is not zero, or ErrNone.
	Last(ctx context.Context, tag string) (Point, error)
	// EnsureIndexes creates what the design needs.
	EnsureIndexes(ctx context.Context) error
	// Check lists what contradicts the design's rules.
	Check(ctx context.Context) ([]patterns.Violation, error)
}

// Sample is an amount that belongs to a time: views, bytes, cents.
type Sample struct {
	Tag string
	At  time.Time
	N   int64
}

// Point is the sum of what belongs to the time from Start on.
type Point struct {
	Start time.Time
	N     int64
}

// Resolution is what Buckets tell apart.
type Resolution int

// Resolutions.
const (
	Seconds Resolution = iota // a bucket is a minute
	Minutes                   // a bucket is an hour
	Hours                     // a bucket is a day, by UTC
)

// Config configures a series. The zero value works.
type Config struct {
	patterns.Env
	// Collection is "series" if empty. Each design needs one of its own.
	Collection string
	// Resolution is what Buckets tell apart, and what Native tells the server of the distance of
	// samples.
	Resolution Resolution
	// Keep removes documents this long after the time that they begin with. Zero keeps them.
	Keep time.Duration
	// Prefill is the probability with which a sample makes the documents of its tag's next hour (of
	// the next six, in Windows): one over the number of a tag's samples in that time. Zero never
	// does.
	Prefill float64
	// Lead is how long before its begin Run makes the documents of the next hour; DefaultLead if
	// zero.
	Lead time.Duration
}

// DefaultLead is when Run makes the documents of the next hour.
const DefaultLead = 10 * time.Minute

// The fields that documents of all designs have.
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

// floorOf is the expression of floor.
func floorOf(at any, d time.Duration) bson.D {
	since := bson.D{{"$subtract", bson.A{at, time.UnixMilli(0)}}}
	whole := bson.D{{"$multiply", bson.A{
		bson.D{{"$floor", bson.D{{"$divide", bson.A{since, d.Milliseconds()}}}}}, d.Milliseconds(),
	}}}
	return bson.D{{"$add", bson.A{time.UnixMilli(0), whole}}}
}

// query is a rounded query.
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

// match selects the documents of a query, where each of them covers a span of time.
func (q *query) match(span time.Duration) bson.D {
	when := bson.D{{"$gte", floor(q.from, span)}, {"$lt", q.to}}
	return bson.D{{"$match", bson.D{{tagField, q.tag}, {timeField, when}}}}
}

// run sums up what stages leave: n at the time at. Points without a sum are zero.
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

// at is the expression for a time in a document.
func at(offset any, unit time.Duration) bson.D {
	millis := bson.D{{"$multiply", bson.A{offset, unit.Milliseconds()}}}
	return bson.D{{"$add", bson.A{"$" + timeField, millis}}}
}
