package expr_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// TestConstantFailures lists constant expressions with the error code that they give before the
// first document; 0 means no error.
func TestConstantFailures(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]mongoerr.Code{
		`{"$ln": -1}`:                                           28766,
		`{"$add": ["$a", {"$ln": -1}]}`:                         28766,
		`{"$cond": ["$a", 1, {"$ln": -1}]}`:                     28766,
		`{"$cond": [true, 1, {"$ln": -1}]}`:                     28766,
		`{"$and": [false, {"$ln": -1}]}`:                        28766,
		`{"x": {"y": [{"$ln": -1}]}}`:                           28766,
		`{"$let": {"vars": {"x": -1}, "in": {"$ln": "$$x"}}}`:   28766,
		`{"$let": {"vars": {"x": "$a"}, "in": {"$ln": "$$x"}}}`: 0,
		`{"$let": {"vars": {"v": 1}, "in": {"$unsetField": {"field": "a", "input": "$$v"}}}}`:                0,
		`{"$map": {"input": [], "in": {"$ln": -1}}}`:                                                         28766,
		`{"$map": {"input": [-1], "in": {"$ln": "$$this"}}}`:                                                 0,
		`{"$size": {"$map": {"input": 1, "in": 1}}}`:                                                         0,
		`{"$getField": {"field": "a", "input": {"$ln": -1}}}`:                                                0,
		`{"$setField": {"field": "a", "input": {}, "value": {"$ln": -1}}}`:                                   0,
		`{"$firstN": {"n": {"$ln": -1}, "input": []}}`:                                                       0,
		`{"$toHashedIndexKey": {"$ln": -1}}`:                                                                 0,
		`{"$switch": {"branches": [{"case": true, "then": 1}, {"case": {"$ln": -1}, "then": {"$ln": -1}}]}}`: 0,
		`{"$switch": {"branches": [{"case": false, "then": {"$ln": -1}}, {"case": "$a", "then": 1}]}}`:       0,
		`{"$switch": {"branches": [{"case": false, "then": 1}, {"case": {"$or": []}, "then": 1}]}}`:          40069,
		`{"$switch": {"branches": [{"case": true, "then": 1}], "default": {"$ln": -1}}}`:                     28766,
		`{"$concat": ["$a", "x", 1]}`:                                                                        16702,
		`{"$concat": ["$a", "x", "$b", 1]}`:                                                                  0,
		`{"$concat": ["$a", {"$concat": ["$b", "x"]}, 1]}`:                                                   16702,
		`{"$add": ["$a", "x", "y"]}`:                                                                         0,
		`{"$add": [1, "x", "$a"]}`:                                                                           mongoerr.TypeMismatch,
		`{"$setUnion": [[], "$a", 1]}`:                                                                       17043,
		`{"$setUnion": ["$a", 1]}`:                                                                           0,
		`{"$regexMatch": {"input": "$a", "regex": "("}}`:                                                     51111,
		`{"$dateToString": {"date": "$a", "format": "%q"}}`:                                                  0,
		`{"$dateTrunc": {"date": null, "unit": "eon"}}`:                                                      0,
	} {
		failures := &expr.Failures{}
		_, err := expr.Parse(bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"),
			expressions.Scope().WithFailures(failures))
		if err != nil || mongoerr.CodeOf(failures.Err()) != code {
			t.Errorf("%s: %v, %v, want %d", text, err, failures.Err(), code)
		}
	}
}

// TestSimplified evaluates expressions with some constant operands. The constants are combined, or
// decide the result although another operand would fail.
func TestSimplified(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("zero", 0, "one", []bsonx.Value{bsonx.Double(1)})
	bad := `{"$divide": [1, "$zero"]}`
	for text, want := range map[string]string{
		`{"$and": [` + bad + `, false]}`:               `false`,
		`{"$or": [` + bad + `, 1]}`:                    `true`,
		`{"$or": [null, "$zero", "$one"]}`:             `true`,
		`{"$and": ["$one", true]}`:                     `true`,
		`{"$ifNull": [null, "$none", 5, ` + bad + `]}`: `{"$numberInt":"5"}`,
		`{"$bitXor": ["x", "$none"]}`:                  `null`,
		`{"$setUnion": [[1], "$one"]}`:                 `[{"$numberDouble":"1.0"}]`,
		`{"$add": [1, 2, "$zero", 3]}`:                 `{"$numberInt":"6"}`,
		`{"$switch": {"branches": [{"case": "$zero", "then": 1}, {"case": 1, "then": 2}], "default": ` + bad + `}}`: `{"$numberInt":"2"}`,
	} {
		if got := evaluate(t, bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"), doc); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestNotOptimised checks that operands keep their order in a scope without Failures, such as the
// scope of an update. The first operand that is null or invalid decides the result.
func TestNotOptimised(t *testing.T) {
	t.Parallel()
	for text, code := range map[string]mongoerr.Code{
		`{"$bitAnd": ["x", "$none"]}`:        mongoerr.TypeMismatch,
		`{"$bitAnd": ["$none", "x"]}`:        0,
		`{"$bitOr": ["$none", "x", 1]}`:      0,
		`{"$setUnion": [1, "$none"]}`:        17043,
		`{"$setIntersection": ["$none", 1]}`: 0,
		`{"$setEquals": [["$none"], [], 1]}`: 0,
	} {
		e, err := expr.Parse(bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"), expressions.Scope())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Eval(&expr.Context{Root: bsonx.Document(bsonx.Empty)}); mongoerr.CodeOf(err) != code {
			t.Errorf("%s: %v, want %d", text, err, code)
		}
	}
}

// TestCopied checks that $setEquals compares with its constant operand first, but not in a query.
func TestCopied(t *testing.T) {
	t.Parallel()
	for copied, want := range map[bool]mongoerr.Code{false: 0, true: 17044} {
		vars := expressions.Scope().WithFailures(&expr.Failures{Copied: copied})
		e, err := expr.Parse(bsonxtest.Parse(t, `{"v": {"$setEquals": [["$none"], "$none", []]}}`).Lookup("v"), vars)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Eval(&expr.Context{Root: bsonx.Document(bsonx.Empty)}); mongoerr.CodeOf(err) != want {
			t.Errorf("copied %v: %v", copied, err)
		}
	}
}

// TestFirstMistake lists expressions with several errors in named arguments, and the error that is
// reported. If MongoDB compiles arguments as it reads them, that is the first error in document
// order, before missing arguments. Otherwise it is the error of the last operand.
func TestFirstMistake(t *testing.T) {
	t.Parallel()
	const undefined, unknown, arity = 17276, mongoerr.InvalidPipelineOperator, 16020
	for text, code := range map[string]mongoerr.Code{
		`{"$cond": {"else": {"$abs": []}, "if": "$$no"}}`:                                              arity,
		`{"$cond": {"else": 1, "zzz": 1, "if": "$$no"}}`:                                               17083,
		`{"$convert": {"to": {"$foo": 1}, "input": "$$no"}}`:                                           unknown,
		`{"$dateAdd": {"amount": {"$foo": 1}, "startDate": "$$no"}}`:                                   unknown,
		`{"$hour": {"timezone": {"$foo": 1}, "date": "$$no"}}`:                                         unknown,
		`{"$regexMatch": {"regex": {"$foo": 1}, "input": "$$no"}}`:                                     unknown,
		`{"$trim": {"chars": {"$foo": 1}, "input": "$$no"}}`:                                           unknown,
		`{"$getField": {"input": "$$no"}}`:                                                             undefined,
		`{"$setField": {"value": {"$foo": 1}, "input": "$$no"}}`:                                       unknown,
		`{"$sortArray": {"sortBy": 2, "input": "$$no", "zzz": 1}}`:                                     2942506,
		`{"$sortArray": {"input": "$$no", "sortBy": 2}}`:                                               undefined,
		`{"$maxN": {"input": "$$no", "zzz": 1}}`:                                                       undefined,
		`{"$zip": {"useLongestLength": 1, "inputs": ["$$no"]}}`:                                        34463,
		`{"$zip": {"defaults": ["$$no"], "inputs": [{"$foo": 1}]}}`:                                    undefined,
		`{"$percentile": {"p": [2], "input": "$$no", "method": "exact"}}`:                              undefined,
		`{"$percentile": {"method": "exact", "p": [2], "input": 1}}`:                                   7750303,
		`{"$median": {"method": 1, "zzz": 1}}`:                                                         mongoerr.TypeMismatch,
		`{"$dateTrunc": {"date": "$$no", "binSize": {"$foo": 1}}}`:                                     5439010,
		`{"$dateTrunc": {"date": "$$no", "unit": "day", "binSize": {"$foo": 1}}}`:                      unknown,
		`{"$dateToString": {"onNull": {"$foo": 1}, "date": "$$no", "format": {"$abs": []}}}`:           unknown,
		`{"$dateFromString": {"format": {"$foo": 1}, "dateString": "$$no", "timezone": {"$abs": []}}}`: unknown,
		`{"$dateFromString": {"onError": {"$foo": 1}, "dateString": "$$no", "onNull": {"$abs": []}}}`:  unknown,
		`{"$dateFromParts": {"isoWeek": "$$no", "month": {"$foo": 1}}}`:                                40516,
		`{"$dateFromParts": {"year": "$$no", "month": {"$foo": 1}}}`:                                   unknown,
		`{"$dateDiff": {"startDate": "$$no", "endDate": {"$foo": 1}, "unit": {"$abs": []}}}`:           arity,
		`{"$dateToParts": {"date": "$$no", "iso8601": {"$foo": 1}}}`:                                   unknown,
		`{"$map": {"input": "$$no", "in": {"$foo": 1}}}`:                                               unknown,
		`{"$filter": {"input": "$$no", "cond": {"$foo": 1}, "limit": {"$abs": []}}}`:                   arity,
		`{"$reduce": {"input": "$$no", "initialValue": {"$foo": 1}, "in": {"$abs": []}}}`:              arity,
		// If several constants fail, the error of the first argument is returned.
		`{"$cond": {"else": {"$ln": -1}, "if": {"$sqrt": -1}, "then": 1}}`:                                28714,
		`{"$reduce": {"input": {"$sqrt": -1}, "initialValue": {"$ln": -1}, "in": {"$add": ["x", null]}}}`: 28714,
	} {
		failures := &expr.Failures{}
		_, err := expr.Parse(bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"),
			expressions.Scope().WithFailures(failures))
		if err == nil {
			err = failures.Err()
		}
		if mongoerr.CodeOf(err) != code {
			t.Errorf("%s: %v, want %d", text, err, code)
		}
	}
}

// TestFirstFailure checks that the error of the second operand is reported if both operands fail
// for a document.
func TestFirstFailure(t *testing.T) {
	t.Parallel()
	doc := bsonx.NewDoc("text", "x")
	for _, op := range []string{"$subtract", "$divide", "$mod", "$cmp", "$eq", "$ne", "$gt", "$gte", "$lt", "$lte"} {
		if got := evaluate(t, bsonxtest.Parse(t, `{"v": {"`+op+`": [{"$ln": "$text"}, {"$year": "$text"}]}}`).
			Lookup("v"), doc); got != "error Location16006" {
			t.Errorf("%s: %s", op, got)
		}
	}
	for text, want := range map[string]string{
		`{"$pow": [{"$ln": "$text"}, {"$year": "$text"}]}`:                    "error Location28765",
		`{"$add": [{"$ln": "$text"}, {"$year": "$text"}]}`:                    "error Location28765",
		`{"$convert": {"input": {"$ln": "$text"}, "to": {"$year": "$text"}}}`: "error Location16006",
	} {
		if got := evaluate(t, bsonxtest.Parse(t, `{"v":`+text+`}`).Lookup("v"), doc); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
