package hits

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

// These are the rules whose violations Check lists.
const (
	RuleDay   = "the minutes of a day sum up to its hours, and the hours to its total"
	RuleMonth = "the days of a month sum up to its total"
	RuleSame  = "a month's day is the total of that day"
	RuleOne   = "a page has one document for each day and each month"
)

// Check reads all documents and lists the violations of the rules. While hits are being counted, it
// also lists days that are not included in their months yet. With the form Flat it compares only
// the minutes with the total of the day.
func (c *Counters) Check(ctx context.Context) (out []patterns.Violation, err error) {
	wrongMinutes := bson.D{{"$ne", bson.A{"$daily", sumOf("$minute")}}}
	if c.cfg.Form == Hierarchical {
		hours := func(doc string) bson.D { return eachOf(doc, bson.A{"$$this.k", sumOfField()}) }
		wrongMinutes = bson.D{{"$not", bson.A{bson.D{{"$setEquals", bson.A{hours("$hourly"), hours("$minute")}}}}}}
	}
	wrongDay := bson.D{{"$or", bson.A{bson.D{{"$ne", bson.A{"$daily", sumOf("$hourly")}}}, wrongMinutes}}}
	wrongMonth := bson.D{{"$ne", bson.A{"$monthly", sumOf("$daily")}}}
	for _, rule := range []struct {
		name, layout string
		coll         *mongo.Collection
		wrong        bson.D
	}{{RuleDay, dayLayout, c.daily, wrongDay}, {RuleMonth, monthLayout, c.monthly, wrongMonth}} {
		found, err := rule.coll.Find(ctx, bson.D{{"$expr", rule.wrong}})
		if err != nil {
			return nil, fmt.Errorf("hits: check %s: %w", rule.coll.Name(), err)
		}
		var docs []bson.Raw
		if err := found.All(ctx, &docs); err != nil {
			return nil, fmt.Errorf("hits: check %s: %w", rule.coll.Name(), err)
		}
		for _, doc := range docs {
			id := doc.Lookup("_id").StringValue()
			out = append(out, patterns.Violation{
				Rule: rule.name, Collection: rule.coll.Name(),
				ID: id, Detail: "they differ",
			})
		}
		named, err := c.checkNames(ctx, rule.coll, rule.layout)
		if err != nil {
			return nil, err
		}
		out = append(out, named...)
	}
	if c.cfg.WithoutMonths {
		return out, nil
	}
	err = c.compare(ctx, func(d comparison) error {
		if n, total := d.month(c.cfg.Location), d.Day.Daily; n != total {
			detail := fmt.Sprintf("the day has %d, the month %d", total, n)
			out = append(out, patterns.Violation{
				Rule: RuleSame, Collection: c.daily.Name(),
				ID: d.Day.ID, Detail: detail,
			})
		}
		return nil
	})
	return out, err
}

// checkNames lists the documents whose _id does not follow from their metadata: another document
// may count the same hits.
func (c *Counters) checkNames(ctx context.Context, coll *mongo.Collection,
	layout string,
) (out []patterns.Violation, err error) {
	found, err := coll.Find(ctx, bson.D{}, options.Find().SetProjection(bson.D{{"metadata", 1}}))
	if err != nil {
		return nil, fmt.Errorf("hits: check %s: %w", coll.Name(), err)
	}
	for found.Next(ctx) {
		var doc dayTotal
		if err := found.Decode(&doc); err != nil {
			return nil, fmt.Errorf("hits: check %s: %w", coll.Name(), err)
		}
		want := c.document(page{doc.Metadata.Site, doc.Metadata.Page}, doc.Metadata.Date, layout)[0].Value
		if doc.ID != want {
			detail := fmt.Sprintf("its counters belong to the name %v", want)
			out = append(out, patterns.Violation{Rule: RuleOne, Collection: coll.Name(), ID: doc.ID, Detail: detail})
		}
	}
	return out, found.Err()
}

// comparison is a day together with the document of its month.
type comparison struct {
	Day    dayTotal `bson:",inline"`
	Months []struct {
		Daily map[string]int64 `bson:"daily"`
	} `bson:"months"`
}

// month returns the total that the month has for the day.
func (d *comparison) month(loc *time.Location) int64 {
	if len(d.Months) == 0 {
		return 0
	}
	return d.Months[0].Daily[strconv.Itoa(d.Day.Metadata.Date.In(loc).Day())]
}

// compare calls f for each day, with the document of its month.
func (c *Counters) compare(ctx context.Context, f func(comparison) error) error {
	month := bson.D{{"$concat", bson.A{
		bson.D{{"$substrBytes", bson.A{"$_id", 0, len(monthLayout)}}},
		bson.D{{"$substrBytes", bson.A{"$_id", len(dayLayout), -1}}},
	}}}
	found, err := c.daily.Aggregate(ctx, mongo.Pipeline{
		{{"$project", bson.D{{"metadata", 1}, {"daily", 1}, {"month", month}}}},
		{{"$lookup", bson.D{
			{"from", c.monthly.Name()}, {"localField", "month"}, {"foreignField", "_id"}, {"as", "months"},
		}}},
	})
	if err != nil {
		return fmt.Errorf("hits: compare days and months: %w", err)
	}
	for found.Next(ctx) {
		var d comparison
		if err := found.Decode(&d); err != nil {
			return fmt.Errorf("hits: compare days and months: %w", err)
		}
		if err := f(d); err != nil {
			return err
		}
	}
	return found.Err()
}

// forget is the time after a day's start in which a writer may still repeat a batch.
const forget = 48 * time.Hour

// Repair updates months for days whose hits were counted by processes that died before they updated
// the month. It also removes the batch numbers of writers from the documents of past days. It
// returns the number of days that were missing in their months. It reads all days, and may run at
// any time.
func (c *Counters) Repair(ctx context.Context) (n int, err error) {
	if !c.cfg.WithoutMonths {
		err = c.compare(ctx, func(d comparison) error {
			if d.month(c.cfg.Location) >= d.Day.Daily {
				return nil
			}
			n++
			return c.raiseTo(ctx, []dayTotal{d.Day})
		})
		if err != nil {
			return n, err
		}
	}
	past := bson.D{
		{"metadata.date", bson.D{{"$lt", c.env.Now().Add(-forget)}}},
		{"writers", bson.D{{"$exists", true}}},
	}
	if _, err := c.daily.UpdateMany(ctx, past, bson.D{{"$unset", bson.D{{"writers", ""}}}}); err != nil {
		return n, fmt.Errorf("hits: forget writers: %w", err)
	}
	if n > 0 {
		c.env.Logger.Info("months were brought up to their days", "days", n)
	}
	return n, nil
}

// Indexes returns the indexes by which charts are read. With Config.Keep, it also returns the TTL
// index that removes old days.
func (c *Counters) Indexes() []patterns.Index {
	byPage := bson.D{{"metadata.site", 1}, {"metadata.page", 1}, {"metadata.date", 1}}
	out := []patterns.Index{
		{Collection: c.daily.Name(), Model: mongo.IndexModel{Keys: byPage}},
		{Collection: c.daily.Name(), Model: mongo.IndexModel{Keys: bson.D{{"metadata.site", 1}, {"metadata.date", 1}}}},
	}
	if !c.cfg.WithoutMonths {
		out = append(out, patterns.Index{Collection: c.monthly.Name(), Model: mongo.IndexModel{Keys: byPage}})
	}
	if c.cfg.Keep > 0 {
		ttl := options.Index().SetExpireAfterSeconds(int32(min(c.cfg.Keep/time.Second, 1<<31-1)))
		out = append(out, patterns.Index{
			Collection: c.daily.Name(), Model: mongo.IndexModel{Keys: bson.D{{"metadata.date", 1}}, Options: ttl},
		})
	}
	return out
}

// EnsureIndexes creates the indexes.
func (c *Counters) EnsureIndexes(ctx context.Context) error {
	return c.prepared.Ensure(ctx, c.daily.Database(), c.Indexes())
}

// ready fails if the indexes were not created before the first use: without them, old days would
// never be removed. If Config.Keep is zero, it does not check the indexes.
func (c *Counters) ready(ctx context.Context) error {
	if c.cfg.Keep == 0 {
		return nil
	}
	return c.prepared.Check(ctx, c.daily.Database(), c.env.Logger, c.Indexes)
}

// ShardKeys returns the shard keys of the collections. They keep the documents of a page together.
func (c *Counters) ShardKeys() []patterns.ShardKey {
	byPage := bson.D{{"metadata.site", 1}, {"metadata.page", 1}, {"metadata.date", 1}}
	return []patterns.ShardKey{{Collection: c.daily.Name(), Key: byPage}, {Collection: c.monthly.Name(), Key: byPage}}
}

// Shard shards the collections by the keys of ShardKeys.
func (c *Counters) Shard(ctx context.Context) error {
	return patterns.Shard(ctx, c.daily.Database(), c.ShardKeys())
}
