package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/explain"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// TestExplain runs testdata/explain. The commands:
//
//	new                     creates an empty collection; the input are its documents, one per line
//	index [sparse] [unique] [hidden] [partial=…]   the input is the key pattern
//	find | count | distinct key=…
//	                        the input are lines "filter …", "sort …", "projection …", "hint …",
//	                        "min …", "max …", "skip …", "limit …", "returnKey"; the output is the
//	                        winning plan with counters, then the rejected plans
func TestExplain(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/explain", func(t *testing.T, path string) {
		var f *fixture
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "new":
				f = newFixture(t)
				for _, line := range lines(d.Input) {
					f.insert(bsonxtest.MustParse(line))
				}
				return ""
			case "index":
				f.index(indexName(d.Input), bsonxtest.MustParse(d.Input), indexOptions(d)...)
				return ""
			default:
				return f.runExplain(t, d)
			}
		})
	})
}

func lines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
}

func indexName(key string) string {
	return strings.NewReplacer(`{`, "", `}`, "", `"`, "", ": ", "_", ", ", "_").Replace(key)
}

func indexOptions(d *datadriven.TestData) []any {
	var out []any
	for _, arg := range d.CmdArgs {
		if arg.Key == "partial" {
			out = append(out, "partialFilterExpression", bsonxtest.MustParse(strings.Join(arg.Vals, ", ")))
			continue
		}
		out = append(out, arg.Key, true)
	}
	return out
}

func (f *fixture) runExplain(t *testing.T, d *datadriven.TestData) string {
	req := &explain.Request{Verbosity: explain.ExecutionStats, Multi: true, Records: f.records}
	switch d.Cmd {
	case "count":
		req.Command = explain.Count
	case "distinct":
		req.Command = explain.Distinct
		d.ScanArgs(t, "key", &req.Field)
	case "delete":
		req.Command = explain.Delete
	case "update":
		req.Command = explain.Update
	}
	req.Query = f.readQuery(t, d.Input)
	e, err := f.tryExplain(req)
	if err != nil {
		return fmt.Sprintf("error %d: %v\n", mongoerr.CodeOf(err), err)
	}
	var b strings.Builder
	stats := e.ExecutionStats
	fmt.Fprintf(&b, "returned %s, keys %s, docs %s\n", shell(stats, "nReturned"), shell(stats, "totalKeysExamined"),
		shell(stats, "totalDocsExamined"))
	printStage(&b, stats.Lookup("executionStages").Doc(), 0)
	for _, rejected := range e.QueryPlanner.Lookup("rejectedPlans").Doc().Values() {
		b.WriteString("rejected\n")
		printStage(&b, rejected.Doc(), 1)
	}
	return b.String()
}

func (f *fixture) readQuery(t *testing.T, input string) *query.Query {
	options := map[string]string{"filter": "{}"}
	for _, line := range lines(input) {
		name, value, _ := strings.Cut(line, " ")
		options[name] = value
	}
	q := f.query(options["filter"], options["sort"], options["projection"])
	for name, value := range options {
		switch name {
		case "hint":
			q.Hint = bsonxtest.MustParse(`{"v": ` + value + `}`).Lookup("v")
		case "min":
			q.Min = bsonxtest.MustParse(value)
		case "max":
			q.Max = bsonxtest.MustParse(value)
		case "skip", "limit":
			n, ok := bsonxtest.MustParse(`{"v": ` + value + `}`).Lookup("v").AsInt64()
			if !ok {
				t.Fatalf("%s: not a number", name)
			}
			if name == "skip" {
				q.Skip = n
			} else {
				q.Limit = n
			}
		case "returnKey":
			q.ReturnKey = true
		}
	}
	return q
}

func shell(d bsonx.Doc, field string) string { return bsonx.FormatShell(d.Lookup(field)) }

// printStage prints a stage as one line, and its inputs below it.
func printStage(b *strings.Builder, d bsonx.Doc, depth int) {
	b.WriteString(strings.Repeat("  ", depth) + d.Lookup("stage").Str())
	for it := d.Iter(); it.Next(); {
		switch name := string(it.Key()); name {
		case "indexName", "direction", "indexBounds", "filter", "transformBy",
			"sortPattern", "limitAmount", "skipAmount",
			"works", "keysExamined", "docsExamined", "dupsDropped", "type", "nCounted",
			"seeks", "minRecord", "maxRecord",
			"nWouldDelete", "nWouldModify", "projection":
			if v := bsonx.FormatShell(it.Value()); v != "0" || name == "works" {
				b.WriteString(" " + name + "=" + strings.Trim(v, `"`))
			}
		}
	}
	b.WriteByte('\n')
	if in := d.Lookup("inputStage"); !in.IsMissing() {
		printStage(b, in.Doc(), depth+1)
	}
	for _, in := range d.Lookup("inputStages").Doc().Values() {
		printStage(b, in.Doc(), depth+1)
	}
}
