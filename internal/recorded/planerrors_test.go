package recorded

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/filter"
)

// plannedFilters are filters with each operator, alone, beside others, or within others.
var plannedFilters = map[string][]string{
	"$eq": {
		`{}`, `{"a": 1}`, `{"a": "x"}`, `{"a": null}`, `{"a": {"$eq": {"b": 1, "c": "x"}}}`,
		`{"a": [1, "x"]}`, `{"a": true}`, `{"": 1}`,
		`{"a": {"$minKey": 1}}`, `{"a": {"$numberLong": "5"}}`, `{"a": {"$numberDecimal": "5.5"}}`,
		`{"a": 1.5}`, `{"a": 5.0}`, `{"a": 1e20}`,
		`{"a": {"$binary": {"base64": "AAE=", "subType": "00"}}}`,
		`{"a": {"$timestamp": {"t": 1, "i": 2}}}`, `{"a": {"$symbol": "s"}}`,
		`{"a": {"$code": "f"}}`, `{"a": {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}}`, `{"a": "q\"uote\n"}`,
		`{"r": {"$ref": "c", "$id": 1}}`,
		`{"a": {"$eq": {"$regularExpression": {"pattern": "x", "options": "i"}}}}`,
	},
	"$gt":  {`{"a": {"$gt": 1}}`, `{"a": {"$gt": {"$maxKey": 1}}}`, `{"a": {"$gt": 1, "$lt": 5}}`},
	"$gte": {`{"a": {"$gte": 1}}`, `{"a": {"$gte": {}, "$lte": []}}`},
	"$in": {
		`{"a": {"$in": [1, 2]}}`, `{"a": {"$in": [1]}}`, `{"a": {"$in": []}}`,
		`{"a": {"$in": [2, 1, 1, null, "s", [1]]}}`,
		`{"a": {"$in": [2, {"$regularExpression": {"pattern": "x", "options": "i"}}, 1, {"$regularExpression": {"pattern": "a", "options": ""}}]}}`,
		`{"a": {"$in": [{"$regularExpression": {"pattern": "x", "options": "i"}}]}}`, `{"b": 1, "a": {"$in": [3, 2]}}`,
	},
	"$lt":  {`{"a": {"$lt": {"$date": "2020-01-02T00:00:00.123Z"}}}`},
	"$lte": {`{"a": {"$lte": {"$oid": "0123456789abcdef01234567"}}}`},
	"$ne":  {`{"a": {"$ne": 1}}`, `{"a.b": {"$ne": null}}`, `{"a": {"$ne": {"b": [1]}}}`},
	"$nin": {`{"a": {"$nin": [2, 1]}}`, `{"a": {"$nin": []}}`, `{"a": {"$nin": [2, null, {"$regularExpression": {"pattern": "x", "options": "i"}}]}}`},
	"$and": {
		`{"$and": [{"a": 1}, {"b": 1}]}`, `{"$and": [{"a": 1}, {"$or": [{"b": 1}, {"c": 2}]}]}`,
		`{"a": 1, "b": {"$gt": 2}, "c": {"$exists": true}}`,
	},
	"$nor": {
		`{"$nor": [{"a": 1}, {"b": 1}]}`, `{"$nor": [{"a": 1}]}`, `{"$nor": [{"a": {"$gt": 1}}, {"$and": [{"b": 1}, {"c": 2}]}]}`,
		`{"$nor": [{"a": 1, "b": 1}]}`, `{"$nor": [{"$nor": [{"a": 1}]}]}`,
		`{"$nor": [{"$or": [{"a": 1}, {"b": 2}]}]}`, `{"$nor": [{}]}`,
	},
	"$not": {
		`{"a": {"$not": {"$gt": 1}}}`, `{"a": {"$not": {"$gt": 1, "$lt": 3}}}`,
		`{"a": {"$not": {"$gt": 1, "$lt": 3}}, "b": 1}`,
		`{"a": {"$not": {"$in": [1, 2], "$lt": 3}}}`, `{"a": {"$not": {"$not": {"$gt": 3}}}}`,
		`{"a": {"$not": {"$not": {"$gt": 3, "$lt": 5}}}}`,
		`{"a": {"$not": {"$regularExpression": {"pattern": "x", "options": ""}}}}`,
	},
	"$or": {
		`{"$or": [{"a": 1}, {"b": 1}]}`, `{"$or": [{"a": 1}]}`, `{"$or": [{"a": 2}, {"a": 1}, {"a": 3}]}`,
		`{"$or": [{}]}`, `{"$or": [{}, {"a": 1}]}`,
	},
	"$exists": {`{"a": {"$exists": true}}`, `{"a": {"$exists": false}}`, `{"a": {"$not": {"$exists": true}}}`},
	"$type": {
		`{"a": {"$type": "int"}}`, `{"a": {"$type": ["string", "int"]}}`, `{"a": {"$type": "number"}}`,
		`{"a": {"$type": ["number", "string"]}}`,
	},
	"$expr":  plannedExpressions,
	"$mod":   {`{"a": {"$mod": [2, 1]}}`, `{"a": {"$mod": [5.5, -3]}}`, `{"a": {"$not": {"$mod": [2, 1]}}}`},
	"$regex": {`{"a": {"$regex": "x"}}`, `{"a": {"$regex": "/a/"}}`, `{"a": {"$regularExpression": {"pattern": "x", "options": "i"}}}`},
	"$options": {
		`{"a": {"$regex": "x", "$options": "i"}}`, `{"a": {"$regex": "x", "$options": "imsx"}}`,
	},
	"$text": {`{"$text": {"$search": "x"}, "a": 1}`, `{"$or": [{"a": 2}, {"$text": {"$search": "x", "$language": "none", "$caseSensitive": true}}]}`},
	"$all": {
		`{"a": {"$all": [1, 2]}}`, `{"a": {"$all": [1]}}`, `{"a": {"$all": []}}`,
		`{"a": {"$all": [{"$elemMatch": {"b": 1}}]}}`,
		`{"a": {"$all": [{"$regularExpression": {"pattern": "x", "options": ""}}, 2]}}`, `{"a": {"$not": {"$all": [1, 2]}}}`,
	},
	"$elemMatch": {
		`{"a": {"$elemMatch": {"b": 1}}}`, `{"a": {"$elemMatch": {"b": 1, "c": 2}}}`,
		`{"a": {"$elemMatch": {"$gt": 1}}}`, `{"a": {"$elemMatch": {}}}`,
		`{"a": {"$elemMatch": {"$gt": 1, "$lt": 5}}}`, `{"a": {"$elemMatch": {"$elemMatch": {"b": 1}}}}`,
		`{"a": {"$elemMatch": {"$not": {"$gt": 3}}}}`,
		`{"a": {"$elemMatch": {"$ne": 3}}}`, `{"a": {"$elemMatch": {"$nin": [3]}}}`,
		`{"a": {"$elemMatch": {"$or": [{"b": 1}, {"c": 2}]}}}`,
		`{"a": {"$elemMatch": {"$in": [2, 1]}}}`, `{"a": {"$elemMatch": {"$in": []}}}`,
		`{"a": {"$elemMatch": {"$alwaysFalse": 1}}}`,
		`{"a": {"$elemMatch": {"$nor": [{"b": 1}, {"c": 1}]}}}`,
		`{"a": {"$elemMatch": {"b": {"$elemMatch": {"$gt": 1}}}}}`,
		`{"a": {"$elemMatch": {"$not": {"$elemMatch": {"b": 1}}}}}`,
		`{"a": {"$elemMatch": {"$not": {"$gt": 3, "$lt": 5}}}}`,
		`{"a": {"$elemMatch": {"$exists": true, "$size": 1, "$mod": [2, 0], "$type": "int", "$regex": "x", "$bitsAllSet": 1, "$geoWithin": {"$box": [[1, 2], [3, 4]]}}}}`,
		`{"a": {"$not": {"$elemMatch": {"b": 1}}}}`,
	},
	"$size":         {`{"a": {"$size": 2}}`, `{"a": {"$not": {"$size": 1}}}`},
	"$bitsAllClear": {`{"a": {"$bitsAllClear": [1, 5]}}`, `{"a": {"$bitsAllClear": [5, 1, 5]}}`},
	"$bitsAllSet":   {`{"a": {"$bitsAllSet": 3}}`},
	"$bitsAnyClear": {`{"a": {"$bitsAnyClear": [0]}}`},
	"$bitsAnySet":   {`{"a": {"$bitsAnySet": []}}`, `{"a": {"$bitsAnySet": {"$binary": {"base64": "AAE=", "subType": "00"}}}}`},
	"$geoIntersects": {
		`{"l": {"$geoIntersects": {"$geometry": {"type": "Point", "coordinates": [1, 2]}}}}`,
	},
	"$geoWithin": {
		`{"l": {"$geoWithin": {"$centerSphere": [[1, 2], 0.1]}}}`, `{"l": {"$geoWithin": {"$box": [[1, 2], [3, 4]]}}}`,
		`{"l": {"$geoWithin": {"$geometry": {"type": "Polygon", "coordinates": [[[0, 0], [0, 1], [1, 1], [0, 0]]]}}}}`,
		`{"l": {"$not": {"$geoWithin": {"$box": [[1, 2], [3, 4]]}}}}`,
	},
	"$near": {
		`{"l": {"$near": [1, 2]}}`, `{"l": {"$near": {"$geometry": {"type": "Point", "coordinates": [1, 2]}, "$maxDistance": 5.5}}}`,
		`{"a": {"$in": [2, 1]}, "l": {"$near": [1, 2]}}`,
	},
	"$nearSphere": {
		`{"l": {"$nearSphere": {"$geometry": {"type": "Point", "coordinates": [1, 2]}, "$maxDistance": 5.5, "$minDistance": 1}}}`,
		`{"l": {"$nearSphere": [1, 2], "$maxDistance": 0.3}}`,
	},
	"$geoNear": {`{"l": {"$geoNear": [1, 2]}}`},
	"$within":  {`{"l": {"$within": {"$center": [[1, 2], 3]}}}`},
	"$alwaysFalse": {
		`{"$alwaysFalse": 1}`, `{"$alwaysFalse": 1, "a": 1}`, `{"$or": [{"$alwaysFalse": 1}, {"a": 1}]}`,
		`{"$nor": [{"$alwaysFalse": 1}, {"a": 1}]}`,
	},
	"$alwaysTrue": {
		`{"$alwaysTrue": 1}`, `{"$alwaysTrue": 1, "a": 1}`, `{"$or": [{"$alwaysTrue": 1}]}`,
		`{"$or": [{"$alwaysTrue": 1}, {"a": 1}]}`,
		`{"$nor": [{"$alwaysTrue": 1}]}`, `{"$and": [{"$alwaysTrue": 1}]}`,
	},
	"$comment": {`{"$comment": "x", "a": 1}`, `{"$comment": "x"}`},
	"$db":      {`{"a": {"$elemMatch": {"$db": "x"}}}`},
	"$id":      {`{"a": {"$elemMatch": {"$ref": "x", "$id": 1}}}`},
	"$ref":     {`{"a": {"$elemMatch": {"$ref": "x"}}}`},
	"$sampleRate": {
		`{"$sampleRate": 0.5}`, `{"$sampleRate": 0.0}`, `{"$sampleRate": 1.0}`,
		`{"$or": [{"$sampleRate": 1}, {"a": 1}]}`,
	},
}

// plannedExpressions are filters with $expr. MongoDB derives predicates from their comparisons.
var plannedExpressions = []string{
	`{"$expr": {"$eq": ["$a", 1]}}`, `{"$expr": {"$gt": ["$a", "$b"]}}`, `{"$expr": true}`, `{"$expr": false}`,
	`{"$expr": {"$add": ["$a", 1]}}`,
	`{"$expr": ["$a", 1, {"$add": [1, "$b"]}]}`, `{"$expr": {"$lt": [5, "$a.b"]}}`, `{"$expr": {"$and": [{"$eq": ["$a", 1]}, {"$gt": ["$b", 2]}]}}`,
	`{"$expr": {"$or": [{"$eq": ["$a", 1]}, {"$gt": ["$b", 2]}]}}`, `{"$expr": {"$or": [{"$eq": ["$a", 1]}, {"$gt": ["$b", "$c"]}]}}`,
	`{"$expr": {"$and": [{"$eq": ["$a", 1]}, {"$gt": ["$b", "$c"]}]}}`, `{"$expr": {"$in": ["$a", [1, 2]]}}`, `{"$expr": {"$ne": ["$a", 1]}}`,
	`{"$expr": {"$eq": ["$a", 1]}, "b": 1}`, `{"$or": [{"$expr": {"$eq": ["$a", 1]}}, {"b": 1}]}`,
	`{"$expr": {"$let": {"vars": {"x": "$a"}, "in": {"$gt": ["$$x", {"$literal": "q"}]}}}}`,
	`{"$expr": {"$eq": ["$a", {"$date": "2020-01-01T00:00:00Z"}]}}`, `{"$expr": {"$eq": ["$$ROOT.a", {"x": "$b", "y": 1, "z": {"$literal": 1.5}}]}}`,
	`{"$expr": {"$and": [{"$gt": ["$b", 2]}, {"$gte": ["$c", 2]}, {"$lt": ["$d", 2]}, {"$lte": ["$e", 2]}, {"$eq": ["$f", 2]}]}}`,
	`{"$expr": {"$and": [{"$gt": ["$z", 2]}, {"$gt": ["$b", 2]}]}}`,
	`{"$expr": {"$and": [{"$or": [{"$eq": ["$a", 1]}, {"$eq": ["$b", 1]}]}, {"$gt": ["$b", 2]}]}}`,
	`{"$expr": {"$or": [{"$and": [{"$eq": ["$a", 1]}, {"$eq": ["$b", "$c"]}]}, {"$gt": ["$b", 2]}]}}`, `{"$expr": {"$eq": ["$a", null]}}`,
	`{"$expr": {"$eq": ["$a", [1]]}}`, `{"$expr": {"$eq": ["$a.0", 1]}}`, `{"$expr": {"$gt": ["$a", {"$minKey": 1}]}}`,
	`{"$expr": {"$eq": ["$a", {"b": 1}]}}`, `{"$expr": {"$eq": ["$a", {"$regularExpression": {"pattern": "x", "options": ""}}]}}`,
	`{"$expr": {"$in": ["$a", [1, null]]}}`, `{"$expr": {"$in": ["$a", [1, [2]]]}}`, `{"$expr": {"$in": ["$a", []]}}`,
	`{"$expr": {"$in": ["$a", [1]]}}`,
	`{"$expr": {"$in": ["$a", "$b"]}}`, `{"$expr": {"$not": [{"$eq": ["$a", 1]}]}}`, `{"$expr": {"$and": []}}`,
	`{"$expr": {"$or": [{"$eq": ["$a", 1]}]}}`,
	`{"$expr": "$a"}`, `{"$expr": 5}`, `{"$expr": {"$eq": ["$$CURRENT.a", 1]}}`, `{"$expr": {"$eq": ["$$ROOT", 1]}}`,
	`{"$nor": [{"$expr": {"$eq": ["$a", 1]}}]}`, `{"a": {"$in": [1, 2]}, "$expr": {"$in": ["$a", [1, 2]]}}`,
	`{"$expr": {"$eq": ["$a", {"$oid": "0123456789abcdef01234567"}]}}`, `{"$expr": {"$eq": ["$a", {"$code": "f"}]}}`,
	`{"$expr": {"$eq": ["$a", {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"}]}}`, `{"$expr": {"$eq": ["$a", 5.0]}}`,
	`{"$expr": {"$eq": ["$a", 1]}, "l": {"$near": [1, 2]}}`, `{"$expr": {"$eq": ["$a", 1]}, "$sampleRate": 0.5}`,
}

// notPlanned are the operators that the test omits, each with the reason.
var notPlanned = map[string]string{
	"$jsonSchema": "MongoDB shows the predicates that it makes of a schema; Sheaf shows the schema",
	"$where":      "the server that was recorded runs no JavaScript",
}

// planErrors returns questions about the predicate tree in the error of a query that cannot be
// planned, because its hint is a missing index.
func planErrors(t *testing.T) []question {
	t.Helper()
	var out []question
	for _, op := range filter.Operators() {
		if _, ok := notPlanned[op.Name]; !ok && len(plannedFilters[op.Name]) == 0 {
			t.Errorf("%s has no filter", op.Name)
		}
		for _, text := range plannedFilters[op.Name] {
			out = append(out, question{text, func(ctx context.Context, db *mongo.Database) string {
				return plannedTree(ctx, db, text)
			}})
		}
	}
	return out
}

func plannedTree(ctx context.Context, db *mongo.Database, text string) string {
	f, err := bsonxtest.TryParseD(text)
	if err != nil {
		return err.Error()
	}
	cmd := bson.D{{"find", "c"}, {"filter", f}}
	if !strings.Contains(text, "$text") { // with $text, a hint is another error
		cmd = append(cmd, bson.E{"hint", "missing"})
	}
	var failed mongo.CommandError
	if err := db.RunCommand(ctx, cmd).Err(); !errors.As(err, &failed) {
		return "no error"
	}
	_, tree, ok := strings.Cut(failed.Message, "Tree: ")
	tree, _, ends := strings.Cut(tree, " planner returned error")
	if !ok || !ends {
		return failed.Message
	}
	return strconv.Quote(tree)
}

// TestTreesOfPlanErrors compares the predicate trees in planning errors with the recorded server,
// for all operators of filters.
func TestTreesOfPlanErrors(t *testing.T) {
	t.Parallel()
	check(t, class{file: "planerrors.txt", cases: planErrors(t), setup: func(t *testing.T, db *mongo.Database) {
		t.Helper()
		must(t, db, bson.D{{"create", "c"}})
		text := bson.D{{
			"key",
			bson.D{{"p", 1}, {"t", "text"}},
		}, {"name", "t"}}
		must(t, db, bson.D{{"createIndexes", "c"}, {"indexes", bson.A{text}}})
	}})
}
