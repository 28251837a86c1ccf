package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// touched holds the keys to sum up, by the start of the hour, day, week, month or year in
// milliseconds.
type touched map[int64]map[string]bson.RawValue

func (t touched) add(start time.Time, key bson.RawValue) {
	keys := t[start.UnixMilli()]
	if keys == nil {
		keys = map[string]bson.RawValue{}
		t[start.UnixMilli()] = keys
	}
	keys[nameOf(key)] = key
}

func (t touched) size() (n int) {
	for _, keys := range t {
		n += len(keys)
	}
	return n
}

// nameOf returns a key as a string that a map can use.
func nameOf(key bson.RawValue) string { return string(append([]byte{byte(key.Type)}, key.Value...)) }

// quarter is the resolution in which the server groups times: the hours of all time zones consist
// of quarters.
const quarter = 15 * time.Minute

// quarterOf returns the expression for the quarter of an hour that contains a time.
func quarterOf(at string) bson.D {
	since := bson.D{{"$subtract", bson.A{at, time.UnixMilli(0)}}}
	n := bson.D{{"$floor", bson.D{{"$divide", bson.A{since, quarter.Milliseconds()}}}}}
	return bson.D{{"$add", bson.A{time.UnixMilli(0), bson.D{{"$multiply", bson.A{n, quarter.Milliseconds()}}}}}}
}

// touched returns the keys and hours of the events for which the time in the given field is in
// [from, to).
func (r *Rollup) touched(ctx context.Context, field string, from, to time.Time) (touched, error) {
	found, err := r.events.Aggregate(ctx, mongo.Pipeline{
		{{"$match", bson.D{{field, bson.D{{"$gte", from}, {"$lt", to}}}}}},
		{{"$group", bson.D{{"_id", bson.D{
			{"u", "$" + r.cfg.KeyField}, {"d", quarterOf("$" + r.cfg.TimeField)},
		}}}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return nil, fmt.Errorf("rollup: find what has changed: %w", err)
	}
	out := touched{}
	for found.Next(ctx) {
		id := found.Current.Lookup("_id")
		at, ok := id.Document().Lookup("d").TimeOK()
		key, err := id.Document().LookupErr("u")
		if !ok || err != nil {
			r.env.Logger.Warn("events without a time or a key are not summed up", "id", id.String())
			continue
		}
		key.Value = slices.Clone(key.Value)
		out.add(r.Start(Hourly, at), key)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("rollup: find what has changed: %w", err)
	}
	return out, found.Close(ctx)
}

// recompute sums up hours, and then all higher levels that contain them, each from all its parts.
func (r *Rollup) recompute(ctx context.Context, hours touched) error {
	changed := map[Level]touched{events: hours}
	for level := range levels {
		level := Level(level)
		here := touched{}
		for start, keys := range changed[levels[level].from] {
			at := r.Start(level, time.UnixMilli(start))
			for _, key := range keys {
				here.add(at, key)
			}
		}
		changed[level] = here
		for start, keys := range here {
			for some := range slices.Chunk(slices.Collect(maps.Values(keys)), keysAtOnce) {
				if err := r.sumUp(ctx, level, time.UnixMilli(start).UTC(), some); err != nil {
					return fmt.Errorf("rollup: sum up %v %v: %w", level, time.UnixMilli(start).UTC(), err)
				}
			}
		}
	}
	return nil
}

// keysAtOnce is the largest number of keys in one command.
const keysAtOnce = 1000

func (r *Rollup) sumUp(ctx context.Context, level Level, start time.Time, keys []bson.RawValue) error {
	span := bson.D{{"$gte", start}, {"$lt", r.End(level, start)}}
	key, when := "_id.u", "_id.d"
	if levels[level].from == events {
		key, when = r.cfg.KeyField, r.cfg.TimeField
	}
	match := bson.D{{key, bson.D{{"$in", keys}}}, {when, span}}
	if r.cfg.MapReduce {
		return r.mapReduce(ctx, level, start, match)
	}
	return r.aggregate(ctx, level, start, match)
}

// source returns the collection from which a level is summed up.
func (r *Rollup) source(level Level) *mongo.Collection {
	if levels[level].from == events {
		return r.events
	}
	return r.target(levels[level].from)
}

// target returns the collection of a level.
func (r *Rollup) target(level Level) *mongo.Collection {
	return r.db.Collection(r.cfg.Prefix + levels[level].name)
}

// aggregate replaces the documents of one hour, day, week, month or year. If several processes
// write the same document at the same time, the document with the greatest count stays: events do
// not change, so a greater count means a later state.
func (r *Rollup) aggregate(ctx context.Context, level Level, start time.Time, match bson.D) error {
	key, total, count := "$_id.u", any("$value.total"), any("$value.count")
	if levels[level].from == events {
		key, total, count = "$"+r.cfg.KeyField, "$"+r.cfg.ValueField, int64(1)
	}
	mean := bson.D{{"$divide", bson.A{"$total", "$count"}}}
	newer := bson.D{{"$gt", bson.A{"$$new.value.count", "$value.count"}}}
	found, err := r.source(level).Aggregate(ctx, mongo.Pipeline{
		{{"$match", match}},
		{{"$group", bson.D{
			{"_id", key},
			{"total", bson.D{{"$sum", total}}},
			{"count", bson.D{{"$sum", count}}},
		}}},
		{{"$project", bson.D{
			{"_id", bson.D{{"u", "$_id"}, {"d", start}}},
			{"value", bson.D{
				{"total", "$total"}, {"count", "$count"}, {"mean", mean}, {"ts", r.env.Now()},
			}},
		}}},
		{{"$merge", bson.D{
			{"into", r.target(level).Name()},
			{"whenMatched", mongo.Pipeline{
				{{"$replaceWith", bson.D{{"$cond", bson.A{newer, "$$new", "$$ROOT"}}}}},
			}},
		}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return err
	}
	return found.Close(ctx)
}

// These are the functions for mapReduce. The books' functions add to existing documents, which
// would count events twice if they are summed up twice. Here the documents are replaced.
const (
	mapEvent    = `function() { emit({u: this[keyField], d: start}, {total: Number(this[valueField]), count: 1}); }`
	mapValue    = `function() { emit({u: this._id.u, d: start}, {total: Number(this.value.total), count: Number(this.value.count)}); }`
	reduceSums  = `function(key, values) { var r = {total: 0, count: 0}; values.forEach(function(v) { r.total += v.total; r.count += v.count; }); return r; }`
	finalizeSum = `function(key, v) { return {total: v.total, count: v.count, mean: v.total / v.count, ts: now}; }`
)

// commandNotFound is the error code for an unknown command.
const commandNotFound = 59

func (r *Rollup) mapReduce(ctx context.Context, level Level, start time.Time, match bson.D) error {
	mapper := mapValue
	if levels[level].from == events {
		mapper = mapEvent
	}
	err := r.db.RunCommand(ctx, bson.D{
		{"mapReduce", r.source(level).Name()},
		{"map", bson.JavaScript(mapper)},
		{"reduce", bson.JavaScript(reduceSums)},
		{"finalize", bson.JavaScript(finalizeSum)},
		{"query", match},
		{"scope", bson.D{
			{"start", start},
			{"now", r.env.Now()},
			{"keyField", r.cfg.KeyField},
			{"valueField", r.cfg.ValueField},
		}},
		{"out", bson.D{{"merge", r.target(level).Name()}}},
	}).Err()
	var failed mongo.ServerError
	if errors.As(err, &failed) && failed.HasErrorCode(commandNotFound) {
		return fmt.Errorf("%w: %w", ErrMapReduce, err)
	}
	return err
}
