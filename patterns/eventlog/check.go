package eventlog

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
	RuleTime  = "an event has a time"
	RulePlace = "an event is in the collection of its time"
	RuleGone  = "what is too old is removed"
)

// Check reads all events and lists the violations of the rules: for each rule at most 100 events of
// each collection.
func (l *Log) Check(ctx context.Context) (out []patterns.Violation, err error) {
	places, err := l.keeps.places(ctx, l, time.Time{}, time.Time{})
	if err != nil {
		return nil, err
	}
	c, rotates := rotation(l.keeps)
	for _, coll := range places {
		wrong := bson.D{{"time", bson.D{{"$not", bson.D{{"$type", "date"}}}}}}
		if out, err = list(ctx, coll, RuleTime, wrong, out); err != nil {
			return nil, err
		}
		if !rotates {
			continue
		}
		start, err := l.startOf(coll)
		if err != nil {
			return nil, err
		}
		other := bson.A{
			bson.D{{"time", bson.D{{"$lt", start}}}},
			bson.D{{"time", bson.D{{"$gte", start.Add(c.Period)}}}},
		}
		if out, err = list(ctx, coll, RulePlace, bson.D{{"$or", other}}, out); err != nil {
			return nil, err
		}
		if start.Add(c.Period).Before(c.over(l)) { // Maintain has had a whole period to drop it
			detail := fmt.Sprintf("it begins at %v", start)
			out = append(out, patterns.Violation{
				Rule: RuleGone, Collection: coll.Name(),
				ID: coll.Database().Name(), Detail: detail,
			})
		}
	}
	return out, nil
}

// rotation returns the periods of a retention, if it has periods.
func rotation(r Retention) (c Collections, ok bool) {
	switch r := r.(type) {
	case Collections:
		return r, true
	case Databases:
		return Collections(r), true
	default:
		return Collections{}, false
	}
}

// startOf returns the start of a collection's period, which is part of its name or of its
// database's name.
func (l *Log) startOf(coll *mongo.Collection) (time.Time, error) {
	name := coll.Name()
	if _, ok := l.keeps.(Databases); ok {
		name = coll.Database().Name()
	}
	start, err := time.Parse(stamp, name[len(name)-len(stamp):])
	if err != nil {
		return start, fmt.Errorf("eventlog: the name %s: %w", name, err)
	}
	return start, nil
}

// listed is the largest number of events that Check lists for each collection and rule.
const listed = 100

func list(ctx context.Context, coll *mongo.Collection, rule string, filter bson.D,
	out []patterns.Violation,
) ([]patterns.Violation, error) {
	found, err := coll.Find(ctx, filter, options.Find().SetLimit(listed).SetProjection(bson.D{{"time", 1}}))
	if err != nil {
		return nil, fmt.Errorf("eventlog: check %s: %w", coll.Name(), err)
	}
	var docs []bson.Raw
	if err := found.All(ctx, &docs); err != nil {
		return nil, fmt.Errorf("eventlog: check %s: %w", coll.Name(), err)
	}
	for _, doc := range docs {
		out = append(out, patterns.Violation{
			Rule: rule, Collection: coll.Name(),
			ID: doc.Lookup("_id"), Detail: doc.String(),
		})
	}
	return out, nil
}
