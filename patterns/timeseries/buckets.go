package timeseries

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// Buckets is a series with one document for each tag and minute (hour, day), which has a sum for
// each second (minute, hour) in it. Config.Resolution selects the length. Buckets is safe for
// concurrent use.
type Buckets struct {
	store
	slot  time.Duration
	slots int
	field string
}

var _ Series = (*Buckets)(nil)

// New returns a series that stores its buckets in db.
func New(db *mongo.Database, cfg Config) (*Buckets, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	b := &Buckets{store: store{env: cfg.Env, coll: db.Collection(cfg.Collection), cfg: cfg, ahead: time.Hour}}
	switch cfg.Resolution {
	case Seconds:
		b.slot, b.slots, b.field = time.Second, 60, "seconds"
	case Minutes:
		b.slot, b.slots, b.field = time.Minute, 60, "minutes"
	case Hours:
		b.slot, b.slots, b.field = time.Hour, 24, "hours"
	}
	b.span = time.Duration(b.slots) * b.slot
	b.ahead = max(b.ahead, b.span)
	b.zeros = func() bson.D {
		var slots bson.D
		for i := range b.slots {
			slots = append(slots, bson.E{strconv.Itoa(i), int64(0)})
		}
		return bson.D{{"total", int64(0)}, {b.field, slots}}
	}
	return b, nil
}

// Add implements Series. It updates each bucket once, all buckets in one command. After an error,
// some buckets may have their samples and others not.
func (b *Buckets) Add(ctx context.Context, samples ...Sample) error {
	if err := b.ready(ctx); err != nil {
		return err
	}
	sums := map[key]map[int]int64{}
	for _, s := range samples {
		k := b.key(s)
		if sums[k] == nil {
			sums[k] = map[int]int64{}
		}
		sums[k][int(s.At.Sub(time.UnixMilli(k.start))/b.slot)] += s.N
	}
	var models []mongo.WriteModel
	for k, slots := range sums {
		var total int64
		inc := bson.D{{}}
		for slot, n := range slots {
			total += n
			inc = append(inc, bson.E{b.field + "." + strconv.Itoa(slot), n})
		}
		inc[0] = bson.E{"total", total}
		models = append(models,
			mongo.NewUpdateOneModel().SetFilter(k.filter()).SetUpdate(bson.D{{"$inc", inc}}).SetUpsert(true))
	}
	if err := patterns.Upsert(ctx, b.coll, models); err != nil {
		return fmt.Errorf("timeseries: add samples: %w", err)
	}
	b.prefill(ctx, samples)
	return nil
}

// Query implements Series. If a step is a whole number of buckets, Query sums up the totals of the
// buckets.
func (b *Buckets) Query(ctx context.Context, tag string, from, to time.Time, step time.Duration) ([]Point, error) {
	q, err := newQuery(tag, from, to, step, b.slot)
	if err != nil {
		return nil, err
	}
	if step%b.span == 0 {
		totals := bson.D{{"at", "$" + timeField}, {"n", "$total"}}
		return q.run(ctx, b.coll, mongo.Pipeline{q.match(b.span), {{"$project", totals}}})
	}
	slots := bson.D{{timeField, 1}, {"slot", bson.D{{"$objectToArray", "$" + b.field}}}}
	slot := bson.D{{"at", at(bson.D{{"$toInt", "$slot.k"}}, b.slot)}, {"n", "$slot.v"}}
	return q.run(ctx, b.coll, mongo.Pipeline{
		q.match(b.span), {{"$project", slots}}, {{"$unwind", "$slot"}}, {{"$project", slot}},
	})
}

// Last implements Series.
func (b *Buckets) Last(ctx context.Context, tag string) (Point, error) {
	var doc bson.Raw
	if err := b.last(ctx, tag, bson.E{"total", bson.D{{"$ne", 0}}}, &doc); err != nil {
		return Point{}, err
	}
	start, _ := doc.Lookup(timeField).TimeOK()
	for i := b.slots - 1; i >= 0; i-- {
		if n, ok := doc.Lookup(b.field, strconv.Itoa(i)).AsInt64OK(); ok && n != 0 {
			return Point{Start: start.Add(time.Duration(i) * b.slot).UTC(), N: n}, nil
		}
	}
	return Point{}, ErrNone
}

func lastError(tag string, err error) error {
	if errors.Is(err, mongo.ErrNoDocuments) {
		return ErrNone
	}
	if err != nil {
		return fmt.Errorf("timeseries: find the last of %s: %w", tag, err)
	}
	return nil
}

// RuleTotal is a rule of Buckets.Check.
const RuleTotal = "the slots of a bucket are its own, and sum up to its total"

// Check implements Series. It reads all documents.
func (b *Buckets) Check(ctx context.Context) ([]patterns.Violation, error) {
	slots := bson.D{{"$objectToArray", bson.D{{"$ifNull", bson.A{"$" + b.field, bson.D{}}}}}}
	each := func(name string) bson.D {
		return bson.D{{"$map", bson.D{{"input", slots}, {"in", "$$this." + name}}}}
	}
	var own bson.A
	for i := range b.slots {
		own = append(own, strconv.Itoa(i))
	}
	return b.check(ctx, RuleTotal, bson.D{{"$or", bson.A{
		bson.D{{"$ne", bson.A{"$total", bson.D{{"$sum", each("v")}}}}},
		bson.D{{"$not", bson.A{bson.D{{"$setIsSubset", bson.A{each("k"), own}}}}}},
	}}})
}
