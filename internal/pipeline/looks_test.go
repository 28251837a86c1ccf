package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
	"github.com/sheafdb/sheaf/internal/torture"
)

// wide returns n copies of form, separated by commas. Each # in a copy becomes its number.
func wide(n int, form string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = strings.ReplaceAll(form, "#", fmt.Sprint(i))
	}
	return strings.Join(parts, ", ")
}

// TestWideStageLooks compiles stages with many fields and counts how often they check for an
// interrupt.
func TestWideStageLooks(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	const n = 1 << 14
	for _, stage := range []string{
		`{"$setWindowFields": {"output": {` + wide(n, `"f#": {"$sum": 1}`) + `}}}`,
		`{"$setWindowFields": {"output": {` + wide(n, `"v.f#": {"$sum": 1}`) + `}}}`,
		`{"$fill": {"output": {` + wide(n, `"f#": {"method": "locf"}`) + `}}}`,
		`{"$group": {"_id": 1, ` + wide(n, `"f#": {"$sum": "$f#"}`) + `}}`,
		`{"$bucket": {"groupBy": "$v", "boundaries": [` + wide(n, `#`) + `]}}`,
		`{"$bucketAuto": {"groupBy": "$v", "buckets": 2, "output": {` + wide(n, `"f#": {"$sum": 1}`) + `}}}`,
		`{"$bucket": {"groupBy": "$v", "boundaries": [0, 1], "output": {` + wide(n, `"f#": {"$sum": 1}`) + `}}}`,
	} {
		op, running := interrupttest.New(t.Context()), &interrupt.Running{}
		running.Set(op)
		mustParse(t, `[`+stage+`]`,
			parsing.Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})})
		if want := n * 16 * interrupt.Step / interrupt.Interval; op.Looks < want {
			t.Errorf("%.40s: %d looks at the operation, want %d", stage, op.Looks, want)
		}
	}
}

// TestWideOutputLooks counts the checks for an interrupt while $setWindowFields builds one large
// document.
func TestWideOutputLooks(t *testing.T) {
	t.Parallel()
	const n = 1 << 7
	doc := bsonxtest.Parse(t, `{"v": [`+wide(n*n, `{"a": #}`)+`]}`)
	p := mustParse(t, `[{"$setWindowFields": {"output": {`+wide(n, `"v.f#": {"$sum": 1}`)+`}}}]`,
		parsing.Options{Vars: expressions.Scope()})
	src := p.Run(&source.Slice{Docs: []bsonx.Doc{doc}}, &source.Env{})
	defer src.Close()
	op := interrupttest.New(t.Context())
	if _, err := src.Next(op); err != nil {
		t.Fatal(err)
	}
	if want := n * n * n * 8 / interrupt.Interval; op.Looks < want {
		t.Errorf("%d looks at the operation, want %d", op.Looks, want)
	}
}

// TestWideOutputMemory checks that a stage fails if it builds a document of more than
// limits.ExpressionBytes.
func TestWideOutputMemory(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	doc := bsonxtest.Parse(t, `{"v": [`+wide(1<<14, `{"a": #}`)+`]}`)
	p := mustParse(t, `[{"$setWindowFields": {"output": {`+wide(1<<10, `"v.f#": {"$sum": 1}`)+`}}}]`,
		parsing.Options{Vars: expressions.Scope()})
	_, err := batch(p.Run(&source.Slice{Docs: []bsonx.Doc{doc}}, &source.Env{}))
	if err == nil || !strings.Contains(err.Error(), "would use too much memory") {
		t.Errorf("a document of 16 Mi fields: %v", err)
	}
}

// TestMovingMatchLooks optimises a pipeline of many $match stages whose predicates move through
// many other stages. The optimiser must check for an interrupt often, and end after an interrupt.
func TestMovingMatchLooks(t *testing.T) {
	t.Parallel()
	const n, many = 30, 40
	match := `{"$match": {` + wide(many, `"f#": {"$exists": false}`) + `}}`
	for _, stage := range []string{
		`{"$set": {"a": 1}}`, `{"$unset": ["a"]}`,
		`{"$set": {"f0": "$f1", "f1": "$f0"}}`, `{"$unwind": "$a"}`,
	} {
		op, running := interrupttest.New(t.Context()), &interrupt.Running{}
		running.Set(op)
		opts := parsing.Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})}
		p, err := pipeline.Compile(bsonxtest.Parse(t,
			`{"v": [`+strings.Repeat(stage+`, `+match+`, `, n-1)+stage+`]}`).Lookup("v"), opts)
		if err != nil {
			t.Fatal(err)
		}
		before := op.Looks
		p.Optimized(0)
		if looks := op.Looks - before; looks < n*n/2 {
			t.Errorf("%s: %d looks at the operation", stage, looks)
		}
		op.EndAfter(n)
		before = op.Looks
		p.Optimized(0)
		if looks := op.Looks - before; looks > 8*n*many {
			t.Errorf("%s: %d looks at the operation, which ended", stage, looks)
		}
	}
}

// TestUpdateLooks updates a wide document with a pipeline of many stages that each copy the
// document. The pipeline must check for an interrupt often.
func TestUpdateLooks(t *testing.T) {
	t.Parallel()
	const width, stages = 20_000, 500 // the document has 240 kB
	doc := bsonx.NewBuilder(nil)
	doc.StartDoc()
	for i := range width {
		doc.Int32(fmt.Sprintf("f%06d", i), 1)
	}
	doc.End()
	var list []bsonx.Value
	for i := range stages {
		list = append(list, bsonx.Document(bsonx.NewDoc("$set", bsonx.NewDoc(fmt.Sprintf("f%06d", i), 2))))
	}
	op, running := interrupttest.New(t.Context()), &interrupt.Running{}
	running.Set(op)
	p, err := pipeline.ParseUpdate(bsonx.ValueOf(list),
		parsing.Options{Vars: expressions.Scope().WithScripts(js.Options{Running: running})})
	if err != nil {
		t.Fatal(err)
	}
	before := op.Looks
	if _, err := p.Apply(doc.Bytes()); err != nil {
		t.Fatal(err)
	}
	if looks := op.Looks - before; looks < stages/2 {
		t.Errorf("%d looks at the operation, want %d", looks, stages/2)
	}
}
