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

// dayTotal holds the part of a day's document that its month needs.
type dayTotal struct {
	ID       string   `bson:"_id"`
	Metadata metadata `bson:"metadata"`
	Daily    int64    `bson:"daily"`
}

// metadata identifies what a document counts.
type metadata struct {
	Date time.Time `bson:"date"`
	Site string    `bson:"site"`
	Page string    `bson:"page"`
}

// raise updates the months of the days in a batch.
func (c *Counters) raise(ctx context.Context, b batch) error {
	if c.cfg.WithoutMonths {
		return nil
	}
	ids := make(bson.A, 0, len(b))
	for key := range b {
		ids = append(ids, c.day(key)[0].Value)
	}
	totals := bson.D{{"metadata", 1}, {"daily", 1}}
	found, err := c.daily.Find(ctx, bson.D{{"_id", bson.D{{"$in", ids}}}}, options.Find().SetProjection(totals))
	if err != nil {
		return fmt.Errorf("hits: read the totals of days: %w", err)
	}
	var days []dayTotal
	if err := found.All(ctx, &days); err != nil {
		return fmt.Errorf("hits: read the totals of days: %w", err)
	}
	return c.raiseTo(ctx, days)
}

// raiseTo updates months with the totals of days. A month keeps the greatest total of each day, so
// these updates may come in any order and any number of times.
func (c *Counters) raiseTo(ctx context.Context, days []dayTotal) error {
	if len(days) == 0 {
		return nil
	}
	months := map[dayKey]bson.D{}
	for _, d := range days {
		key := dayKey{page: page{d.Metadata.Site, d.Metadata.Page}, start: c.monthOf(d.Metadata.Date).UnixMilli()}
		path := "daily." + strconv.Itoa(d.Metadata.Date.In(c.cfg.Location).Day())
		months[key] = append(months[key], bson.E{path, bson.D{{"$max", bson.A{"$" + path, d.Daily}}}})
	}
	var models []mongo.WriteModel
	for key, set := range months {
		change := mongo.Pipeline{
			{{"$set", set}},
			{{"$set", bson.D{{"monthly", bson.D{{"$toLong", sumOf("$daily")}}}}}},
		}
		month := c.document(key.page, time.UnixMilli(key.start), monthLayout)
		models = append(models, mongo.NewUpdateOneModel().SetFilter(month).SetUpdate(change).SetUpsert(true))
	}
	if err := patterns.Upsert(ctx, c.monthly, models); err != nil {
		return fmt.Errorf("hits: bring months up: %w", err)
	}
	return nil
}

// sumOf returns the expression for the sum of a document's fields, including the fields of
// documents in it.
func sumOf(doc string) bson.D { return bson.D{{"$sum", eachOf(doc, sumOfField())}} }

// sumOfField returns the expression for the value of the field $$this, or for the sum of its fields
// if it is a document.
func sumOfField() bson.D {
	return bson.D{{"$cond", bson.A{
		bson.D{{"$eq", bson.A{bson.D{{"$type", "$$this.v"}}, "object"}}},
		bson.D{{"$sum", eachOf("$$this.v", "$$this.v")}},
		"$$this.v",
	}}}
}

// eachOf returns the expression that evaluates field for each field of a document, as $$this.
func eachOf(doc string, field any) bson.D {
	fields := bson.D{{"$objectToArray", bson.D{{"$ifNull", bson.A{doc, bson.D{}}}}}}
	return bson.D{{"$map", bson.D{{"input", fields}, {"in", field}}}}
}
