package timeseries

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Native is a series in a time-series collection. The server keeps the single samples in it,
// compressed. Native is safe for concurrent use.
type Native struct {
	env  patterns.Env
	coll *mongo.Collection
	cfg  Config

	prepared patterns.Prepared
}

var _ Series = (*Native)(nil)

// NewNative returns a series in a time-series collection of db. It does not use Config.Prefill and
// Config.Lead.
func NewNative(db *mongo.Database, cfg Config) (*Native, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Native{env: cfg.Env, coll: db.Collection(cfg.Collection), cfg: cfg}, nil
}

// Error codes of the server.
const (
	namespaceExists = 48
	unknownField    = 40415
)

// EnsureIndexes implements Series. It creates the collection, because a collection can become a
// time-series collection only when it is created.
func (s *Native) EnsureIndexes(ctx context.Context) error {
	granularity := [...]string{Seconds: "seconds", Minutes: "minutes", Hours: "hours"}[s.cfg.Resolution]
	opts := options.CreateCollection().SetTimeSeriesOptions(
		options.TimeSeries().SetTimeField(timeField).SetMetaField(tagField).SetGranularity(granularity))
	if s.cfg.Keep > 0 {
		opts.SetExpireAfterSeconds(int64(seconds(s.cfg.Keep)))
	}
	err := s.coll.Database().CreateCollection(ctx, s.coll.Name(), opts)
	var failed mongo.ServerError
	if errors.As(err, &failed) {
		switch {
		case failed.HasErrorCode(namespaceExists):
			err = nil
		// The server is older than MongoDB 5.0.
		case failed.HasErrorCode(unknownField):
			return fmt.Errorf("%w: %w", ErrNative, err)
		}
	}
	if err != nil {
		return fmt.Errorf("timeseries: create %s: %w", s.coll.Name(), err)
	}
	if err := patterns.EnsureIndexes(ctx, s.coll.Database(), s.Indexes()); err != nil {
		return err
	}
	return s.ready(ctx)
}

// ready fails if the collection is an ordinary one: an insert before the first EnsureIndexes
// creates an ordinary collection.
func (s *Native) ready(ctx context.Context) error {
	return s.prepared.CheckKind(ctx, s.coll, patterns.TimeSeries)
}

// Indexes returns the index by which queries find samples. MongoDB 6.3 and later create this index
// themselves.
func (s *Native) Indexes() []patterns.Index {
	byTag := bson.D{{tagField, 1}, {timeField, 1}}
	return []patterns.Index{{Collection: s.coll.Name(), Model: mongo.IndexModel{Keys: byTag}}}
}

// ShardKeys returns the shard key of the samples.
func (s *Native) ShardKeys() []patterns.ShardKey {
	return []patterns.ShardKey{{Collection: s.coll.Name(), Key: bson.D{{tagField, 1}, {timeField, 1}}}}
}

// Shard shards the collection by the key of ShardKeys.
func (s *Native) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}

// Add implements Series. It inserts all samples with one command. After an error, some samples may
// be stored and others not.
func (s *Native) Add(ctx context.Context, samples ...Sample) error {
	if len(samples) == 0 {
		return nil
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	docs := make([]bson.D, len(samples))
	for i, sample := range samples {
		docs[i] = bson.D{{timeField, sample.At}, {tagField, sample.Tag}, {"n", sample.N}}
	}
	if _, err := s.coll.InsertMany(ctx, docs, options.InsertMany().SetOrdered(false)); err != nil {
		return fmt.Errorf("timeseries: add samples: %w", err)
	}
	return nil
}

// Query implements Series. The step must be a multiple of a millisecond.
func (s *Native) Query(ctx context.Context, tag string, from, to time.Time, step time.Duration) ([]Point, error) {
	q, err := newQuery(tag, from, to, step, time.Millisecond)
	if err != nil {
		return nil, err
	}
	samples := bson.D{{"$project", bson.D{{"at", "$" + timeField}, {"n", 1}}}}
	return q.run(ctx, s.coll, mongo.Pipeline{q.match(time.Millisecond), samples})
}

// Last implements Series. The point is the last sample that is not zero.
func (s *Native) Last(ctx context.Context, tag string) (Point, error) {
	var sample struct {
		At time.Time `bson:"timestamp"`
		N  int64     `bson:"n"`
	}
	opts := options.FindOne().SetSort(bson.D{{timeField, -1}})
	filter := bson.D{{tagField, tag}, {"n", bson.D{{"$ne", 0}}}}
	err := lastError(tag, s.coll.FindOne(ctx, filter, opts).Decode(&sample))
	return Point{Start: sample.At.UTC(), N: sample.N}, err
}

// Check implements Series. It finds no violations: Native stores no sums that could be wrong.
func (s *Native) Check(context.Context) ([]patterns.Violation, error) { return nil, nil }
