package recorded

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// viewPipelines are the views of TestFindOnViews.
var viewPipelines = map[string]string{
	"all": `[]`, "some": `[{"$match": {"a": {"$gt": 1}}}]`, "sorted": `[{"$sort": {"a": 1}}]`,
	"set":   `[{"$set": {"b": "$a"}}]`,
	"first": `[{"$limit": 2}]`,
}

// viewOptions are the options of a find on a view, used one or two at a time.
var viewOptions = []string{
	`"sort": {"$natural": 1}`, `"sort": {"$natural": -1}`, `"sort": {"$natural": 2}`,
	`"sort": {"$natural": -1, "a": 1}`,
	`"sort": {"a": 1, "$natural": 1}`, `"sort": {"$natural": 1.0}`, `"sort": {"$natural": true}`, `"sort": {"a": -1}`,
	`"hint": {"$natural": 1}`, `"hint": {"$natural": -1}`, `"hint": {"a": 1}`, `"hint": {}`,
	`"singleBatch": true`, `"singleBatch": false`, `"limit": 1`, `"limit": 0`, `"skip": 1`, `"batchSize": 1`,
	`"filter": {"a": {"$gt": 1}}`,
	`"min": {"a": 1}`, `"max": {"a": 3}`, `"min": {}`, `"max": {}`, `"returnKey": true`,
	`"returnKey": false`, `"showRecordId": true`,
	`"showRecordId": false`, `"tailable": true`, `"tailable": false`, `"awaitData": true`,
	`"awaitData": false`, `"noCursorTimeout": true`,
	`"noCursorTimeout": false`, `"allowPartialResults": true`, `"oplogReplay": true`,
	`"allowDiskUse": true`, `"readOnce": true`,
	`"collation": {"locale": "simple"}`, `"projection": {"t.$": 1}`, `"projection": {"a": 1}`,
	`"filter": {"t": 5}`, `"let": {"x": 1}`,
}

// TestFindOnViews runs every option of a find, and every pair of options, on views.
func TestFindOnViews(t *testing.T) {
	t.Parallel()
	c := class{file: "views.txt", grouped: true, setup: func(t *testing.T, db *mongo.Database) {
		t.Helper()
		var docs bson.A
		for i, a := range []int{2, 3, 1} {
			docs = append(docs, bson.D{{"_id", i}, {"a", a}, {"t", bson.A{4, 5}}})
		}
		must(t, db, bson.D{{"insert", "c"}, {"documents", docs}})
		must(t, db, bson.D{{"createIndexes", "c"}, {"indexes", bson.A{
			bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a"}},
		}}})
		for name, stages := range viewPipelines {
			must(t, db, bsonxtest.ParseD(t, fmt.Sprintf(`{"create": %q, "viewOn": "c", "pipeline": %s}`, name, stages)))
		}
	}}
	ask := func(base, text, command string) {
		c.cases = append(c.cases, question{base + " " + text, func(ctx context.Context, db *mongo.Database) string {
			return orderedAnswer(ctx, db, command)
		}})
	}
	for view := range viewPipelines {
		for i, option := range viewOptions {
			ask(view, option, fmt.Sprintf(`{"find": %q, %s}`, view, option))
			for _, second := range viewOptions[:i] {
				if option[:4] == second[:4] || view == "some" || view == "set" {
					continue // the same option twice, or a view with the collection's order
				}
				ask(view, option+", "+second, fmt.Sprintf(`{"find": %q, %s, %s}`, view, option, second))
			}
		}
		ask(view, "dataSize", fmt.Sprintf(`{"dataSize": "recorded.%s"}`, view))
		ask(view, "dataSize estimated", fmt.Sprintf(`{"dataSize": "recorded.%s", "estimate": true}`, view))
	}
	check(t, c)
}

// orderedAnswer returns the documents of the first batch of a command by their _ids, or the code
// and the text of its error.
func orderedAnswer(ctx context.Context, db *mongo.Database, command string) string {
	cmd, err := bsonxtest.TryParseD(command)
	if err != nil {
		return err.Error()
	}
	var reply struct {
		Cursor struct {
			FirstBatch []struct {
				ID int `bson:"_id"`
			}
		}
	}
	var refused mongo.CommandError
	switch err := db.RunCommand(ctx, cmd).Decode(&reply); {
	case errors.As(err, &refused):
		return fmt.Sprintf("error %d: %s", refused.Code, refused.Message)
	case err != nil:
		return err.Error()
	}
	return fmt.Sprint(reply.Cursor.FirstBatch)
}
