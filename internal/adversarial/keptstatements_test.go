package adversarial

import (
	"strconv"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/sheaftest"
)

// keptParts is the number of parts of a large statement.
const keptParts = 10_000

// wideParts returns keptParts copies of form, separated by commas, as joined does. A short run does
// not reduce their number.
func wideParts(form string) string {
	parts := make([]string, keptParts)
	for i := range parts {
		parts[i] = strings.ReplaceAll(form, "#", strconv.Itoa(i))
	}
	return strings.Join(parts, ", ")
}

// wideStages returns large arguments for each stage whose argument is not limited. The compiled
// argument lives as long as the cursor. A stage without a case fails the test.
func wideStages() map[string][]string {
	wide := func(form string) string { return `{` + wideParts(form) + `}` }
	list := func(form string) string { return `[` + wideParts(form) + `]` }
	set := []string{
		wide(`"f#": 1`), wide(`"f#.b.c.d": "$a"`), wide(`"f#": "$a.b.c"`), wide(`"f#": {"$add": ["$a", #]}`),
		`{"x": ` + list(`"$a#"`) + `}`, `{"x": ` + wide(`"f#": "$a"`) + `}`,
		`{"x": {"$switch": {"branches": ` + list(`{"case": {"$eq": ["$a", #]}, "then": "$b"}`) + `, "default": 1}}}`,
		`{"x": {"$let": {"vars": ` + wide(`"v#": "$a"`) + `, "in": "$$v1"}}}`,
		`{"x": {"$concat": ` + list(`{"$toString": "$a"}`) + `}}`,
		`{"x": {"$in": ["$a", ` + list(`#`) + `]}}`,
	}
	return map[string][]string{
		"$addFields": set, "$set": set,
		"$project": {
			wide(`"f#": 1`), wide(`"f#.b.c.d": 1`), wide(`"f#.b.c.d": 0`),
			wide(`"f#": {"b": {"c": 1}}`), wide(`"f#": "$a"`),
			`{"a": {"b": ` + wide(`"f#": 1`) + `}}`,
		},
		"$unset": {list(`"f#.b.c"`)},
		"$match": {
			`{"$or": ` + list(`{"f#": {"$ne": 1}}`) + `}`, `{"a": {"$nin": ` + list(`"x#"`) + `}}`,
			`{"$expr": {"$or": ` + list(`{"$ne": ["$f#", 1]}`) + `}}`, wide(`"f#": {"$ne": 1}`),
			wide(`"f#.b.c.d": {"$ne": 1}`),
		},
		"$group": {
			`{"_id": "$_id", ` + wideParts(`"f#": {"$sum": "$a"}`) + `}`,
			`{"_id": ` + wide(`"f#": "$_id"`) + `}`,
		},
		"$bucket":     {`{"groupBy": "$_id", "boundaries": ` + list(`#`) + `, "default": -1}`},
		"$bucketAuto": {`{"groupBy": "$_id", "buckets": 3, "output": ` + wide(`"f#": {"$sum": "$a"}`) + `}`},
		"$setWindowFields": {`{"sortBy": {"_id": 1}, "output": ` +
			wide(`"f#": {"$sum": "$a", "window": {"documents": [-1, 0]}}`) + `}`},
		"$fill": {
			`{"sortBy": {"_id": 1}, "output": ` + wide(`"f#": {"method": "locf"}`) + `}`,
			`{"output": ` + wide(`"f#": {"value": "$a"}`) + `}`,
		},
		"$lookup": {
			`{"from": "c", "as": "r", "pipeline": [{"$set": ` + wide(`"f#.b.c.d": "$a"`) + `}]}`,
			`{"from": "c", "as": "r", "let": ` + wide(`"v#": "$a"`) + `, "pipeline": []}`,
		},
		"$unionWith":   {`{"coll": "c", "pipeline": [{"$set": ` + wide(`"f#.b.c.d": "$a"`) + `}]}`},
		"$graphLookup": {`{"from": "c", "startWith": ` + list(`"$a#"`) + `, "connectFromField": "a", "connectToField": "a", "as": "r", "maxDepth": 0}`},
		"$redact":      {`{"$cond": [{"$or": ` + list(`{"$eq": ["$f#", 1]}`) + `}, "$$PRUNE", "$$KEEP"]}`},
		"$replaceRoot": {`{"newRoot": ` + wide(`"f#": "$a"`) + `}`}, "$replaceWith": {wide(`"f#": "$a"`)},
		"$sortByCount": {`{"$concat": ` + list(`{"$toString": "$_id"}`) + `}`},
		"$documents":   {list(`{"a": #}`)},
		"$facet":       {`{"r": [{"$set": ` + wide(`"f#.b.c.d": "$a"`) + `}], "s": []}`},
		// The arguments of these stages are small or limited: a sort has 32 keys.
		"$count": nil, "$densify": nil, "$geoNear": nil, "$limit": nil, "$sample": nil, "$skip": nil,
		"$sort": {`{"_id": 1}`}, "$unwind": nil,
		"$merge": nil, "$out": nil, "$changeStream": nil, "$changeStreamSplitLargeEvent": nil,
		"$collStats": nil, "$currentOp": nil,
		"$indexStats": nil, "$listLocalSessions": nil, "$listSessions": nil, "$planCacheStats": nil,
	}
}

// wideFinds returns finds with a large argument.
func wideFinds() []string {
	find := func(arg string) string { return `{"find": "c", "batchSize": 1, ` + arg + `}` }
	wide := func(form string) string { return `{` + wideParts(form) + `}` }
	list := func(form string) string { return `[` + wideParts(form) + `]` }
	return []string{
		find(`"projection": ` + wide(`"f#": 1`)), find(`"projection": ` + wide(`"f#": 0`)),
		find(`"projection": ` + wide(`"f#.b.c.d": 1`)), find(`"projection": ` + wide(`"f#.b.c.d": 0`)),
		find(`"projection": ` + wide(`"f#": "$a"`)), find(`"projection": ` + wide(`"f#": {"$slice": 1}`)),
		find(`"projection": ` + wide(`"f#": {"$elemMatch": {"x": 1}}`)),
		find(`"projection": ` + wide(`"f#": {"b": {"c": 1}}`)),
		find(`"sort": {"a": 1}, "projection": ` + wide(`"f#.b.c.d": 1`)),
		find(`"hint": {"a": 1}, "projection": ` + wide(`"f#.b.c.d": 1`)),
		find(`"filter": {"$or": ` + list(`{"f#": {"$ne": 1}}`) + `}`),
		find(`"filter": {"$nor": ` + list(`{"f#.b.c": 1}`) + `}`),
		find(`"filter": {"a": {"$nin": ` + list(`"x#"`) + `}}`), find(`"filter": {"a": {"$in": ` + list(`#`) + `}}`),
		find(`"filter": {"$expr": {"$and": ` + list(`{"$ne": ["$f#", 1]}`) + `}}`),
		find(`"let": ` + wide(`"v#": 1`) + `, "filter": {"$expr": {"$eq": ["$$v1", 1]}}`),
		find(`"filter": {"$or": ` + list(`{"a": #}`) + `}`),
	}
}

// TestStatementsAreCounted opens cursors with large statements. The memory of the compiled
// statements must be counted.
func TestStatementsAreCounted(t *testing.T) {
	needsServer(t)
	db := served(t, sheaftest.Open(t, nil)).Database("d")
	var docs []any
	for i := range 8 {
		docs = append(docs, bson.D{{"_id", i}, {"a", i}})
	}
	if _, err := db.Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	if err := db.RunCommand(t.Context(), bsonxtest.ParseD(t, `{"createIndexes": "c", "indexes": [{"key": {"a": 1}, "name": "a"}]}`)).Err(); err != nil {
		t.Fatal(err)
	}
	m := &keptMeter{t: t, db: db}
	all := wideStages()
	for _, st := range pipeline.Stages() {
		args, ok := all[st.Name]
		if !ok && st.Status == feature.Supported {
			t.Errorf("%s has no case: write its arguments into the table", st.Name)
		}
		for _, arg := range args {
			coll := `"c"`
			if st.Name == "$documents" {
				coll = "1"
			}
			cmd := `{"aggregate": ` + coll +
				`, "cursor": {"batchSize": 1}, "pipeline": [{"` + st.Name + `": ` + arg + `}]}`
			if strings.Contains(cmd, *only) && !m.check(cmd) {
				t.Errorf("left no cursor: %.200s", cmd)
			}
		}
	}
	for _, cmd := range wideFinds() {
		if strings.Contains(cmd, *only) && !m.check(cmd) {
			t.Errorf("left no cursor: %.200s", cmd)
		}
	}
}
