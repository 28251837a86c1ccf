package timeseries

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// store is the common part of Buckets and Windows. It keeps one document for each tag and span of
// time. A document is created with zeros beforehand, or when the first sample needs it.
type store struct {
	env  patterns.Env
	coll *mongo.Collection
	cfg  Config
	span time.Duration
	// ahead is the length of the time for which documents are created beforehand in one go.
	ahead time.Duration
	zeros func() bson.D

	prepared patterns.Prepared
}

// key identifies a document.
type key struct {
	tag   string
	start int64
}

func (s *store) key(sample Sample) key {
	return key{sample.Tag, floor(sample.At, s.span).UnixMilli()}
}

func (k key) filter() bson.D {
	return bson.D{{tagField, k.tag}, {timeField, time.UnixMilli(k.start)}}
}

// Preallocate creates the documents of a tag that begin in [from, to), with zeros. It does not
// change documents that exist, so that their sums stay. It returns the number of documents that
// then exist.
func (s *store) Preallocate(ctx context.Context, tag string, from, to time.Time) (int64, error) {
	if err := s.ready(ctx); err != nil {
		return 0, err
	}
	var models []mongo.WriteModel
	first := floor(from.Add(s.span-1), s.span)
	for start := first; start.Before(to); start = start.Add(s.span) {
		zeros := bson.D{{"$setOnInsert", s.zeros()}}
		models = append(models,
			mongo.NewUpdateOneModel().SetFilter(key{tag, start.UnixMilli()}.filter()).SetUpdate(zeros).SetUpsert(true))
	}
	if err := patterns.Upsert(ctx, s.coll, models); err != nil {
		return 0, fmt.Errorf("timeseries: make documents of %s: %w", tag, err)
	}
	when := bson.D{{"$gte", first}, {"$lt", to}}
	n, err := s.coll.CountDocuments(ctx, bson.D{{tagField, tag}, {timeField, when}})
	if err != nil {
		return 0, fmt.Errorf("timeseries: count the documents of %s: %w", tag, err)
	}
	return n, nil
}

// prefill creates the next documents of some tags. It only logs errors: without these documents,
// the first sample creates them.
func (s *store) prefill(ctx context.Context, samples []Sample) {
	if s.cfg.Prefill == 0 {
		return
	}
	next := s.next()
	for _, sample := range samples {
		if !sample.At.Before(next) || sample.At.Before(next.Add(-s.ahead)) || rand.Float64() >= s.cfg.Prefill {
			continue
		}
		if _, err := s.Preallocate(ctx, sample.Tag, next, next.Add(s.ahead)); err != nil {
			s.env.Logger.Warn("the next documents of a tag were not made", "tag", sample.Tag, "error", err)
		}
	}
}

// next returns the time at which the next documents begin.
func (s *store) next() time.Time { return floor(s.env.Now(), s.ahead).Add(s.ahead) }

// PreallocateNext creates the documents of the next hour (the next six hours of Windows) for all
// tags that have samples in the current hour. It distributes the work over the time until half of
// Config.Lead before the next hour. It returns the number of tags.
func (s *store) PreallocateNext(ctx context.Context) (tags int, err error) {
	next := s.next()
	now := bson.D{{timeField, bson.D{{"$gte", next.Add(-s.ahead)}, {"$lt", next}}}}
	var active []string
	if err := s.coll.Distinct(ctx, tagField, now).Decode(&active); err != nil {
		return 0, fmt.Errorf("timeseries: find the tags of the hour: %w", err)
	}
	for i, tag := range active {
		if _, err := s.Preallocate(ctx, tag, next, next.Add(s.ahead)); err != nil {
			return i, err
		}
		left := time.Duration(len(active) - 1 - i)
		if pause := next.Sub(s.env.Now()) - s.cfg.Lead/2; pause > 0 && left > 0 {
			if err := s.env.Clock.Sleep(ctx, pause/(left+1)); err != nil {
				return i, err
			}
		}
	}
	return len(active), nil
}

// Run calls PreallocateNext before each hour (before every sixth hour for Windows) until ctx ends.
// Several processes may call Run at the same time.
func (s *store) Run(ctx context.Context) error {
	for {
		next := s.next()
		if err := s.env.Clock.Sleep(ctx, next.Add(-s.cfg.Lead).Sub(s.env.Now())); err != nil {
			return err
		}
		n, err := s.PreallocateNext(ctx)
		if err != nil && ctx.Err() == nil {
			s.env.Logger.Warn("the next documents were not made", "error", err)
		}
		s.env.Metrics.Add("timeseries.preallocated", int64(n))
		if err := s.env.Clock.Sleep(ctx, next.Sub(s.env.Now())); err != nil {
			return err
		}
	}
}

// Indexes returns the index by which queries find documents, and the index that removes old
// documents.
func (s *store) Indexes() []patterns.Index {
	byTime := options.Index()
	if s.cfg.Keep > 0 {
		byTime.SetExpireAfterSeconds(seconds(s.cfg.Keep))
	}
	byTag := bson.D{{tagField, 1}, {timeField, 1}}
	return []patterns.Index{
		{Collection: s.coll.Name(), Model: mongo.IndexModel{Keys: byTag, Options: options.Index().SetUnique(true)}},
		{Collection: s.coll.Name(), Model: mongo.IndexModel{Keys: bson.D{{timeField, 1}}, Options: byTime}},
	}
}

func seconds(d time.Duration) int32 { return int32(min(d/time.Second, 1<<31-1)) }

// EnsureIndexes creates the indexes.
func (s *store) EnsureIndexes(ctx context.Context) error {
	return s.prepared.Ensure(ctx, s.coll.Database(), s.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, a tag could have
// two documents for one span of time.
func (s *store) ready(ctx context.Context) error {
	return s.prepared.Check(ctx, s.coll.Database(), s.cfg.Logger, s.Indexes)
}

// ShardKeys returns the shard key of the collection. The documents of a tag stay on one shard until
// they are many.
func (s *store) ShardKeys() []patterns.ShardKey {
	byTag := bson.D{{tagField, 1}, {timeField, 1}}
	return []patterns.ShardKey{{Collection: s.coll.Name(), Key: byTag, Unique: true}}
}

// Shard shards the collection by the key of ShardKeys.
func (s *store) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, s.coll.Database(), s.ShardKeys())
}

// last finds the last document of a tag that meets a condition.
func (s *store) last(ctx context.Context, tag string, condition bson.E, doc any) error {
	opts := options.FindOne().SetSort(bson.D{{timeField, -1}})
	return lastError(tag, s.coll.FindOne(ctx, bson.D{{tagField, tag}, condition}, opts).Decode(doc))
}

// RuleOne is a rule of Buckets.Check and Windows.Check.
const RuleOne = "a tag has one document for each span of time, which begins with it"

// check lists the documents for which the expression wrong is true as violations of rule, and the
// documents that violate RuleOne.
func (s *store) check(ctx context.Context, rule string, wrong any) (out []patterns.Violation, err error) {
	misplaced := bson.D{{"$ne", bson.A{"$" + timeField, floorOf("$"+timeField, s.span)}}}
	for _, r := range []struct {
		rule   string
		stages mongo.Pipeline
	}{
		{rule, mongo.Pipeline{{{"$match", bson.D{{"$expr", wrong}}}}}},
		{RuleOne, mongo.Pipeline{{{"$match", bson.D{{"$expr", misplaced}}}}}},
		{RuleOne, mongo.Pipeline{
			{{"$group", bson.D{
				{"_id", bson.D{{"tag", "$" + tagField}, {"time", "$" + timeField}}},
				{"n", bson.D{{"$sum", 1}}},
			}}},
			{{"$match", bson.D{{"n", bson.D{{"$gt", 1}}}}}},
		}},
	} {
		found, err := s.coll.Aggregate(ctx, r.stages, options.Aggregate().SetAllowDiskUse(true))
		if err != nil {
			return nil, fmt.Errorf("timeseries: check %s: %w", s.coll.Name(), err)
		}
		var docs []bson.Raw
		if err := found.All(ctx, &docs); err != nil {
			return nil, fmt.Errorf("timeseries: check %s: %w", s.coll.Name(), err)
		}
		for _, doc := range docs {
			out = append(out, patterns.Violation{
				Rule: r.rule, Collection: s.coll.Name(),
				ID: doc.Lookup("_id"), Detail: doc.String(),
			})
		}
	}
	return out, nil
}
