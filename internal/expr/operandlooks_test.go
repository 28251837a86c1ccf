package expr_test

import (
	"errors"
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
)

// operandBytes is the size of a large operand. If each byte counts as work, reading it takes one
// check for an interrupt.
const operandBytes = interrupt.Interval

// small lists the operators that never read a large operand, with the reason.
var small = map[string]string{
	"$literal": "has no operand", "$const": "has no operand", "$rand": "has no operand", "$meta": "has no operand",
	"$and": "reads the type", "$or": "reads the type", "$cond": "reads the type", "$ifNull": "reads the type",
	"$switch": "reads the type", "$let": "reads nothing", "$map": "computes for each element",
	"$filter": "computes for each element",
	"$reduce": "computes for each element", "$range": "takes numbers",
	"$function":   "is a script, which has limits of its own",
	"$toObjectId": "refuses a large text at once", "$toUUID": "refuses a large text at once",
}

// numeric lists the families of operators that accept only numbers and dates, and reject large
// operands.
var numeric = []string{"arithmetic", "trigonometry"}

// dates lists the operators that accept only dates, and reject large operands.
var dates = []string{
	"$dateAdd", "$dateDiff", "$dateFromParts", "$dateSubtract", "$dateToParts",
	"$dateTrunc", "$dayOfMonth", "$dayOfWeek",
	"$dayOfYear", "$hour", "$isoDayOfWeek", "$isoWeek", "$isoWeekYear", "$millisecond", "$minute",
	"$month", "$second", "$tsIncrement",
	"$tsSecond", "$week", "$year",
}

// large contains arguments for the operators that small, numeric and dates do not list: one entry
// for each operand that can be large. Words in capitals stand for large values. TEXT and OTHER are
// strings. DIGITS is a string with a number. BLANK is a string that ends with a date. FORMAT is a
// date format. ARRAY, OBJECT, PAIRS and BINARY are values of those types.
var large = map[string][]string{
	"$concat": {`["x", TEXT]`}, "$toLower": {`TEXT`}, "$toUpper": {`TEXT`},
	"$strcasecmp": {`[TEXT, "x"]`, `["x", TEXT]`},
	"$substr":     {`[TEXT, 1, 2]`}, "$substrBytes": {`[TEXT, 1, 2]`}, "$substrCP": {`[TEXT, 1, 2]`},
	"$strLenBytes": {`TEXT`}, "$strLenCP": {`TEXT`}, "$split": {`[TEXT, "x"]`, `["x", TEXT]`},
	"$indexOfBytes": {`[TEXT, "x"]`, `["x", TEXT]`, `[TEXT, OTHER]`},
	"$indexOfCP":    {`[TEXT, "x"]`, `["x", TEXT]`, `[TEXT, OTHER]`},
	"$trim": {
		`{"input": TEXT}`, `{"input": TEXT, "chars": "x"}`, `{"input": "x", "chars": TEXT}`,
		`{"input": TEXT, "chars": OTHER}`,
	},
	"$ltrim": {
		`{"input": TEXT}`, `{"input": TEXT, "chars": "x"}`, `{"input": "x", "chars": TEXT}`,
		`{"input": TEXT, "chars": OTHER}`,
	},
	"$rtrim": {
		`{"input": TEXT}`, `{"input": TEXT, "chars": "x"}`, `{"input": "x", "chars": TEXT}`,
		`{"input": TEXT, "chars": OTHER}`,
	},
	"$replaceOne": {
		`{"input": TEXT, "find": "x", "replacement": "y"}`,
		`{"input": "x", "find": TEXT, "replacement": "y"}`, `{"input": "x", "find": "x", "replacement": TEXT}`,
	},
	"$replaceAll": {
		`{"input": TEXT, "find": "x", "replacement": "y"}`,
		`{"input": "x", "find": TEXT, "replacement": "y"}`, `{"input": "x", "find": "x", "replacement": TEXT}`,
	},
	"$regexFind": {`{"input": TEXT, "regex": "^b"}`}, "$regexFindAll": {`{"input": TEXT, "regex": "^b"}`},
	"$regexMatch": {`{"input": TEXT, "regex": "^a"}`},
	"$convert": {
		`{"input": TEXT, "to": "objectId", "onError": 0}`, `{"input": TEXT, "to": "date", "onError": 0}`,
		`{"input": BLANK, "to": "date", "onError": 0}`, `{"input": TEXT, "to": "double", "onError": 0}`,
		`{"input": DIGITS, "to": "double"}`,
		`{"input": TEXT, "to": "decimal", "onError": 0}`, `{"input": DIGITS, "to": "decimal"}`,
		`{"input": TEXT, "to": "int", "onError": 0}`,
		`{"input": DIGITS, "to": "int"}`, `{"input": TEXT, "to": "long", "onError": 0}`,
		`{"input": DIGITS, "to": "long"}`,
		`{"input": DIGITS, "to": "long", "base": 2}`, `{"input": TEXT, "to": "bool"}`,
		`{"input": TEXT, "to": "string"}`,
		`{"input": TEXT, "to": "binData", "format": "hex", "onError": 0}`, `{"input": TEXT, "to": "binData", "format": "base64", "onError": 0}`,
		`{"input": TEXT, "to": "binData", "format": "base64url", "onError": 0}`, `{"input": TEXT, "to": "binData", "format": "utf8"}`,
		`{"input": TEXT, "to": {"type": "binData", "subtype": 4}, "format": "uuid", "onError": 0}`,
		`{"input": BINARY, "to": "string", "format": "hex"}`, `{"input": BINARY, "to": "string", "format": "base64"}`,
		`{"input": BINARY, "to": "string", "format": "utf8"}`, `{"input": BINARY, "to": "int", "onError": 0}`,
		`{"input": OBJECT, "to": "int", "onError": 0}`,
	},
	"$toBool": {`TEXT`}, "$toDate": {`BLANK`}, "$toDecimal": {`DIGITS`}, "$toDouble": {`DIGITS`},
	"$toInt": {`DIGITS`}, "$toLong": {`DIGITS`},
	"$toString": {`TEXT`, `BINARY`},
	"$dateFromString": {
		`{"dateString": TEXT, "onError": 0}`, `{"dateString": BLANK}`,
		`{"dateString": TEXT, "format": "%Y", "onError": 0}`,
		`{"dateString": "2020-01-01", "format": FORMAT, "onError": 0}`, `{"dateString": TEXT, "format": OTHER, "onError": 0}`,
	},
	"$dateToString": {`{"date": "$date", "format": FORMAT}`, `{"date": "$date", "format": TEXT}`},
	"$eq":           {`[TEXT, OTHER]`}, "$ne": {`[TEXT, OTHER]`}, "$gt": {`[TEXT, OTHER]`},
	"$gte": {`[TEXT, OTHER]`}, "$lt": {`[TEXT, OTHER]`},
	"$lte": {`[TEXT, OTHER]`}, "$cmp": {`[TEXT, OTHER]`}, "$not": {`[TEXT]`}, "$type": {`TEXT`}, "$isNumber": {`TEXT`},
	"$sum": {`ARRAY`}, "$avg": {`ARRAY`}, "$min": {`ARRAY`}, "$max": {`ARRAY`},
	"$stdDevPop": {`ARRAY`}, "$stdDevSamp": {`ARRAY`},
	"$percentile":       {`{"input": ARRAY, "p": [0.5], "method": "approximate"}`},
	"$median":           {`{"input": ARRAY, "method": "approximate"}`},
	"$toHashedIndexKey": {`TEXT`, `OBJECT`}, "$bsonSize": {`OBJECT`}, "$binarySize": {`TEXT`, `BINARY`},
	"$getField":   {`{"field": "nosuch", "input": OBJECT}`},
	"$setField":   {`{"field": "new", "input": OBJECT, "value": 1}`, `{"field": "new", "input": {}, "value": TEXT}`},
	"$unsetField": {`{"field": "f7", "input": OBJECT}`}, "$mergeObjects": {`[OBJECT, {"x": 1}]`, `[{"x": 1}, OBJECT]`},
	"$objectToArray": {`OBJECT`}, "$arrayToObject": {`PAIRS`},
	"$isArray": {`[ARRAY]`}, "$size": {`ARRAY`}, "$first": {`ARRAY`}, "$last": {`ARRAY`},
	"$arrayElemAt":     {`[ARRAY, -1]`},
	"$allElementsTrue": {`[ARRAY]`}, "$anyElementTrue": {`[ARRAY]`},
	"$concatArrays": {`[ARRAY, [1]]`}, "$reverseArray": {`ARRAY`},
	"$in": {`[TEXT, [1]]`, `[-1, ARRAY]`}, "$slice": {`[ARRAY, 2]`}, "$indexOfArray": {`[ARRAY, -1]`, `[[1], TEXT]`},
	"$setUnion": {`[ARRAY, [1]]`}, "$setIntersection": {`[ARRAY, [1]]`, `[[1], ARRAY]`},
	"$setDifference": {`[ARRAY, [1]]`, `[[1], ARRAY]`},
	"$setEquals":     {`[ARRAY, [1]]`, `[[1], ARRAY]`}, "$setIsSubset": {`[ARRAY, [1]]`, `[[1], ARRAY]`},
	"$sortArray": {`{"input": ARRAY, "sortBy": 1}`}, "$zip": {`{"inputs": [ARRAY, [1]]}`, `{"inputs": [[1], ARRAY]}`},
	"$firstN": {`{"input": ARRAY, "n": 2}`}, "$lastN": {`{"input": ARRAY, "n": 2}`},
	"$minN": {`{"input": ARRAY, "n": 2}`}, "$maxN": {`{"input": ARRAY, "n": 2}`},
}

// TestLargeOperandsCount checks that an operator adds at least the bytes of its operand to the
// meter of work. Otherwise a loop over large operands would notice an interrupt too late.
func TestLargeOperandsCount(t *testing.T) {
	t.Parallel()
	vars := largeVariables()
	for _, op := range expressions.Table().List() {
		if op.Status == feature.Known || small[op.Name] != "" || slices.Contains(numeric, op.Family) ||
			slices.Contains(dates, op.Name) {
			continue
		}
		if large[op.Name] == nil {
			t.Errorf("%s has no case: write its arguments into the table, or why it needs none", op.Name)
		}
		for _, arg := range large[op.Name] {
			counted(t, fmt.Sprintf(`{"%s": %s}`, op.Name, arg), vars)
		}
	}
}

// counted evaluates an expression several times, and fails if it checks for an interrupt less
// often. Large operands are replaced by expressions that count no work, so only the work of the
// operator counts.
func counted(t *testing.T, e string, vars *expr.Vars) {
	t.Helper()
	const times = 4
	for _, name := range []string{"TEXT", "OTHER", "DIGITS", "BLANK", "FORMAT", "ARRAY", "OBJECT", "PAIRS", "BINARY"} {
		e = strings.ReplaceAll(e, name, fmt.Sprintf(`{"$cond": ["$one", "$$%s", 0]}`, strings.ToLower(name)))
	}
	// The condition reads only the type of the result.
	text := fmt.Sprintf(`{"v": {"$map": {"input": {"$range": ["$zero", %d]}, "in": {"$cond": [%s, 1, 0]}}}}`, times, e)
	op, running := interrupttest.New(t.Context()), &interrupt.Running{}
	running.Set(op)
	compiled, err := expr.Parse(bsonxtest.Parse(t, text).Lookup("v"), vars.WithScripts(js.Options{Running: running}))
	if err != nil {
		t.Errorf("%s: %v", e, err)
		return
	}
	op.Looks = 0
	root := bsonxtest.Parse(t, `{"zero": 0, "one": 1, "date": {"$date": "2020-01-01T00:00:00Z"}}`)
	if _, err := compiled.Eval(&expr.Context{Root: bsonx.Document(root)}); err != nil {
		t.Errorf("%s: %v", e, err)
	}
	if op.Looks < times {
		t.Errorf("%s: %d looks at the operation, want %d", e, op.Looks, times)
	}
}

// largeVariables returns a scope with variables for the words in capitals.
func largeVariables() *expr.Vars {
	object, array, pairs := bsonx.NewBuilder(nil), bsonx.NewBuilder(nil), bsonx.NewBuilder(nil)
	object.StartDoc()
	array.StartArray()
	pairs.StartArray()
	for i := 0; array.Len() < operandBytes; i++ {
		name := fmt.Sprintf("f%d", i)
		object.Value(name, bsonx.Int32(int32(i)))
		array.Elem(bsonx.Int32(int32(i + 1)))
		pairs.Elem(bsonx.NewArray(name, true))
	}
	object.End()
	array.End()
	pairs.End()
	vars := expressions.Scope()
	for name, v := range map[string]bsonx.Value{
		"text":   bsonx.String(strings.Repeat("a", operandBytes)),
		"other":  bsonx.String(strings.Repeat("b", operandBytes)),
		"digits": bsonx.String(strings.Repeat("0", operandBytes) + "1"),
		"blank":  bsonx.String(strings.Repeat(" ", operandBytes) + "2020-01-01"),
		"format": bsonx.String(strings.Repeat("%Y", operandBytes/2)),
		"binary": bsonx.Binary(0, []byte(strings.Repeat("a", operandBytes))),
		"object": bsonx.Document(object.Bytes()), "array": bsonx.Array(array.Bytes()),
		"pairs": bsonx.Array(pairs.Bytes()),
	} {
		vars = vars.WithConst(name, v)
	}
	return vars
}

// TestPathsCount reads fields repeatedly. The fields that a path passes and the value that it finds
// must count as work.
func TestPathsCount(t *testing.T) {
	t.Parallel()
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for i := range 10_000 {
		b.Value(fmt.Sprintf("f%d", i), bsonx.Document(bsonx.NewDoc("x", 1)))
	}
	b.End()
	object := bsonx.Document(b.Bytes())
	doc := bsonx.NewDoc("o", object, "list", bsonx.NewArray(object, object), "text",
		strings.Repeat("x", operandBytes), "zero", 0)
	const times = 1000
	for e, bytes := range map[string]int{
		`"$o.nosuch"`: len(object.Data), `"$$ROOT.o.nosuch"`: len(object.Data), `"$$v.nosuch"`: len(object.Data),
		`"$o.f7.x"`:      len(object.Data),
		`"$list.nosuch"`: 2 * len(object.Data), `"$text"`: operandBytes, `{"$rand": {}}`: 0,
	} {
		text := fmt.Sprintf(`{"$let": {"vars": {"v": "$o"}, "in": {"$map": {"input": {"$range": ["$zero", %d]}, "in": {"$and": [%s, false]}}}}}`, times, e)
		if looks, want := looksOf(t, text, doc),
			times*min(bytes, interrupt.Interval)/interrupt.Interval; looks < want/2 {
			t.Errorf("%s: %d looks at the operation, want %d", e, looks, want/2)
		}
	}
}

// TestOperatorsCount evaluates many operators with small operands. Each operator must count as
// work.
func TestOperatorsCount(t *testing.T) {
	t.Parallel()
	const n, times = 1000, 100
	terms := strings.Repeat(`{"$gt": [{"$rand": {}}, 2]}, `, n)
	for _, e := range []string{
		`{"$or": [` + terms + `false]}`,
		`{"$switch": {"branches": [` + strings.Repeat(`{"case": {"$gt": [{"$rand": {}}, 2]}, "then": 1}, `, n) +
			`{"case": {"$eq": ["$zero", 0]}, "then": 1}]}}`,
		`{"$ifNull": [` + strings.Repeat(`"$nosuch", `, n) + `1]}`,
	} {
		text := fmt.Sprintf(`{"$map": {"input": {"$range": ["$zero", %d]}, "in": %s}}`, times, e)
		if looks, want := looksOf(t, text, bsonx.NewDoc("zero", 0)), n*times*16/interrupt.Interval; looks < want {
			t.Errorf("%.20s: %d looks at the operation, want %d", e, looks, want)
		}
	}
}

// TestLongLoopsLook evaluates single operators that take a step for each byte of their operands.
// They must check for an interrupt during the loop, and end soon after it.
func TestLongLoopsLook(t *testing.T) {
	t.Parallel()
	const n = 1 << 20
	doc := bsonx.NewDoc("a", strings.Repeat("a", n), "chars", strings.Repeat("é", n/2)+"a",
		"format", strings.Repeat("%j", n/2),
		"blank", strings.Repeat("7 ", 1000), "percent", strings.Repeat("%%", n/2), "date", bsonx.Date(0))
	for e, steps := range map[string]int{
		`{"$trim": {"input": "$a", "chars": "$chars"}}`:                                 n * interrupt.Step / 4,
		`{"$ltrim": {"input": "$a", "chars": "a"}}`:                                     n * interrupt.Step / 4,
		`{"$rtrim": {"input": "$a", "chars": "a"}}`:                                     n * interrupt.Step / 4,
		`{"$trim": {"input": "b", "chars": "$chars"}}`:                                  n / 2 * interrupt.Step / 4,
		`{"$split": ["$a", "a"]}`:                                                       n * interrupt.Step,
		`{"$replaceAll": {"input": "$a", "find": "a", "replacement": "b"}}`:             n * interrupt.Step,
		`{"$replaceAll": {"input": "$a", "find": "", "replacement": "b"}}`:              n * interrupt.Step,
		`{"$dateToString": {"date": "$date", "format": "$format"}}`:                     n / 2 * interrupt.Step / 2,
		`{"$dateFromString": {"dateString": "$a", "format": "$percent", "onError": 0}}`: n / 2 * interrupt.Step,
		`{"$dateFromString": {"dateString": "$blank", "onError": 0}}`:                   1000 << 13,
		`{"$convert": {"input": "$blank", "to": "date", "onError": 0}}`:                 1000 << 13,
	} {
		if looks, want := looksOf(t, e, doc), steps/interrupt.Interval; looks < want {
			t.Errorf("%s: %d looks at the operation, want %d", e, looks, want)
		}
		op, running := interrupttest.EndAfter(t.Context(), 5), &interrupt.Running{}
		running.Set(op)
		compiled, err := expr.Parse(bsonxtest.Parse(t, `{"v": `+e+`}`).Lookup("v"),
			expressions.Scope().WithScripts(js.Options{Running: running}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := compiled.Eval(&expr.Context{Root: bsonx.Document(doc)}); !errors.Is(err,
			interrupttest.ErrEnded) || op.Looks > 8 {
			t.Errorf("%s: %v after %d looks, want the end of the operation after 6", e, err, op.Looks)
		}
	}
}
