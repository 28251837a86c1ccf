package eventlog

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Query selects events. The zero value selects all events.
type Query struct {
	// From and To limit the time of the events. From is inclusive, To is exclusive. A zero time
	// sets no limit.
	From, To time.Time
	// Path and Host select events with these values, if not empty.
	Path, Host string
	// Limit is the largest number of events; no limit if zero.
	Limit int64
}

func (q Query) filter() bson.D {
	filter, when := bson.D{}, bson.D{}
	if q.Host != "" {
		filter = append(filter, bson.E{"host", q.Host})
	}
	if q.Path != "" {
		filter = append(filter, bson.E{"path", q.Path})
	}
	if !q.From.IsZero() {
		when = append(when, bson.E{"$gte", q.From})
	}
	if !q.To.IsZero() {
		when = append(when, bson.E{"$lt", q.To})
	}
	if len(when) > 0 {
		filter = append(filter, bson.E{"time", when})
	}
	return filter
}

// Find yields events in the order of time. It reads from the server as the caller continues. If the
// events are in several collections, it reads the collections one after another.
func (l *Log) Find(ctx context.Context, q Query) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		places, err := l.keeps.places(ctx, l, q.From, q.To)
		if err != nil {
			yield(nil, err)
			return
		}
		left := q.Limit
		for _, coll := range places {
			n, more := find(ctx, coll, q, left, yield)
			if left > 0 {
				left -= n
			}
			if !more || q.Limit > 0 && left == 0 {
				return
			}
		}
	}
}

// find yields the events of one collection.
func find(ctx context.Context, coll *mongo.Collection, q Query, limit int64,
	yield func(*Event, error) bool,
) (n int64, more bool) {
	found, err := coll.Find(ctx, q.filter(), options.Find().SetSort(bson.D{{"time", 1}}).SetLimit(limit))
	if err != nil {
		yield(nil, fmt.Errorf("eventlog: find in %s: %w", coll.Name(), err))
		return 0, false
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }() // if this fails, the cursor ends later by itself
	for found.Next(ctx) {
		n++
		e := &Event{}
		if err := found.Decode(e); err != nil {
			yield(nil, fmt.Errorf("eventlog: decode an event of %s: %w", coll.Name(), err))
			return n, false
		}
		if !yield(e, nil) {
			return n, false
		}
	}
	if err := found.Err(); err != nil {
		yield(nil, fmt.Errorf("eventlog: find in %s: %w", coll.Name(), err))
		return n, false
	}
	return n, true
}

// DayCount is the number of requests for a path on a day in UTC.
type DayCount struct {
	Day  time.Time
	Path string
	N    int64
}

// CountByDay counts events by day and path, and sorts by both. It ignores Limit.
func (l *Log) CountByDay(ctx context.Context, q Query) ([]DayCount, error) {
	day := bson.D{{"$dateToString", bson.D{{"date", "$time"}, {"format", "%Y-%m-%d"}}}}
	type entry struct{ Day, Path string }
	counts := map[entry]int64{}
	err := l.aggregate(ctx, q, mongo.Pipeline{{{"$group", bson.D{
		{"_id", bson.D{{"day", day}, {"path", "$path"}}},
		{"n", bson.D{{"$sum", int64(1)}}},
	}}}}, func(doc bson.Raw) {
		path, _ := doc.Lookup("_id", "path").StringValueOK()
		counts[entry{doc.Lookup("_id", "day").StringValue(), path}] += doc.Lookup("n").AsInt64()
	})
	if err != nil {
		return nil, err
	}
	var out []DayCount
	for e, n := range counts {
		day, err := time.Parse(time.DateOnly, e.Day)
		if err != nil {
			return nil, fmt.Errorf("eventlog: count by day: %w", err)
		}
		out = append(out, DayCount{Day: day, Path: e.Path, N: n})
	}
	slices.SortFunc(out, func(a, b DayCount) int { return cmp.Or(a.Day.Compare(b.Day), cmp.Compare(a.Path, b.Path)) })
	return out, nil
}

// aggregate calls f with each result of a pipeline over the events of each collection.
func (l *Log) aggregate(ctx context.Context, q Query, stages mongo.Pipeline, f func(bson.Raw)) error {
	places, err := l.keeps.places(ctx, l, q.From, q.To)
	if err != nil {
		return err
	}
	stages = append(mongo.Pipeline{{{"$match", q.filter()}}}, stages...)
	for _, coll := range places {
		found, err := coll.Aggregate(ctx, stages, options.Aggregate().SetAllowDiskUse(true))
		if err != nil {
			return fmt.Errorf("eventlog: aggregate %s: %w", coll.Name(), err)
		}
		var docs []bson.Raw
		if err := found.All(ctx, &docs); err != nil {
			return fmt.Errorf("eventlog: aggregate %s: %w", coll.Name(), err)
		}
		for _, doc := range docs {
			f(doc)
		}
	}
	return nil
}

// Loss compares the stored and the sent events of class Sent from one Log.
type Loss struct {
	Source string
	// Stored is the number of stored events from the source. Lost is the number of missing events
	// between the first and the last stored one.
	Stored, Lost int64
}

// Losses returns, for each source, the number of events of class Sent that did not arrive. It does
// not notice that the last events of a source are missing until a later event arrives.
func (l *Log) Losses(ctx context.Context, q Query) ([]Loss, error) {
	type seen struct{ first, last, n int64 }
	sources := map[string]seen{}
	err := l.aggregate(ctx, q, mongo.Pipeline{
		{{"$match", bson.D{{"number", bson.D{{"$gt", 0}}}}}},
		{{"$group", bson.D{
			{"_id", "$source"},
			{"first", bson.D{{"$min", "$number"}}},
			{"last", bson.D{{"$max", "$number"}}},
			{"n", bson.D{{"$sum", int64(1)}}},
		}}},
	}, func(doc bson.Raw) {
		source, _ := doc.Lookup("_id").StringValueOK()
		s := seen{doc.Lookup("first").AsInt64(), doc.Lookup("last").AsInt64(), doc.Lookup("n").AsInt64()}
		if old, ok := sources[source]; ok {
			s = seen{min(old.first, s.first), max(old.last, s.last), old.n + s.n}
		}
		sources[source] = s
	})
	if err != nil {
		return nil, err
	}
	var out []Loss
	for source, s := range sources {
		out = append(out, Loss{Source: source, Stored: s.n, Lost: s.last - s.first + 1 - s.n})
	}
	slices.SortFunc(out, func(a, b Loss) int { return cmp.Compare(a.Source, b.Source) })
	return out, nil
}

// IndexSizes returns the sizes of the indexes in bytes, summed over all collections, by the names
// of the indexes. An index should fit into memory. Of an index by time, only the newest part must
// fit.
func (l *Log) IndexSizes(ctx context.Context) (map[string]int64, error) {
	places, err := l.keeps.places(ctx, l, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, coll := range places {
		var stats struct {
			IndexSizes map[string]int64 `bson:"indexSizes"`
		}
		if err := coll.Database().RunCommand(ctx, bson.D{{"collStats", coll.Name()}}).Decode(&stats); err != nil {
			return nil, fmt.Errorf("eventlog: ask for the sizes of %s: %w", coll.Name(), err)
		}
		for name, size := range stats.IndexSizes {
			out[name] += size
		}
	}
	return out, nil
}
