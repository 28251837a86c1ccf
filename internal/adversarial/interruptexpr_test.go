package adversarial

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/feature"
)

// generic are the arguments to try for operators without named arguments. They have a large value
// in each possible place, or two different large values. bound defines the variables $$chars and
// $$w.
var generic = []string{
	`"$v"`, `["$v", "$v"]`, `["$v", 1]`, `[1, "$v"]`, `["$v", "$v", "$v"]`, `["$v", 1, 2]`, `{"input": "$v"}`,
	`["$v", "$$w"]`, `["$$w", "$v"]`, `["$v", "$$chars"]`, `["$$chars", "$v"]`, `["$v", "$$w", "$$chars"]`,
}

// bound returns the expression e with variables for more large values. $$w has the elements of v in
// reverse order, or is another text that is one longer. $$chars is a long text of characters that v
// does not have, with a w at the end. $$ws is a long text of the letter w.
func bound(e string) string {
	if !strings.Contains(e, "$$w") && !strings.Contains(e, "$$chars") {
		return e
	}
	const (
		ws    = `{"$reduce": {"input": {"$range": [0, 20]}, "initialValue": "w", "in": {"$concat": ["$$value", "$$value"]}}}`
		chars = `{"$reduce": {"input": {"$range": [0, 16]}, "initialValue": "éü", "in": {"$concat": ["$$value", "$$value"]}}}`
		other = `{"$switch": {"branches": [{"case": {"$isArray": "$v"}, "then": {"$reverseArray": "$v"}}, {"case": {"$eq": [{"$type": "$v"}, "object"]},` +
			` "then": {"$arrayToObject": {"$reverseArray": {"$objectToArray": "$v"}}}}], "default": {"$concat": ["$v", "x"]}}}`
	)
	return `{"$let": {"vars": {"chars": {"$concat": [` + chars + `, "w"]}, "ws": ` + ws + `, "w": ` +
		other + `}, "in": ` + e + `}}`
}

// named are the arguments to try for operators with named arguments.
var named = map[string][]string{
	"$accumulator": nil, // only $group has this operator
	"$convert": {
		`{"input": "$v", "to": "string"}`, `{"input": "$v", "to": "int"}`, `{"input": "$v", "to": "int", "onError": 0}`,
		`{"input": "$v", "to": "long", "base": 16, "onError": 0}`, `{"input": "$v", "to": "double", "onError": 0}`,
		`{"input": "$v", "to": "decimal", "onError": 0}`,
		`{"input": "$v", "to": "date", "onError": 0}`, `{"input": "$v", "to": "objectId", "onError": 0}`,
		`{"input": "$v", "to": "bool", "onError": 0}`,
		`{"input": "$v", "to": "binData", "format": "base64", "onError": 0}`, `{"input": "$v", "to": "binData", "format": "hex", "onError": 0}`,
		`{"input": "$v", "to": "binData", "format": "utf8", "onError": 0}`, `{"input": "$v", "to": {"type": "binData", "subtype": 4}, "format": "uuid", "onError": 0}`,
	},
	"$dateAdd":       {`{"startDate": "$v", "unit": "day", "amount": "$v"}`},
	"$dateDiff":      {`{"startDate": "$v", "endDate": "$v", "unit": "day"}`},
	"$dateFromParts": {`{"year": "$v"}`},
	"$dateFromString": {
		`{"dateString": "$v"}`, `{"dateString": "$v", "format": "$v"}`,
		`{"dateString": "2020-01-01", "timezone": "$v"}`,
		`{"dateString": "$v", "onError": 0}`, `{"dateString": "$v", "format": "%Y-%m", "onError": 0}`,
		`{"dateString": "$v", "format": "$$w", "onError": 0}`, `{"dateString": "2020", "format": "$v", "onError": 0}`,
	},
	"$dateSubtract": {`{"startDate": "$v", "unit": "day", "amount": "$v"}`},
	"$dateToParts":  {`{"date": "$v"}`},
	"$dateToString": {
		`{"date": "$v", "format": "%Y"}`, `{"date": "$v", "timezone": "$v"}`,
		`{"date": "$$NOW", "format": "$v"}`,
	},
	"$dateTrunc": {`{"date": "$v", "unit": "day"}`},
	"$filter": {
		`{"input": "$v", "cond": {"$gt": ["$$this", 5]}}`,
		`{"input": "$v", "cond": {"$in": ["$$this", "$v"]}}`,
	},
	"$firstN": {`{"input": "$v", "n": 100000}`},
	"$function": {
		`{"body": "function(v) { return Object.keys(v).length }", "args": ["$v"], "lang": "js"}`,
		`{"body": "function(v) { return /(.*7){25}$b/.test(v) + /(a?){300}b/.test(v) }", "args": ["$v"], "lang": "js"}`,
		`{"body": "function(v) { return String(v).replace(/(o{1,500}w?){1,2}$z/g, '$&') }", "args": ["$v"], "lang": "js"}`,
		`{"body": "function(v) { return JSON.parse(JSON.stringify([v, v])) }", "args": ["$v"], "lang": "js"}`,
	},
	"$getField": {`{"field": "nosuch", "input": "$v"}`},
	"$lastN":    {`{"input": "$v", "n": 100000}`},
	"$let":      {`{"vars": {"x": "$v"}, "in": {"$concatArrays": ["$$x", "$$x", "$$x"]}}`},
	"$ltrim": {
		`{"input": "$v", "chars": "$v"}`, `{"input": "$v", "chars": "$$chars"}`,
		`{"input": "$$ws", "chars": "$$chars"}`, `{"input": "$$chars", "chars": "$v"}`,
	},
	"$map":        {`{"input": "$v", "in": {"$add": ["$$this", 1]}}`, `{"input": "$v", "in": ["$$this"]}`},
	"$maxN":       {`{"input": "$v", "n": 100000}`},
	"$median":     {`{"input": "$v", "method": "approximate"}`},
	"$meta":       {`"indexKey"`},
	"$minN":       {`{"input": "$v", "n": 100000}`},
	"$percentile": {`{"input": "$v", "p": [0.1, 0.5, 0.9], "method": "approximate"}`},
	"$rand":       {`{}`},
	"$range":      {`[0, 9000000]`, `["$v", 1]`},
	"$reduce":     {`{"input": "$v", "initialValue": 0, "in": {"$add": ["$$value", 1]}}`, `{"input": "$v", "initialValue": [], "in": {"$concatArrays": ["$$value", ["$$this"]]}}`},
	"$regexFind":  {`{"input": "$v", "regex": "(.*7){25}$"}`},
	"$regexFindAll": {
		`{"input": "$v", "regex": "o"}`, `{"input": "$v", "regex": "[o-z]"}`,
		`{"input": "$v", "regex": "(.*7){25}$"}`, `{"input": "$v", "regex": "o?"}`,
		`{"input": "$v", "regex": "(?=(w|o)*$)x"}`,
	},
	"$regexMatch": {`{"input": "$v", "regex": "(.*7){25}$"}`},
	"$replaceAll": {
		`{"input": "$v", "find": "w", "replacement": "xyz"}`, `{"input": "$v", "find": "$v", "replacement": "$v"}`,
		`{"input": "$v", "find": "$$w", "replacement": "$$chars"}`, `{"input": "$v", "find": "", "replacement": "x"}`,
	},
	"$replaceOne": {
		`{"input": "$v", "find": "nosuch", "replacement": "xyz"}`,
		`{"input": "$v", "find": "$$w", "replacement": "$$chars"}`,
	},
	"$rtrim": {
		`{"input": "$v", "chars": "$v"}`, `{"input": "$v", "chars": "$$chars"}`,
		`{"input": "$$ws", "chars": "$$chars"}`, `{"input": "$$chars", "chars": "$v"}`,
	},
	"$setField":  {`{"field": "new", "input": "$v", "value": 1}`, `{"field": "new", "input": "$v", "value": "$$w"}`},
	"$sortArray": {`{"input": "$v", "sortBy": 1}`, `{"input": "$v", "sortBy": {"v": -1}}`},
	"$split":     {`["$v", "o"]`, `["$v", "$v"]`, `["$v", "$$w"]`, `["$$w", "$v"]`},
	"$switch":    {`{"branches": [{"case": {"$eq": ["$v", 1]}, "then": 1}], "default": "$v"}`},
	"$trim": {
		`{"input": "$v", "chars": "$v"}`, `{"input": "$v", "chars": "$$chars"}`,
		`{"input": "$$ws", "chars": "$$chars"}`, `{"input": "$$chars", "chars": "$v"}`,
	},
	"$unsetField": {`{"field": "f5", "input": "$v"}`},
	"$zip": {
		`{"inputs": ["$v", "$v", "$v", "$v"]}`,
		`{"inputs": ["$v", "$v"], "useLongestLength": true}`, `{"inputs": ["$v", "$$w"]}`,
	},
	"$literal":          {`"$v"`},
	"$sampleRate":       nil,
	"$setEquals":        {`["$v", "$v"]`, `["$$w", "$v"]`},
	"$setIsSubset":      {`["$v", "$$w"]`, `["$$w", "$v"]`},
	"$setDifference":    {`["$v", [1]]`, `["$v", {"$map": {"input": "$v", "in": ["$$this"]}}]`},
	"$indexOfArray":     {`["$v", "nosuch"]`, `["$v", "$v"]`, `["$v", "$$w"]`, `["$v", "$$chars"]`},
	"$mergeObjects":     {`["$v", "$v", "$v"]`, `["$v", "$$w"]`, `"$v"`},
	"$arrayToObject":    {`"$v"`, `{"$map": {"input": "$v", "in": [{"$toString": "$$this"}, 1]}}`},
	"$toHashedIndexKey": {`"$v"`},
	"$cond":             {`["$v", "$v", "$v"]`},
	"$tsSecond":         {`"$v"`},
	"$expr":             nil,
}

// interruptExpressions interrupts pipelines that compute each operator over large values.
func interruptExpressions(t *testing.T, db *mongo.Database) {
	m := newMeasure(t, db)
	kinds := []string{"numbers", "texts", "object", "pairs", "text"}
	for n, op := range expressions.Table().List() {
		if op.Status == feature.Known {
			continue
		}
		args, isNamed := named[op.Name]
		if isNamed && args == nil {
			continue
		}
		forms := args
		if !isNamed {
			forms = generic
		}
		compiled := false
		for i, arg := range forms {
			e := bound(fmt.Sprintf(`{"%s": %s}`, op.Name, arg))
			if !compiles(t, db.RunCommand(t.Context(),
				bsonxtest.ParseD(t, `{"explain": `+over("none", typed(e))+`}`)).Err()) {
				continue
			}
			compiled = true
			for k, kind := range kinds {
				if *long || (i+k+n)%shortShare(24) == 0 { // the short form runs one in 24 attacks, or fewer
					m.checkText(kind+" "+e, over(kind, typed(e)))
				}
				if each := forEach(fmt.Sprintf(`{"%s": %s}`, op.Name, arg)); *long || (i+k+n)%shortShare(48) == 1 {
					m.checkText(kind+" "+each, over(kind, typed(each)))
				}
			}
		}
		if !compiled {
			t.Errorf("%s has no case: write its arguments into the table", op.Name)
		}
	}
	m.report()
}

// forEach returns an expression that computes e, which uses the whole value, once for each element
// of the value or for each field of an object.
func forEach(e string) string {
	elements := `{"$cond": [{"$isArray": "$v"}, "$v", {"$cond": [{"$eq": [{"$type": "$v"}, "object"]}, {"$objectToArray": "$v"}, {"$range": [0, 100000]}]}]}`
	return bound(`{"$map": {"input": ` + elements + `, "in": ` + e + `}}`)
}

// compiles reports whether an expression compiles. err is the error of its explain, which may also
// come from the execution.
func compiles(t *testing.T, err error) bool {
	t.Helper()
	return err == nil || strings.Contains(err.Error(), "PlanExecutor")
}

// largeStages are stages whose own text is large, by a description.
func largeStages(size scale) map[string]string {
	list, loops := size.joined, fmt.Sprint(size.of(100_000))
	return map[string]string{
		"$set of many fields":     `{"$set": {` + list(100_000, `"f#": "$_id"`) + `}}`,
		"$project of many fields": `{"$project": {` + list(100_000, `"f#": 1`) + `}}`,
		"$project of many parts":  `{"$project": {` + list(100_000, `"a.f#": 1`) + `}}`,
		"exclusion of many":       `{"$project": {` + list(100_000, `"f#": 0`) + `}}`,
		"$or of many paths":       `{"$match": {"$expr": {"$or": [` + list(50_000, `{"$eq": ["$v.f#", -1]}`) + `]}}}`,
		"loop over paths":         `{"$match": {"$expr": {"$eq": [{"$map": {"input": {"$range": [0, ` + loops + `]}, "in": "$v.nosuch"}}, -1]}}}`,
		"loop over a variable":    `{"$match": {"$expr": {"$eq": [{"$let": {"vars": {"o": "$v"}, "in": {"$map": {"input": {"$range": [0, ` + loops + `]}, "in": "$$o.nosuch"}}}}, -1]}}}`,
		"loop over many":          `{"$match": {"$expr": {"$eq": [{"$map": {"input": {"$range": [0, ` + loops + `]}, "in": {"$or": [` + list(1000, `{"$gt": [{"$rand": {}}, 2]}`) + `]}}}, -1]}}}`,
		"$unset of many":          `{"$unset": [` + list(100_000, `"f#"`) + `]}`,
		"$switch of many": `{"$set": {"x": {"$switch": {"branches": [` +
			list(50_000, `{"case": {"$eq": ["$v", #]}, "then": #}`) + `], "default": 0}}}}`,
		"$group of many":      `{"$group": {"_id": null, ` + list(20_000, `"f#": {"$sum": "$v"}`) + `}}`,
		"$in of a large list": `{"$set": {"x": {"$map": {"input": "$v", "in": {"$in": ["$$this", [` + list(20_000, `"x#"`) + `]]}}}}}`,
		"$match of many":      `{"$match": {"$or": [` + list(20_000, `{"v": "x#"}`) + `]}}`,
		"$in of many regexes": `{"$match": {"v": {"$in": [` +
			list(100_000, `{"$regularExpression": {"pattern": "x#$", "options": ""}}`) + `]}}}`,
		"$sort of many":      `{"$sort": {` + list(30, `"f#": 1`) + `}}`,
		"$expr of many":      `{"$match": {"$expr": {"$or": [` + list(50_000, `{"$eq": ["$v", #]}`) + `]}}}`,
		"$concat of many":    `{"$set": {"x": {"$concat": [` + list(200_000, `"$_id"`) + `]}}}`,
		"$setUnion of many":  `{"$set": {"x": {"$setUnion": [` + list(30, `"$v"`) + `]}}}`,
		"995 stages":         list(995, `{"$set": {"f#": {"$concatArrays": ["$v", ["$f0"]]}}}`),
		"995 sets of fields": list(995, `{"$set": {"f#": "$v.f#"}}`),
		"995 stages in turn": list(333, `{"$set": {"f#": 1}}, {"$match": {"f#": 1}}, {"$unset": "f#"}`),
		"995 matches":        list(995, `{"$match": {"f#": {"$ne": 1}}}`),
	}
}

// largeCommand returns a pipeline that runs a large stage over the document of a kind.
func largeCommand(kind, stage string) string {
	return over(kind, stage, `{"$project": {"v": 0}}`, dropped)
}

// interruptLargeExpressions interrupts pipelines with stages whose own text is large.
func interruptLargeExpressions(t *testing.T, db *mongo.Database) {
	needsLong(t)
	m := newMeasure(t, db)
	for name, stage := range largeStages(usualScale()) {
		for _, kind := range []string{"numbers", "object"} {
			m.checkText(name+" over "+kind, largeCommand(kind, stage))
		}
	}
	m.report()
}
