package pipeline_test

import (
	"context"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// looked is a context that counts calls of Err, which are the checks for an interrupt.
type looked struct {
	context.Context
	times int
}

func (o *looked) Err() error {
	o.times++
	return nil
}

// watched returns a context that counts, and options to compile stages that check it.
func watched(t *testing.T) (*looked, parsing.Options) {
	t.Helper()
	op, running := &looked{Context: t.Context()}, &interrupt.Running{}
	running.Set(op)
	return op, parsing.Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})}
}

// TestWideArgumentLooks compiles stages with a long list as an argument, and counts the checks for
// an interrupt.
func TestWideArgumentLooks(t *testing.T) {
	t.Parallel()
	const n = 1 << 14
	names := wide(n, `"f#"`)
	for stage, times := range map[string]int{
		`{"$fill": {"partitionByFields": [` + names + `], "output": {"x": {"value": 1}}}}`:                           3,
		`{"$densify": {"field": "n", "partitionByFields": [` + names + `], "range": {"step": 1, "bounds": "full"}}}`: 1,
		`{"$lookup": {"from": "c", "let": {` + wide(n, `"l#": "$v"`) + `}, "pipeline": [], "as": "r"}}`:              1,
		`{"$merge": {"into": "c", "let": {` + wide(n, `"l#": "$v"`) + `}, "whenMatched": []}}`:                       1,
		`{"$merge": {"into": "c", "on": [` + names + `]}}`:                                                           1,
		`{"$set": {` + wide(n, `"f#": "$g#"`) + `}}`:                                                                 1,
		`{"$project": {` + wide(n, `"f#": 0`) + `}}`:                                                                 1,
	} {
		op, opts := watched(t)
		mustParse(t, `[`+stage+`]`, opts)
		if want := times * n * 8 * interrupt.Step / interrupt.Interval; op.times < want {
			t.Errorf("%.40s: %d looks at the operation, want %d", stage, op.times, want)
		}
	}
}

// TestWideSortLooks checks that a stage checks for an interrupt while it reads a sort pattern with
// too many keys, which it then rejects.
func TestWideSortLooks(t *testing.T) {
	t.Parallel()
	const n = 1 << 14
	op, opts := watched(t)
	stage := bsonxtest.Parse(t,
		`{"p": [{"$setWindowFields": {"sortBy": {`+wide(n, `"f#": 1`)+`}, "output": {"x": {"$sum": 1}}}}]}`)
	if _, err := pipeline.Parse(stage.Lookup("p"), opts); err == nil {
		t.Error("too many sort keys are accepted")
	}
	if want := n * 8 * interrupt.Step / interrupt.Interval; op.times < want {
		t.Errorf("%d looks at the operation, want %d", op.times, want)
	}
}

// TestWideRunLooks counts the checks for an interrupt while a stage computes many values for one
// document.
func TestWideRunLooks(t *testing.T) {
	t.Parallel()
	const n = 1 << 13
	doc := bsonxtest.Parse(t, `{"n": 1, `+wide(n, `"f#": 1`)+`}`)
	sums := wide(n, `"f#": {"$sum": "$f#"}`)
	for stage, looks := range map[string]int{
		`{"$group": {"_id": null, ` + sums + `}}`:                                       3,
		`{"$bucketAuto": {"groupBy": "$n", "buckets": 1, "output": {` + sums + `}}}`:    3,
		`{"$setWindowFields": {"output": {` + wide(n, `"f#": {"$locf": "$f#"}`) + `}}}`: 2,
		`{"$densify": {"field": "n", "partitionByFields": [` + wide(n, `"f#"`) +
			`], "range": {"step": 1, "bounds": "full"}}}`: 3,
		`{"$project": {` + wide(n, `"f#": "$nosuch.x"`) + `}}`:                             1,
		`{"$facet": {` + wide(1<<10, `"f#": [{"$limit": 1}, {"$match": {"x": 1}}]`) + `}}`: 1,
	} {
		op, opts := watched(t)
		p := mustParse(t, `[`+stage+`]`, opts)
		src := p.Run(&source.Slice{Docs: []bsonx.Doc{doc}}, &source.Env{})
		op.times = 0
		if _, err := src.Next(op); err != nil {
			t.Errorf("%.40s: %v", stage, err)
		}
		src.Close()
		if want := looks * n * interrupt.Step / interrupt.Interval; op.times < want {
			t.Errorf("%.40s: %d looks at the operation, want %d", stage, op.times, want)
		}
	}
}

// TestManyNeeds checks that a pipeline that reads thousands of fields needs the whole document,
// because no plan gains from such a projection.
func TestManyNeeds(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{
		`{"$group": {"_id": null, ` + wide(5000, `"f#": {"$sum": "$x#"}`) + `}}`,
		`{"$group": {"_id": {` + wide(5000, `"f#": "$x#"`) + `}}}`,
		`{"$project": {` + wide(5000, `"f#": 1`) + `}}`, `{"$replaceWith": {` + wide(5000, `"f#": "$x#"`) + `}}`,
		`{"$setWindowFields": {"output": {` + wide(5000, `"f#": {"$sum": "$x#"}`) + `}}}, {"$count": "n"}`,
	} {
		if _, spec := mustParse(t, `[`+stage+`]`, parsing.Options{Vars: expressions.Scope()}).Needs(); spec != nil {
			t.Errorf("%.40s: a projection to %d fields", stage, spec.Len())
		}
	}
	if _, spec := mustParse(t, `[{"$group": {"_id": null, `+wide(100, `"f#": {"$sum": "$x#"}`)+`}}]`,
		parsing.Options{Vars: expressions.Scope()}).Needs(); spec.Len() != 101 {
		t.Errorf("a projection to %d fields, want 100 and no _id", spec.Len())
	}
}
