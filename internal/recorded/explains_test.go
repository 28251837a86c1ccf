package recorded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// explainedFields are fields that are not compared, each with the reason.
var explainedFields = map[string]string{
	"optimizationTimeMicros": "of MongoDB 9.0",
	"cursorType":             "of MongoDB 9.0",
}

// otherPlans are the cases in which Sheaf's plan differs from the recorded one, each with the
// reason.
var otherPlans = map[string]string{
	"count, true":   "Sheaf knows the number of records without a scan",
	"distinct, one": "MongoDB 9.0 has a stage of its own for a distinct of one record",
}

// hashFields are not compared for reads of a missing collection, because the recorded server (9.0)
// omits them in this case.
var hashFields = []string{"queryHash", "planCacheShapeHash", "planCacheKey"}

// explainedCommands are the commands that explain supports, each with a filter and other arguments.
func explainedCommands() map[string]func(coll string, filter bson.D) bson.D {
	statement := func(name, field string, spec bson.D) func(string, bson.D) bson.D {
		return func(coll string, filter bson.D) bson.D {
			one := append(bson.D{{"q", filter}}, spec...)
			return bson.D{{name, coll}, {field, bson.A{one}}}
		}
	}
	query := func(name, field string, more ...bson.E) func(string, bson.D) bson.D {
		return func(coll string, filter bson.D) bson.D {
			return append(bson.D{{name, coll}, {field, filter}}, more...)
		}
	}
	set := bson.D{{"$set", bson.D{{"z", 1}}}}
	byB := bson.D{{"b", 1}}
	return map[string]func(string, bson.D) bson.D{
		"find":        query("find", "filter"),
		"find sorted": query("find", "filter", bson.E{"sort", byB}, bson.E{"limit", 3}),
		"count":       query("count", "query"),
		"distinct":    query("distinct", "query", bson.E{"key", "z"}),
		"aggregate": func(coll string, filter bson.D) bson.D {
			match := bson.A{bson.D{{"$match", filter}}}
			return bson.D{
				{"aggregate", coll},
				{"pipeline", match},
				{"cursor", bson.D{}},
			}
		},
		"update":      statement("update", "updates", bson.D{{"u", set}}),
		"update many": statement("update", "updates", bson.D{{"u", set}, {"multi", true}}),
		"upsert":      statement("update", "updates", bson.D{{"u", set}, {"upsert", true}}),
		"update sorted": statement("update", "updates", bson.D{
			{"u", set}, {"sort", byB},
		}),
		"delete":        statement("delete", "deletes", bson.D{{"limit", 1}}),
		"delete many":   statement("delete", "deletes", bson.D{{"limit", 0}}),
		"findAndUpdate": query("findAndModify", "query", bson.E{"update", set}),
		"findAndRemove": query("findAndModify", "query", bson.E{"remove", true}),
		"findAndUpdate 2": query("findAndModify", "query", bson.E{"update", set},
			bson.E{"sort", byB}),
		"findAndRemove 2": query("findAndModify", "query", bson.E{"remove", true},
			bson.E{"sort", byB}),
	}
}

// explains returns questions about the fields of queryPlanner and the stages of the winning plan,
// for each command, form of filter and kind of collection.
func explains() []question {
	filters := map[string]bson.D{
		"all":     {},
		"one":     {{"_id", 1}},
		"scan":    {{"z", 1}},
		"indexed": {{"a", bson.D{{"$gt", 0}}}},
		"text":    {{"$text", bson.D{{"$search", "x"}}}},
		"false":   {{"$alwaysFalse", 1}},
		"true":    {{"$alwaysTrue", 1}},
	}
	var out []question
	for _, coll := range []string{"plain", "collated", "missing"} {
		for command, build := range explainedCommands() {
			for kind, filter := range filters {
				if otherPlans[command+", "+kind] != "" && coll != "missing" {
					continue
				}
				out = append(out, question{
					coll + ", " + command + ", " + kind,
					func(ctx context.Context, db *mongo.Database) string {
						return explainedAs(ctx, db, build(coll, filter), coll == "missing")
					},
				})
			}
		}
	}
	return out
}

func explainedAs(ctx context.Context, db *mongo.Database, cmd bson.D, missing bool) string {
	reply, failed := run(ctx, db, bson.D{{"explain", cmd}, {"verbosity", "queryPlanner"}})
	if failed != "" {
		return failed
	}
	planner, ok := reply.Lookup("queryPlanner").DocumentOK()
	if !ok {
		return "no queryPlanner"
	}
	var names []string
	elements, _ := planner.Elements()
	for _, e := range elements {
		if explainedFields[e.Key()] == "" && !(missing && slices.Contains(hashFields, e.Key())) {
			names = append(names, e.Key())
		}
	}
	stages := explainedStages(planner.Lookup("winningPlan").Document())
	return fmt.Sprintf("%s: %s; %s", strings.Join(stages, " < "),
		planner.Lookup("parsedQuery"), strings.Join(names, " "))
}

// explainedStages returns the names of the stages of a plan. A name includes the collation of an
// index, the type of a sort, or the limit.
func explainedStages(stage bson.Raw) []string {
	name := stage.Lookup("stage").StringValue()
	if collation, ok := stage.Lookup("collation").DocumentOK(); ok {
		name += " " + collation.Lookup("locale").StringValue()
	}
	if kind, ok := stage.Lookup("type").StringValueOK(); ok {
		name += " " + kind
	}
	if limit := stage.Lookup("limitAmount"); limit.Type != 0 {
		name += fmt.Sprintf(" limit %d", limit.AsInt64())
	}
	out := []string{name}
	if in, ok := stage.Lookup("inputStage").DocumentOK(); ok {
		out = append(out, explainedStages(in)...)
	}
	return out
}

// TestFormsOfExplain compares the fields of queryPlanner, by name, and the stages of the winning
// plan with the recorded server.
func TestFormsOfExplain(t *testing.T) {
	t.Parallel()
	check(t, class{file: "explains.txt", cases: explains(), setup: func(t *testing.T, db *mongo.Database) {
		t.Helper()
		collation := bson.D{{"locale", "en"}}
		must(t, db, bson.D{{"create", "plain"}})
		must(t, db, bson.D{{"create", "collated"}, {"collation", collation}})
		for _, coll := range []string{"plain", "collated"} {
			index := bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a"}}
			must(t, db, bson.D{{"createIndexes", coll}, {"indexes", bson.A{index}}})
			must(t, db, bson.D{
				{"insert", coll},
				{"documents", bson.A{bson.D{{"_id", 1}, {"a", 1}}}},
			})
		}
	}})
}
