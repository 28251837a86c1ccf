package command_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// TestExplainAggregate runs testdata/explain. The commands:
//
//	run                   commands, one per line, which must succeed
//	explain [verbosity]   pipelines over the collection c, one per line, or whole commands:
//	                      prints the plan and the stages
//	command               whole commands: prints the names of the reply's fields, or the error
//
// The output shows a plan on one line, from its root to its leaf. Times are replaced by 0, and
// memory sizes are hidden.
func TestExplainAggregate(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/explain", func(t *testing.T, path string) {
		db := sheaftest.New(t).Database("d")
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				cmd := explainInput(t, d, line)
				raw, err := db.RunCommand(t.Context(), cmd).Raw()
				reply := bsonx.Doc(raw)
				switch {
				case d.Cmd == "run" && err != nil:
					t.Fatal(line, err)
				case d.Cmd == "run":
				case err != nil:
					fmt.Fprintf(&out, "%s\n  error %d\n", line, errorCode(t, err))
				case d.Cmd == "command":
					fmt.Fprintf(&out, "%s\n  %s\n", line, fieldNames(reply))
				default:
					fmt.Fprintf(&out, "%s\n%s", line, showExplained(reply))
				}
			}
			return out.String()
		})
	})
}

// explainInput returns the command of an input line. A line with a pipeline is wrapped into an
// explain.
func explainInput(t *testing.T, d *datadriven.TestData, line string) bson.D {
	t.Helper()
	if strings.HasPrefix(line, "[") {
		verbosity := "queryPlanner"
		if len(d.CmdArgs) > 0 {
			verbosity = d.CmdArgs[0].Key
		}
		line = `{"explain": {"aggregate": "c", "pipeline": ` + line +
			`, "cursor": {}}, "verbosity": "` + verbosity + `"}`
	}
	return bsonxtest.ParseD(t, line)
}

func fieldNames(d bsonx.Doc) string {
	var names []string
	for it := d.Iter(); it.Next(); {
		names = append(names, string(it.Key()))
	}
	return strings.Join(names, " ")
}

var (
	elapsed = regexp.MustCompile(`(executionTimeMillisEstimate: )\d+`)
	memory  = regexp.MustCompile(`(maxAccumulatorMemoryUsageBytes: \{ \w+: |totalDataSizeSortedBytesEstimate: )[1-9]\d+`)
)

func showExplained(reply bsonx.Doc) string {
	var out strings.Builder
	if reply.Lookup("stages").IsMissing() {
		fmt.Fprintf(&out, "  %s\n", showQuery(reply))
	}
	for _, stage := range reply.Lookup("stages").Doc().Values() {
		first := stage.Doc().First()
		if string(first.Key) != "$cursor" {
			fmt.Fprintf(&out, "  %s\n", bsonx.FormatShell(stage))
			continue
		}
		fmt.Fprintf(&out, "  $cursor %s", showQuery(first.Value.Doc()))
		if n := stage.Doc().Lookup("nReturned"); !n.IsMissing() {
			fmt.Fprintf(&out, ", returned %s", bsonx.FormatShell(n))
		}
		out.WriteByte('\n')
	}
	return memory.ReplaceAllString(elapsed.ReplaceAllString(out.String(), "${1}0"), "${1}some")
}

// showQuery formats a query plan, with its execution statistics if it was run.
func showQuery(d bsonx.Doc) string {
	planner, stats := d.Lookup("queryPlanner").Doc(), d.Lookup("executionStats").Doc()
	out := "query " + bsonx.FormatShell(planner.Lookup("parsedQuery")) + ": " +
		showPlan(planner.Lookup("winningPlan").Doc())
	if planner.Lookup("optimizedPipeline").Truthy() {
		out = "whole " + out
	}
	for range planner.Lookup("rejectedPlans").Doc().Len() {
		out += ", one rejected"
	}
	if stats == nil {
		return out
	}
	out += fmt.Sprintf(", read %s keys, %s documents", bsonx.FormatShell(stats.Lookup("totalKeysExamined")),
		bsonx.FormatShell(stats.Lookup("totalDocsExamined")))
	if all := stats.Lookup("allPlansExecution"); !all.IsMissing() {
		out += fmt.Sprintf(", %d tried", all.Doc().Len())
	}
	return out
}

func showPlan(d bsonx.Doc) string {
	out := d.Lookup("stage").Str()
	for _, name := range []string{"transformBy", "sortPattern", "limitAmount", "skipAmount", "filter", "indexName"} {
		if v := d.Lookup(name); !v.IsMissing() {
			out += " " + bsonx.FormatShell(v)
		}
	}
	if in := d.Lookup("inputStage"); !in.IsMissing() {
		out += " < " + showPlan(in.Doc())
	}
	return out
}

// TestDriverExplainsAggregate checks the option explain of the command aggregate.
func TestDriverExplainsAggregate(t *testing.T) {
	t.Parallel()
	c := newTopic(t, 10)
	stages := mongo.Pipeline{{{"$group", bson.D{{"_id", "$n"}}}}}
	var reply struct {
		Stages []bson.M
		OK     float64
	}
	cmd := bson.D{{"aggregate", c.Name()}, {"pipeline", stages}, {"explain", true}}
	if err := c.Database().RunCommand(t.Context(), cmd).Decode(&reply); err != nil {
		t.Fatal(err)
	}
	if len(reply.Stages) != 2 || reply.Stages[0]["$cursor"] == nil || reply.Stages[1]["$group"] == nil {
		t.Error(reply.Stages)
	}
}
