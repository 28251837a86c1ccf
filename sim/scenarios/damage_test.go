package scenarios_test

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// damages returns damages for each scenario. The scenario's Check must detect each of them.
func damages() map[string][]damage {
	job := damage{"a job is in one of the states", one("jobs", where("state", "open"), set("state", "odd"))}
	counted := damage{"a job that was fetched is done", gone("jobs", where("state", "done"))}
	message := damage{"a message has a topic", one("topics", bson.D{}, set("topic", 1))}
	tree := []damage{
		{
			"ancestors and paths follow from the parents",
			one("categories", where("ancestors.slug", "c-1"), set("ancestors.0.slug", "other")),
		},
		{
			"what products hold of a category is right",
			one("products", bson.D{}, set("categories", bson.A{bson.NewObjectID()})),
		},
		{"readers change nothing", gone("products", bson.D{})},
	}
	slice := []damage{
		{
			"a parent shows its latest items",
			one("posts", where("latest._id", bson.D{{"$type", "objectId"}}), set("latest", bson.A{})),
		},
		{"an item that was added is there", gone("comments", bson.D{})},
	}
	names := []damage{
		{"each copy says what its text says", one("products", bson.D{}, set("categories.0.names.l0", "other"))},
		{"a name agrees with its category and locale", one("categories", bson.D{}, set("names.l1", "other"))},
		{"every change was made once", one("categories", bson.D{}, inc("rev", 1))},
	}
	sums := []damage{
		{"the mean is the total divided by the count", one("stats.daily", bson.D{}, set("value.mean", 0.5))},
		{"a day sums up its hours", one("stats.weekly", bson.D{}, inc("value.count", 1))},
		{"every event is summed up once", one("stats.yearly", bson.D{}, inc("value.total", 1))},
	}
	return map[string][]damage{
		"cache-get": {
			{"an entry expires", one("cache", bson.D{}, set("expires", 1))},
			{"what was made is noted", gone("loads", bson.D{})},
			{"one at a time makes a value", again},
		},
		"category-children": tree, "category-subtree": tree, "category-products": tree,
		"category-products-children": tree, "category-products-subtree": tree,
		"eventlog": {
			{"what was appended is there", gone("events", bson.D{})},
			{"an event has a time", one("events", bson.D{}, set("time", 1))},
		},
		"hits": {
			{"the days of a month sum up to its total", one("hits.monthly", bson.D{}, inc("monthly", 1))},
			{"every hit is counted once", one("hits.daily", bson.D{}, inc("daily", 1))},
		},
		"i18n-add": names, "i18n-remove": names,
		"insert": {
			{"as it was inserted", one("documents", bson.D{}, set("text", "other"))},
			{"what was inserted is there", gone("documents", bson.D{})},
		},
		"lock": {
			{"no change is lost", one("protected", bson.D{}, inc("n", -1))},
			{"a lock has the token", one("locks", bson.D{}, set("token", 0))},
		},
		"lock-lines": {
			{"the sum equals the sum of the lines", one("lines", bson.D{}, inc("items.0.qty", 1))},
			{"what was added is counted", gone("lines", bson.D{})},
		},
		"lock-tally": {
			{"the sums follow from the counts", one("tallies", bson.D{}, inc("kinds", 1))},
			{"what was added is counted", one("tallies", bson.D{}, inc("total", 1))},
		},
		"metadata-find": {
			{
				"a document has a key once",
				one("objects", bson.D{},
					bson.D{{"$push", where("metadata",
						bson.D{{"key", "make"}, {"value", 1}})}}),
			},
			{"readers change nothing", gone("objects", bson.D{})},
		},
		"queue-publish":        {job, {"a job that was put is there", gone("jobs", where("kind", "sim"))}},
		"queue-fetch-fifo":     {counted, job},
		"queue-fetch-priority": {counted, job},
		"queue-work": {
			{"a job that was worked on is done", gone("jobs", where("state", "done"))},
			{"a job has a time", one("jobs", bson.D{}, set("at", 1))},
		},
		"rollup": sums, "rollup-update": sums,
		"slice": slice, "slice-plain": slice,
		"timeseries": {
			{"sum up to its total", one("series", where("total", bson.D{{"$gt", 0}}), inc("total", 1))},
			{"the sums have all that was added", one("series", bson.D{}, inc("total", 1))},
		},
		"topic-publish": {message},
		"topic-listen": {
			{
				"no message is left out",
				one("listeners", where("received", bson.D{{"$gt", 2}}), set("from", bson.Binary{})),
			},
			{"a message is delivered once", one("listeners", bson.D{}, set("twice", 1))},
			message,
		},
	}
}

func inc(field string, n int) bson.D {
	return bson.D{{"$inc", bson.D{{field, int64(n)}}}}
}

// again adds a record which says that a value was computed twice at the same time.
func again(ctx context.Context, db *mongo.Database) error {
	loads := db.Collection("loads")
	first := bson.D{}
	if err := loads.FindOne(ctx, bson.D{}).Decode(&first); err != nil {
		return err
	}
	_, err := loads.InsertOne(ctx, first[1:])
	return err
}
