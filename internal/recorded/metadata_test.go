package recorded

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

// groupingPrefix is a prefix of errors of MongoDB 9.0, which first tries a special plan.
const groupingPrefix = "Failed to determine whether query system can provide a DISTINCT_SCAN grouping :: caused by :: "

// A case is a pipeline of three parts: one of metadataSources, one of metadataStages, and one of
// metadataUses, which reads metadata of one of metadataKinds.
var (
	metadataSources = map[string]string{
		"none": ``, "text": `{"$match": {"$text": {"$search": "tea"}}}`,
		"near":   `{"$geoNear": {"near": [1, 2], "distanceField": "d"}}`,
		"sorted": `{"$sort": {"k": -1, "s": 1}}`,
	}
	metadataStages = map[string]string{
		"nothing": ``, "group": `{"$group": {"_id": "$k"}}`, "count": `{"$count": "n"}`, "unwind": `{"$unwind": "$t"}`,
		"match": `{"$match": {"nope": 1}}`, "limit": `{"$limit": 1}`, "sort": `{"$sort": {"k": 1}}`,
		"redact": `{"$redact": "$$KEEP"}`,
		"facet":  `{"$facet": {"a": [{"$count": "n"}]}}`, "replaceRoot": `{"$replaceRoot": {"newRoot": {"a": 1}}}`,
		"addFields": `{"$addFields": {"q": 1}}`,
		"project":   `{"$project": {"s": 1}}`, "lookup": `{"$lookup": {"from": "d", "localField": "k", "foreignField": "k", "as": "r"}}`,
		"unionWith": `{"$unionWith": "d"}`, "setWindowFields": `{"$setWindowFields": {"output": {"n": {"$sum": 1}}}}`,
		"bucketAuto": `{"$bucketAuto": {"groupBy": "$k", "buckets": 2}}`, "sortByCount": `{"$sortByCount": "$k"}`,
		"sample":  `{"$sample": {"size": 2}}`,
		"densify": `{"$densify": {"field": "k", "range": {"step": 1, "bounds": "full"}}}`, "fill": `{"$fill": {"output": {"q": {"value": 1}}}}`,
	}
	metadataUses = map[string]string{
		"project": `{"$project": {"z": META}}`, "set": `{"$set": {"z": META}}`, "group": `{"$group": {"_id": META}}`,
		"match": `{"$match": {"$expr": {"$gt": [META, 0]}}}`, "sort": `{"$sort": {"z": META}}`,
		"replaceRoot": `{"$replaceRoot": {"newRoot": {"z": META}}}`,
		"redact":      `{"$redact": {"$cond": [{"$gt": [META, 0]}, "$$KEEP", "$$PRUNE"]}}`, "facet": `{"$facet": {"a": [{"$set": {"z": META}}]}}`,
		"literal": `{"$set": {"z": {"$literal": META}}}`,
		"window":  `{"$setWindowFields": {"output": {"z": {"$max": META}}}}`,
		"lookup":  `{"$lookup": {"from": "d", "let": {"z": META}, "pipeline": [{"$set": {"z": "$$z"}}], "as": "r"}}`,
		"sub":     `{"$lookup": {"from": "d", "pipeline": [{"$set": {"z": META}}], "as": "r"}}`,
	}
	metadataKinds = []string{
		"textScore", "geoNearDistance", "geoNearPoint", "searchScore",
		"vectorSearchScore", "sortKey",
	}
)

// otherMetadata returns the reason why the answer of a case differs from MongoDB, or "".
func otherMetadata(source, stage, use, kind string) string {
	switch {
	case kind == "sortKey" && stage == "unionWith":
		return "the documents of the other collection have an empty sort key in MongoDB, none here"
	case stage == "unionWith" && source != "none":
		return "MongoDB fails when it comes to the documents of the other collection; they have no metadata here"
	case use == "facet" && (stage == "group" || stage == "sortByCount" || stage == "sample"):
		return "the documents within have no order"
	case use == "sub" && source != "none" && stage != "nothing":
		return "the pipeline within is not run where there is no document"
	}
	return ""
}

func metadataCases() []question {
	var out []question
	for source, first := range metadataSources {
		for stage, second := range metadataStages {
			for use, last := range metadataUses {
				for _, kind := range metadataKinds {
					if otherMetadata(source, stage, use, kind) != "" {
						continue
					}
					last := strings.ReplaceAll(last, "META", `{"$meta": "`+kind+`"}`)
					stages := slices.DeleteFunc([]string{first, second, last}, func(s string) bool { return s == "" })
					out = append(out, question{
						use + "-" + kind + " " + source + " " + stage,
						func(ctx context.Context, db *mongo.Database) string {
							return metadataAnswer(ctx, db, "["+strings.Join(stages, ",")+"]")
						},
					})
				}
			}
		}
	}
	return out
}

// metadataAnswer runs a pipeline, and returns its documents, sorted by their text, or its error.
func metadataAnswer(ctx context.Context, db *mongo.Database, pipeline string) string {
	return textAnswer(ctx, db, `{"aggregate": "c", "cursor": {}, "pipeline": `+pipeline+`}`)
}

// textAnswer runs a command, and returns the documents of its first batch, sorted by their text, or
// its error.
func textAnswer(ctx context.Context, db *mongo.Database, command string) string {
	cmd, err := bsonxtest.TryParseD(command)
	if err != nil {
		return err.Error()
	}
	var reply struct {
		Cursor struct{ FirstBatch []bson.Raw }
	}
	var refused mongo.CommandError
	switch err := db.RunCommand(ctx, cmd).Decode(&reply); {
	case errors.As(err, &refused):
		return strings.TrimPrefix(refused.Message, groupingPrefix)
	case err != nil:
		return err.Error()
	}
	var docs []string
	for _, d := range reply.Cursor.FirstBatch {
		docs = append(docs, d.String())
	}
	slices.Sort(docs)
	return strings.Join(docs, " ")
}

// TestMetadataOfStages compares with the recorded server which metadata stages may read, and the
// values that they read.
func TestMetadataOfStages(t *testing.T) {
	t.Parallel()
	check(t, class{
		file: "metadata.txt", grouped: true, cases: metadataCases(),
		setup: func(t *testing.T, db *mongo.Database) {
			t.Helper()
			point := func(x, y int) bson.A { return bson.A{x, y} }
			must(t, db, bson.D{{"insert", "c"}, {"documents", bson.A{
				bson.D{
					{"_id", 1},
					{"s", "tea time"},
					{"k", 1},
					{"t", bson.A{"x"}},
					{"l", point(1, 2)},
				},
				bson.D{
					{"_id", 2},
					{"s", "coffee"},
					{"k", 2},
					{"l", point(3, 4)},
				},
			}}})
			must(t, db, bson.D{
				{"insert", "d"},
				{"documents", bson.A{bson.D{{"_id", 10}, {"k", 1}}}},
			})
			must(t, db, bson.D{{"createIndexes", "c"}, {"indexes", bson.A{
				bson.D{{"key", bson.D{{"s", "text"}}}, {"name", "t"}},
				bson.D{{"key", bson.D{{"l", "2d"}}}, {"name", "l"}},
			}}})
		},
	})
}
