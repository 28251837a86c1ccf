package rollup

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleEvents = "an hour sums up all its events that had arrived at the last update, and none twice"
	RuleSums   = "a day sums up its hours, a week and a month their days, a year its months"
	RuleMean   = "the mean is the total divided by the count"
)

// entry identifies a document of a level: the bytes of its key, and its start in milliseconds.
type entry struct {
	key   string
	start int64
}

// sums holds the sums that a document has or should have.
type sums struct {
	total, count int64
	settled      int64 // number of events that the last update must have included
	id           bson.RawValue
}

// table holds the sums of all documents of a level.
type table map[entry]*sums

func (t table) at(e entry) *sums {
	if t[e] == nil {
		t[e] = &sums{}
	}
	return t[e]
}

// Check reads all documents and lists the violations of the rules. It keeps a few numbers for each
// document in memory. While an update runs, Check also lists sums that the update has not written
// yet. It does not compare hours older than Config.Keep with their events.
func (r *Rollup) Check(ctx context.Context) (out []patterns.Violation, err error) {
	below := map[Level]table{}
	if below[events], err = r.countEvents(ctx); err != nil {
		return nil, err
	}
	for level := range levels {
		level := Level(level)
		want := table{}
		for e, s := range below[levels[level].from] {
			w := want.at(entry{e.key, r.Start(level, time.UnixMilli(e.start)).UnixMilli()})
			w.total, w.count, w.settled = w.total+s.total, w.count+s.count, w.settled+s.settled
		}
		got, means, err := r.read(ctx, level)
		if err != nil {
			return nil, err
		}
		below[level] = got
		out = append(append(out, means...), r.compare(level, want, got)...)
	}
	return out, nil
}

// countEvents sums up the events by quarters of an hour.
func (r *Rollup) countEvents(ctx context.Context) (table, error) {
	until, err := r.until(ctx)
	if err != nil {
		return nil, err
	}
	settled := bson.D{{"$cond", bson.A{bson.D{{"$lt", bson.A{"$" + r.cfg.ArrivalField, until}}}, int64(1), int64(0)}}}
	found, err := r.events.Aggregate(ctx, mongo.Pipeline{
		{{"$group", bson.D{
			{"_id", bson.D{{"u", "$" + r.cfg.KeyField}, {"d", quarterOf("$" + r.cfg.TimeField)}}},
			{"total", bson.D{{"$sum", "$" + r.cfg.ValueField}}},
			{"count", bson.D{{"$sum", int64(1)}}},
			{"settled", bson.D{{"$sum", settled}}},
		}}},
	}, options.Aggregate().SetAllowDiskUse(true))
	if err != nil {
		return nil, fmt.Errorf("rollup: count events: %w", err)
	}
	out := table{}
	for found.Next(ctx) {
		if at, ok := found.Current.Lookup("_id", "d").TimeOK(); ok {
			s := out.at(entry{nameOf(found.Current.Lookup("_id", "u")), at.UnixMilli()})
			s.total, s.count, s.settled = number(found.Current, "total"), number(found.Current, "count"),
				number(found.Current, "settled")
		}
	}
	return out, found.Err()
}

// number reads an integer that may be stored as any numeric type.
func number(doc bson.Raw, path ...string) int64 {
	v := doc.Lookup(path...)
	if f, ok := v.DoubleOK(); ok {
		return int64(f)
	}
	n, _ := v.AsInt64OK()
	return n
}

// read returns the documents of a level, and lists the documents with a wrong mean.
func (r *Rollup) read(ctx context.Context, level Level) (out table, means []patterns.Violation, err error) {
	coll := r.target(level)
	found, err := coll.Find(ctx, bson.D{})
	if err != nil {
		return nil, nil, fmt.Errorf("rollup: read %v: %w", level, err)
	}
	out = table{}
	for found.Next(ctx) {
		doc := append(bson.Raw(nil), found.Current...)
		at, _ := doc.Lookup("_id", "d").TimeOK()
		s := out.at(entry{nameOf(doc.Lookup("_id", "u")), at.UnixMilli()})
		s.total, s.count, s.id = number(doc, "value", "total"), number(doc, "value", "count"), doc.Lookup("_id")
		if mean, ok := doc.Lookup("value", "mean").AsFloat64OK(); !ok || mean != float64(s.total)/float64(s.count) {
			means = append(means, patterns.Violation{
				Rule: RuleMean, Collection: coll.Name(), ID: s.id,
				Detail: doc.Lookup("value").String(),
			})
		}
	}
	return out, means, found.Err()
}

// compare lists the documents of a level that differ from the expected sums.
func (r *Rollup) compare(level Level, want, got table) (out []patterns.Violation) {
	for e := range want {
		got.at(e)
	}
	for e, g := range got {
		w, rule, least := want.at(e), RuleSums, want.at(e).count
		if level == Hourly {
			if r.cfg.Keep > 0 && time.UnixMilli(e.start).Before(r.env.Now().Add(-r.cfg.Keep)) {
				continue
			}
			rule, least = RuleEvents, w.settled
		}
		if g.count < least || g.count > w.count || g.count == w.count && g.total != w.total {
			id := any(g.id)
			if g.id.IsZero() {
				id = bson.D{
					{"u", bson.RawValue{Type: bson.Type(e.key[0]), Value: []byte(e.key[1:])}},
					{"d", time.UnixMilli(e.start).UTC()},
				}
			}
			detail := fmt.Sprintf("total %d, count %d, of %d, %d", g.total, g.count, w.total, w.count)
			out = append(out, patterns.Violation{
				Rule:       rule,
				Collection: r.target(level).Name(), ID: id, Detail: detail,
			})
		}
	}
	return out
}
