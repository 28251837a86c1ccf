package scenarios

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/timeseries"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func timeseriesScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "timeseries", Group: "timeseries", Users: 1000,
		Title: "Add a sample to a time series",
		Doc: `A user adds an amount to the value of a series for the current second (or minute, or hour): 1 update that increments the sum of a bucket; with design
native, 1 insert. With preAllocate, the documents of the current and the next bucket exist in advance, with zeros.

  buckets  {tag: "series-7", timestamp: ISODate("2014-01-01T10:01:00Z"), total: 3, seconds: {"2": 1, "59": 2}}
  windows  {tag, timestamp, visits: {minutes: [[0, 3, …], … 6 arrays of 60], hours: [3, 0, 0, 0, 0, 0]}}
  native   {tag, timestamp, n: 1}, in a time-series collection`,
		Params: []scenario.Param{
			whole("numberOfTimeSeries", "how many series there are", 1000, 1, 1_000_000),
			choice("resolution", "period of a bucket, which has sums for its seconds, minutes or hours", "minute", "hour", "day"),
			flag("preAllocate", "whether buckets or windows are created in advance", true),
			choice("design", "how series are stored", "buckets", "windows", "native"),
		},
		New: newSampling,
	}}
}

// sampling implements the scenario timeseries.
type sampling struct {
	still
	timeseries.Series
	coll     *mongo.Collection
	patterns patterns.Env
	series   int
	total    any // the expression that adds up the samples of a document
	span     time.Duration
	// preallocate creates the documents of a time range in advance. It is nil if the scenario does
	// not do that.
	preallocate func(ctx context.Context, tag string, from, to time.Time) (int64, error)
}

func newSampling(env scenario.Env) (scenario.Scenario, error) {
	const name = "series"
	p := env.Params
	s := &sampling{
		coll: env.DB.Collection(name), patterns: env.Patterns.WithDefaults(),
		series: p.Int("numberOfTimeSeries"),
	}
	cfg := timeseries.Config{Env: env.Patterns, Collection: name}
	switch p.String("resolution") {
	case "minute":
		cfg.Resolution, s.span = timeseries.Seconds, time.Minute
	case "hour":
		cfg.Resolution, s.span = timeseries.Minutes, time.Hour
	default:
		cfg.Resolution, s.span = timeseries.Hours, 24*time.Hour
	}
	switch p.String("design") {
	case "native":
		series, err := timeseries.NewNative(env.DB, cfg)
		s.Series, s.total = series, "$n"
		return s, err
	case "windows":
		series, err := timeseries.NewWindows(env.DB, cfg)
		s.Series, s.total, s.span = series, bson.D{{"$sum", "$visits.hours"}}, 6*time.Hour
		if p.Bool("preAllocate") && err == nil {
			s.preallocate = series.Preallocate
		}
		return s, err
	default:
		series, err := timeseries.New(env.DB, cfg)
		s.Series, s.total = series, "$total"
		if p.Bool("preAllocate") && err == nil {
			s.preallocate = series.Preallocate
		}
		return s, err
	}
}

func tagOf(n int) string { return fmt.Sprint("series-", n) }

// Setup implements scenario.Scenario.
func (s *sampling) Setup(ctx context.Context) error {
	if err := s.EnsureIndexes(ctx); err != nil || s.preallocate == nil {
		return err
	}
	now := s.patterns.Now()
	return eachOf(ctx, s.series, func(ctx context.Context, i int) error {
		_, err := s.preallocate(ctx, tagOf(i), now.Add(1-s.span), now.Add(s.span+1))
		return err
	})
}

// mostOfSample is the greatest value of a sample.
const mostOfSample = 10

// Run implements scenario.Scenario.
func (s *sampling) Run(ctx context.Context, u *scenario.User) error {
	n := 1 + u.Rand.Int64N(mostOfSample)
	if err := s.Add(ctx, timeseries.Sample{Tag: tagOf(u.Rand.IntN(s.series)), At: u.Now(), N: n}); err != nil {
		return err
	}
	u.Count("added", n)
	return nil
}

// Check implements scenario.Scenario.
func (s *sampling) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Series.Check(ctx)
	if err != nil {
		return nil, err
	}
	sum, err := sumOf(ctx, s.coll, s.total)
	return append(out, counted("the sums have all that was added", s.coll.Name(), sum, t.Counts["added"],
		unsure(t, mostOfSample))...), err
}
