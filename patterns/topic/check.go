package topic

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleTopic    = "a message has a topic"
	RuleTime     = "a message has a time"
	RulePlace    = "a message has its place in the order"
	RulePosition = "a subscriber has a position"
	RuleCapped   = "the collection is capped"
	RuleSize     = "there are as many bytes as there may be"
	RuleCount    = "there are as many messages as there may be"
)

// Check reads all messages and lists the violations of the invariants.
func (t *Topics) Check(ctx context.Context) ([]patterns.Violation, error) {
	out, err := t.checkRing(ctx)
	if err != nil {
		return nil, err
	}
	date, exists := bson.D{{"$type", "date"}}, bson.D{{"$type", "string"}}
	stamp, object := bson.D{{"$type", "timestamp"}}, bson.D{{"$type", "object"}}
	not := func(cond bson.D) bson.D { return bson.D{{"$not", cond}} }
	for _, rule := range []struct {
		name, coll string
		broken     bson.D
	}{
		{RuleTopic, t.coll.Name(), bson.D{{"topic", not(exists)}}},
		{RuleTime, t.coll.Name(), bson.D{{"at", not(date)}}},
		{RulePlace, t.coll.Name(), bson.D{{"seq", not(stamp)}}},
		{RulePosition, t.subscribers.Name(), bson.D{{"position", not(object)}}},
	} {
		found, err := t.coll.Database().Collection(rule.coll).Find(ctx, rule.broken)
		if err != nil {
			return nil, fmt.Errorf("topic: check %s: %w", rule.coll, err)
		}
		var docs []bson.M
		if err := found.All(ctx, &docs); err != nil {
			return nil, fmt.Errorf("topic: check %s: %w", rule.coll, err)
		}
		for _, doc := range docs {
			delete(doc, "data")
			out = append(out, patterns.Violation{
				Rule: rule.name, Collection: rule.coll,
				ID: doc["_id"], Detail: fmt.Sprint(doc),
			})
		}
	}
	return out, nil
}

// checkRing compares a capped collection with its configuration.
func (t *Topics) checkRing(ctx context.Context) (out []patterns.Violation, err error) {
	if t.cfg.Form != ByTail {
		return nil, nil
	}
	var stats struct {
		Capped bool
		Count  int64
		Size   int64
	}
	if err := t.coll.Database().RunCommand(ctx, bson.D{{"collStats", t.cfg.Name}}).Decode(&stats); err != nil {
		return nil, fmt.Errorf("topic: ask for the size of %s: %w", t.cfg.Name, err)
	}
	add := func(rule string, broken bool) {
		if broken {
			out = append(out, patterns.Violation{Rule: rule, Collection: t.cfg.Name, Detail: fmt.Sprintf("%+v", stats)})
		}
	}
	add(RuleCapped, !stats.Capped)
	add(RuleSize, stats.Size > t.cfg.Size)
	add(RuleCount, t.cfg.Max > 0 && stats.Count > t.cfg.Max)
	return out, nil
}
