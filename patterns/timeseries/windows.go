package timeseries

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// Windows is a series with one document for each tag and six hours in UTC. The document has arrays
// with the sums of each minute and each hour. All documents are copies of one template, and their
// shape never changes. Windows is safe for concurrent use.
type Windows struct{ store }

var _ Series = (*Windows)(nil)

// windowHours is the number of hours of a window.
const windowHours = 6

// NewWindows returns a series that stores its windows in db. It does not use Config.Resolution.
func NewWindows(db *mongo.Database, cfg Config) (*Windows, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	w := &Windows{store{env: cfg.Env, coll: db.Collection(cfg.Collection), cfg: cfg, span: windowHours * time.Hour}}
	w.ahead = w.span
	w.zeros = func() bson.D {
		hour := make([]int64, 60)
		minutes := make([][]int64, windowHours)
		for h := range minutes {
			minutes[h] = hour
		}
		return bson.D{{"visits", bson.D{{"minutes", minutes}, {"hours", make([]int64, windowHours)}}}}
	}
	return w, nil
}

// Add implements Series. It updates each window once. If a window does not exist, Add creates it
// and repeats the update. After an error, some windows may have their samples and others not.
func (w *Windows) Add(ctx context.Context, samples ...Sample) error {
	if err := w.ready(ctx); err != nil {
		return err
	}
	sums := map[key]map[string]int64{}
	for _, s := range samples {
		k := w.key(s)
		if sums[k] == nil {
			sums[k] = map[string]int64{}
		}
		minute := int(s.At.Sub(time.UnixMilli(k.start)) / time.Minute)
		hour := strconv.Itoa(minute / 60)
		sums[k]["visits.minutes."+hour+"."+strconv.Itoa(minute%60)] += s.N
		sums[k]["visits.hours."+hour] += s.N
	}
	for k, inc := range sums {
		if err := w.add(ctx, k, bson.D{{"$inc", inc}}); err != nil {
			return err
		}
	}
	w.prefill(ctx, samples)
	return nil
}

// addTries is how often Add tries to update a window. The second try fails if the window is old, so
// that it was removed again after Add had created it.
const addTries = 3

func (w *Windows) add(ctx context.Context, k key, change bson.D) error {
	for range addTries {
		res, err := w.coll.UpdateOne(ctx, k.filter(), change)
		if err != nil {
			return fmt.Errorf("timeseries: add samples of %s: %w", k.tag, err)
		}
		if res.MatchedCount > 0 {
			return nil
		}
		zeros := bson.D{{"$setOnInsert", w.zeros()}}
		_, err = w.coll.UpdateOne(ctx, k.filter(), zeros, options.UpdateOne().SetUpsert(true))
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return fmt.Errorf("timeseries: make a window of %s: %w", k.tag, err)
		}
	}
	return fmt.Errorf("timeseries: the window of %s at %v is removed as soon as it is made", k.tag, time.UnixMilli(k.start).UTC())
}

// Query implements Series. If a step is a whole number of hours, Query sums up the sums of the
// hours.
func (w *Windows) Query(ctx context.Context, tag string, from, to time.Time, step time.Duration) ([]Point, error) {
	q, err := newQuery(tag, from, to, step, time.Minute)
	if err != nil {
		return nil, err
	}
	unwind := func(path, index string) bson.D {
		return bson.D{{"$unwind", bson.D{{"path", path}, {"includeArrayIndex", index}}}}
	}
	stages := mongo.Pipeline{q.match(w.span)}
	when, n := at("$h", time.Hour), "$visits.hours"
	if step%time.Hour == 0 {
		stages = append(stages, unwind("$visits.hours", "h"))
	} else {
		stages = append(stages, unwind("$visits.minutes", "h"), unwind("$visits.minutes", "m"))
		minutes := bson.D{{"$multiply", bson.A{"$m", time.Minute.Milliseconds()}}}
		when, n = bson.D{{"$add", bson.A{when, minutes}}}, "$visits.minutes"
	}
	stages = append(stages, bson.D{{"$project", bson.D{{"at", when}, {"n", n}}}})
	return q.run(ctx, w.coll, stages)
}

// window is a document of Windows.
type window struct {
	Start  time.Time `bson:"timestamp"`
	Visits struct {
		Minutes [][]int64 `bson:"minutes"`
	} `bson:"visits"`
}

// Last implements Series.
func (w *Windows) Last(ctx context.Context, tag string) (Point, error) {
	var doc window
	if err := w.last(ctx, tag, bson.E{"visits.hours", bson.D{{"$elemMatch", bson.D{{"$ne", 0}}}}}, &doc); err != nil {
		return Point{}, err
	}
	for h := len(doc.Visits.Minutes) - 1; h >= 0; h-- {
		for m := len(doc.Visits.Minutes[h]) - 1; m >= 0; m-- {
			if n := doc.Visits.Minutes[h][m]; n != 0 {
				return Point{Start: doc.Start.Add(time.Duration(60*h+m) * time.Minute).UTC(), N: n}, nil
			}
		}
	}
	return Point{}, ErrNone
}

// RuleHours is a rule of Windows.Check.
const RuleHours = "a window has six hours of sixty minutes, which sum up to the hours' sums"

// Check implements Series. It reads all documents.
func (w *Windows) Check(ctx context.Context) ([]patterns.Violation, error) {
	// If an increment has created the field without the template, the field is a document and not
	// an array.
	array := func(v string) bson.D {
		return bson.D{{"$cond", bson.A{bson.D{{"$isArray", v}}, v, bson.A{}}}}
	}
	each := func(in any) bson.D {
		return bson.D{{"$map", bson.D{{"input", array("$visits.minutes")}, {"in", in}}}}
	}
	sizes := make([]int, windowHours)
	for i := range sizes {
		sizes[i] = 60
	}
	return w.check(ctx, RuleHours, bson.D{{"$or", bson.A{
		bson.D{{"$ne", bson.A{sizes, each(bson.D{{"$size", array("$$this")}})}}},
		bson.D{{"$ne", bson.A{"$visits.hours", each(bson.D{{"$sum", "$$this"}})}}},
	}}})
}
