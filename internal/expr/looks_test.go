package expr_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
	"github.com/sheafdb/sheaf/internal/js"
	"github.com/sheafdb/sheaf/internal/torture"
)

const (
	// manyElements is the number of elements in the operands of TestLooks.
	manyElements = 1 << 16
	// fewLooks is the smallest allowed number of checks for an interrupt with manyElements.
	fewLooks = manyElements * interrupt.Step / interrupt.Interval * 3 / 4
)

// quick lists the operators of arrays, sets and objects that need no check, with the reason.
var quick = map[string]string{
	"$isArray": "reads no element", "$size": "only steps over the elements", "$first": "only steps over the elements",
	"$last": "only steps over the elements", "$arrayElemAt": "only steps over the elements",
	"$getField": "counts the bytes",
	"$bsonSize": "reads no field", "$binarySize": "reads no byte",
}

// loops contains arguments for the operators that quick does not list. $v and $w are arrays of the
// same numbers, $object is a large object, and $pairs is the array that $arrayToObject turns into
// $object.
var loops = map[string]string{
	"$allElementsTrue": `["$v"]`, "$anyElementTrue": `[{"$map": {"input": "$v", "in": false}}]`,
	"$setUnion": `["$v", "$w"]`, "$setIntersection": `["$v", "$w"]`,
	"$setDifference": `["$v", "$w"]`, "$setEquals": `["$v", "$w"]`,
	"$setIsSubset": `["$v", "$w"]`, "$concatArrays": `["$v", "$w"]`,
	"$reverseArray": `"$v"`, "$slice": `["$v", 1000000]`,
	"$range": `["$zero", 65536]`, "$indexOfArray": `["$v", -1]`, "$in": `[-1, "$v"]`,
	"$zip":       `{"inputs": ["$v", "$w"]}`,
	"$sortArray": `{"input": "$v", "sortBy": -1}`, "$firstN": `{"input": "$v", "n": 1000000}`,
	"$lastN": `{"input": "$v", "n": 1000000}`,
	"$minN":  `{"input": "$v", "n": 3}`, "$maxN": `{"input": "$v", "n": 3}`, "$filter": `{"input": "$v", "cond": false}`,
	"$map": `{"input": "$v", "in": 1}`, "$reduce": `{"input": "$v", "initialValue": 0, "in": 1}`,
	"$mergeObjects": `["$object", "$object"]`, "$objectToArray": `"$object"`, "$arrayToObject": `"$pairs"`,
	"$percentile": `{"input": "$v", "p": [0.5], "method": "approximate"}`,
	"$median":     `{"input": "$v", "method": "approximate"}`,
	"$setField":   `{"field": "new", "input": "$object", "value": 1}`,
	"$unsetField": `{"field": "f7", "input": "$object"}`,
	"$sum":        `"$v"`, "$avg": `"$v"`, "$min": `"$v"`, "$max": `"$v"`, "$stdDevPop": `"$v"`, "$stdDevSamp": `"$v"`,
}

// TestLooks runs each operator on large arrays and objects and counts its checks for an interrupt.
func TestLooks(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	doc := largeOperands()
	for _, op := range expressions.Table().List() {
		if op.Status == feature.Known ||
			!slices.Contains([]string{"array", "set", "object"}, op.Family) &&
				loops[op.Name] == "" || quick[op.Name] != "" {
			continue
		}
		arg, ok := loops[op.Name]
		if !ok {
			t.Errorf("%s has no case: write its argument into the table, or why it needs none", op.Name)
			continue
		}
		t.Run(op.Name, func(t *testing.T) {
			if looks := looksOf(t, fmt.Sprintf(`{"%s": %s}`, op.Name, arg), doc); looks < fewLooks {
				t.Errorf("%d looks at the operation, want %d", looks, fewLooks)
			}
		})
	}
}

// looksOf evaluates an expression and returns the number of its checks for an interrupt.
func looksOf(t *testing.T, text string, doc bsonx.Doc) int {
	t.Helper()
	op, running := interrupttest.New(t.Context()), &interrupt.Running{}
	running.Set(op)
	e, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+text+`}`).Lookup("v"),
		expressions.Scope().WithScripts(js.Options{Running: running}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Eval(&expr.Context{Root: bsonx.Document(doc)}); err != nil {
		t.Fatal(err)
	}
	return op.Looks
}

func largeOperands() bsonx.Doc {
	array, object, pairs := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	array.StartArray()
	object.StartDoc()
	pairs.StartArray()
	for i := range manyElements {
		name := fmt.Sprintf("f%d", i)
		array.Elem(bsonx.Int32(int32(i + 1)))
		object.Value(name, bsonx.True)
		pairs.Elem(bsonx.NewArray(name, true))
	}
	array.End()
	object.End()
	pairs.End()
	v := bsonx.Array(array.Bytes())
	return bsonx.NewDoc("zero", 0, "v", v, "w", v, "object", bsonx.Document(object.Bytes()),
		"pairs", bsonx.Array(pairs.Bytes()))
}

// TestHashLooks counts the checks for an interrupt while a large value is hashed.
func TestHashLooks(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("text", strings.Repeat("x", manyElements*interrupt.Step), "v", largeOperands().Lookup("v"))
	for _, field := range []string{"$text", "$v", "$$ROOT"} {
		if looks := looksOf(t, `{"$toHashedIndexKey": "`+field+`"}`, doc); looks < fewLooks {
			t.Errorf("%s: %d looks at the operation, want %d", field, looks, fewLooks)
		}
	}
}

// TestLargeOperandLooks evaluates operators with one large operand repeatedly. Each evaluation must
// count as much work as the operand has bytes.
func TestLargeOperandLooks(t *testing.T) {
	t.Parallel()
	const times = 64
	doc := largeOperands()
	for _, op := range []string{"$toHashedIndexKey", "$toBool", "$type", "$isNumber"} {
		text := fmt.Sprintf(`{"$map": {"input": {"$range": [0, %d]}, "in": {"%s": "$v"}}}`, times, op)
		if looks := looksOf(t, text, doc); looks < times/2 {
			t.Errorf("%s: %d looks at the operation, want %d", op, looks, times/2)
		}
	}
}

// TestGrowthLooks creates large results, whose buffers are copied several times as they grow. There
// must be a check for an interrupt for each mebibyte that is copied.
func TestGrowthLooks(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("text", strings.Repeat("x", 4<<20))
	few := `"$text"` + strings.Repeat(`, "$text"`, 11)
	for text, want := range map[string]int{
		`{"$map": {"input": {"$range": [0, 12]}, "in": "$text"}}`: 100,
		`[` + few + `]`: 100,
		`{"$filter": {"input": [` + few + `], "cond": true}}`:                               200,
		`{"$zip": {"inputs": [[` + few + `]]}}`:                                             200,
		`{"a": "$text", "b": "$text", "c": ["$text", "$text"], "d": "$text", "e": "$text"}`: 25,
	} {
		if looks := looksOf(t, text, doc); looks < want {
			t.Errorf("%.40s…: %d looks at the operation, want %d", text, looks, want)
		}
	}
}
