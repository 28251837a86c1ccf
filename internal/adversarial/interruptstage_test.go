package adversarial

import (
	"fmt"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

// stageAttack has the attacks on one stage. They differ in the input of the stage.
type stageAttack struct {
	endless []string // stages over documents {i: 0}, {i: 1}, … without end
	large   []string // stages over a document with a large value
	first   []string // pipelines that begin with the stage
}

// joined returns n copies of form, separated by commas. In each copy, # is replaced by the copy's
// number.
func joined(n int, form string) string { return usualScale().joined(n, form) }

// joined does the same as the function joined for another scale. Only tiny also shortens lists of
// up to 1000 copies.
func (s scale) joined(n int, form string) string {
	var b strings.Builder
	if n > 1000 || s == tiny {
		n = s.of(n)
	}
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strings.ReplaceAll(form, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// blockingOf returns the stages in blocking with these names.
func blockingOf(names ...string) []string {
	var out []string
	for _, name := range names {
		out = append(out, blocking[name])
	}
	return out
}

const unwound = `{"$unwind": "$v"}, `

// dropped is the end of a pipeline that discards all documents. It reads the whole document, so
// that everything before it is computed. A $match of a single field would be moved before the
// attacked stage.
const dropped = `{"$match": {"$expr": {"$lt": ["$$ROOT", 1]}}}`

// ending returns the stages of an attack, followed by dropped unless the last stage writes its
// documents.
func ending(stages string) []string {
	if strings.Contains(stages, `{"$merge": `) || strings.Contains(stages, `{"$out": `) {
		return []string{stages}
	}
	return []string{stages, dropped}
}

// stageAttacks returns the attacks, by stage. A stage without attacks only reads counters of the
// server, so its work cannot grow.
func stageAttacks(size scale) map[string]stageAttack {
	joined := size.joined
	fields := func(stage, value string) []string {
		return []string{
			`{"` + stage + `": {` + joined(600_000, `"f#": `+value) + `}}`,
			`{"` + stage + `": {` + joined(20_000, `"v.f#": `+value) + `}}`,
		}
	}
	set := func(stage string) stageAttack {
		return stageAttack{
			endless: []string{`{"` + stage + `": {"x": {"$add": ["$i", 1]}}}, ` + dropped},
			large: append(fields(stage, `1`), fields(stage, `"$v"`)[0], joined(900, `{"`+stage+`": {"f#": "$v.f#"}}`),
				joined(900, `{"`+stage+`": {"v.x": #}}`)),
		}
	}
	replace := func(stage, wrapped string) stageAttack {
		return stageAttack{
			endless: []string{fmt.Sprintf(wrapped, stage, `{"i": "$i"}`) + `, ` + dropped},
			large:   []string{fmt.Sprintf(wrapped, stage, `{"$arrayToObject": {"$map": {"input": "$v", "in": [{"$toString": "$$this"}, 1]}}}`), joined(500, fmt.Sprintf(wrapped, stage, `{"$mergeObjects": ["$$ROOT", {"x#": 1}]}`))},
		}
	}
	window := func(output string) string {
		return unwound + `{"$setWindowFields": {"sortBy": {"v": 1}, "output": {"r": ` + output + `}}}`
	}
	lookup := `{"$lookup": {"from": "c", "localField": "v", "foreignField": "x", "as": "r"}}`
	return map[string]stageAttack{
		"$addFields": set("$addFields"), "$set": set("$set"),
		"$bucket":     {endless: blockingOf("bucket"), large: []string{unwound + `{"$bucket": {"groupBy": "$v", "boundaries": [` + joined(1_000_000, `#`) + `], "default": -1}}`, `{"$bucket": {"groupBy": "$v", "boundaries": [0, 1], "default": -1, "output": {` + joined(300_000, `"f#": {"$sum": "$x#"}`) + `}}}`}},
		"$bucketAuto": {endless: blockingOf("bucketAuto"), large: []string{unwound + `{"$bucketAuto": {"groupBy": "$v", "buckets": 100000}}`, unwound + `{"$bucketAuto": {"groupBy": "$v", "buckets": 5, "granularity": "R80"}}`, unwound + `{"$bucketAuto": {"groupBy": "$v", "buckets": 2, "output": {"x": {"$addToSet": "$v"}}}}`, `{"$bucketAuto": {"groupBy": "$v", "buckets": 2, "output": {` + joined(300_000, `"f#": {"$sum": "$x#"}`) + `}}}`}},
		"$count":      {endless: blockingOf("count"), large: []string{unwound + `{"$count": "n"}`}},
		"$densify":    {endless: blockingOf("densify"), large: []string{`{"$densify": {"field": "n", "partitionByFields": [` + joined(600_000, `"f#"`) + `], "range": {"step": 1, "bounds": "full"}}}`}, first: []string{`{"$limit": 1}, {"$set": {"a": [0, ` + fmt.Sprint(size.of(400_000)) + `]}}, {"$unwind": "$a"}, {"$densify": {"field": "a", "range": {"step": 1, "bounds": "full"}}}, ` + dropped}},
		"$documents": {first: []string{
			`{"$documents": [` + joined(100_000, `{"a": #}`) + `]}, ` + dropped,
			`{"$documents": {"$map": {"input": {"$range": [0, ` + fmt.Sprint(size.of(500_000)) +
				`]}, "in": {"a": "$$this"}}}}, ` + dropped,
		}},
		"$facet":   {endless: blockingOf("facet"), large: []string{`{"$facet": {` + joined(300, `"f#": [{"$unwind": "$v"}, {"$group": {"_id": "$v"}}, {"$count": "n"}]`) + `}}`, unwound + `{"$facet": {` + joined(50, `"f#": [{"$sortByCount": "$v"}, {"$limit": 1}]`) + `}}`, `{"$facet": {` + joined(300_000, `"f#": [{"$limit": 1}]`) + `}}`}},
		"$fill":    {endless: blockingOf("fill"), large: []string{unwound + `{"$fill": {"sortBy": {"v": 1}, "output": {"x": {"method": "locf"}}}}`, `{"$fill": {"output": {` + joined(400_000, `"f#": {"value": 1}`) + `}}}`, `{"$fill": {"output": {` + joined(300_000, `"f#": {"method": "locf"}`) + `}}}`, `{"$fill": {"partitionByFields": [` + joined(600_000, `"f#"`) + `], "output": {"x": {"value": 1}}}}`}},
		"$geoNear": {first: []string{`{"$geoNear": {"near": {"type": "Point", "coordinates": [1, 1]}, "distanceField": "d", "key": "p"}}, ` + dropped}},
		"$graphLookup": {
			endless: blockingOf("graphLookup"),
			large:   []string{`{"$graphLookup": {"from": "c", "startWith": "$v", "connectFromField": "next", "connectToField": "x", "as": "r"}}`, `{"$graphLookup": {"from": "points", "startWith": "$v", "connectFromField": "_id", "connectToField": "n", "as": "r"}}`},
			first:   []string{`{"$graphLookup": {"from": "points", "startWith": 0, "connectFromField": "next", "connectToField": "n", "as": "r"}}`, `{"$graphLookup": {"from": "points", "startWith": 0, "connectFromField": "next", "connectToField": "_id", "as": "r"}}`},
		},
		"$group": {
			endless: blockingOf("group", "group of one", "accumulator"),
			large:   []string{unwound + `{"$group": {"_id": "$v", "x": {"$push": "$$ROOT"}}}`, unwound + `{"$group": {"_id": null, "x": {"$addToSet": "$v"}, "m": {"$median": {"input": "$v", "method": "approximate"}}}}`, `{"$group": {"_id": null, ` + joined(400_000, `"f#": {"$sum": "$v"}`) + `}}`, `{"$group": {"_id": null, ` + joined(300_000, `"f#": {"$sum": "$x#"}`) + `}}`, `{"$group": {"_id": {` + joined(500_000, `"f#": "$x#"`) + `}}}`, `{"$group": {"_id": "$v", "x": {"$push": "$v"}}}`, unwound + `{"$group": {"_id": null, "x": {"$topN": {"n": 100000, "sortBy": {"v": 1}, "output": "$v"}}}}`},
		},
		"$limit": {
			endless: []string{`{"$limit": 1000000000000}, ` + dropped},
			large:   []string{unwound + `{"$limit": 590000}`, joined(900, `{"$limit": 5}`)},
		},
		"$lookup": {endless: blockingOf("lookup", "lookup pipeline", "inner lookup"), large: []string{lookup, `{"$lookup": {"from": "points", "localField": "v", "foreignField": "n", "as": "r"}}`, `{"$lookup": {"from": "points", "let": {"v": "$v"}, "pipeline": [{"$match": {"$expr": {"$in": ["$n", "$$v"]}}}, ` + dropped + `], "as": "r"}}`, unwound + lookup, `{"$lookup": {"from": "points", "let": {` + joined(600_000, `"l#": "$v"`) + `}, "pipeline": [` + dropped + `], "as": "r"}}`}},
		"$match": {
			endless: blockingOf("match", "expr match", "regex match"),
			large: []string{
				`{"$match": {"$or": [` + joined(20_000, `{"v": "x#"}`) + `]}}`,
				unwound + `{"$match": {"v": {"$in": [` + joined(20_000, `"x#"`) + `]}}}`,
				joined(900, `{"$match": {"v": {"$ne": -#}}}`),
				`{"$set": {` + joined(200_000, `"f#": 1`) + `}}, {"$match": {` + joined(200_000, `"g#": 1`) + `}}`,
			},
		},
		"$merge": {endless: blockingOf("merge"), large: []string{unwound + `{"$project": {"_id": "$v", "x": "1"}}, {"$merge": {"into": "o"}}`, `{"$merge": {"into": "indexed", "whenMatched": "merge"}}`, `{"$set": {"v": {"$slice": ["$v", 50000]}, "_id": "slice"}}, {"$merge": {"into": "indexed", "whenMatched": [{"$set": {"v": {"$concatArrays": ["$v", "$$new.v"]}}}]}}`, `{"$merge": {"into": "o", "let": {` + joined(600_000, `"l#": "$v"`) + `}, "whenMatched": [{"$set": {"x": 1}}]}}`, `{"$merge": {"into": "o", "on": [` + joined(600_000, `"f#"`) + `]}}`}},
		"$out": {
			endless: blockingOf("out"),
			large:   []string{unwound + `{"$project": {"_id": "$v", "x": "1"}}, {"$out": "o"}`},
		},
		"$project": {
			endless: []string{`{"$project": {"x": {"$add": ["$i", 1]}}}, ` + dropped},
			large: append(append(fields("$project", `1`), fields("$project", `0`)...),
				joined(900, `{"$project": {"v": 1, "f#": "$v.f#"}}`),
				`{"$project": {`+joined(400_000, `"a#": "$x#.y"`)+`}}`),
		},
		"$redact":      {endless: blockingOf("redact"), large: []string{`{"$redact": {"$cond": [{"$gt": ["$v", 5]}, "$$DESCEND", "$$KEEP"]}}`, `{"$redact": "$$DESCEND"}`}},
		"$replaceRoot": replace("$replaceRoot", `{"%s": {"newRoot": %s}}`),
		"$replaceWith": replace("$replaceWith", `{"%s": %s}`),
		"$sample":      {endless: blockingOf("sample"), large: []string{unwound + `{"$sample": {"size": 500000}}`}},
		"$setWindowFields": {
			endless: blockingOf("setWindowFields", "window of all"),
			large: []string{
				window(`{"$push": "$v", "window": {"documents": [-5, 5]}}`), window(`{"$min": "$v", "window": {"documents": [-50000, 50000]}}`), window(`{"$median": {"input": "$v", "method": "approximate"}, "window": {"documents": [-50000, 50000]}}`),
				window(`{"$addToSet": "$v", "window": {"documents": [-50000, 50000]}}`), window(`{"$topN": {"n": 50000, "sortBy": {"v": 1}, "output": "$v"}, "window": {"documents": [-50000, 50000]}}`),
				window(`{"$rank": {}}`), window(`{"$sum": "$v", "window": {"range": [-50000, 50000]}}`),
				window(`{"$push": "$v", "window": {"documents": [-50000, 50000]}}`),
				window(`{"$expMovingAvg": {"input": "$v", "N": 100}}`), window(`{"$linearFill": "$x"}`),
				`{"$setWindowFields": {"output": {` + joined(400_000, `"f#": {"$sum": 1}`) + `}}}`,
				`{"$setWindowFields": {"output": {` + joined(400_000, `"v.f#": {"$sum": 1}`) + `}}}`,
				`{"$setWindowFields": {"sortBy": {` + joined(400_000, `"f#": 1`) + `}, "output": {"x": {"$sum": 1}}}}`,
			},
		},
		"$skip": {
			endless: blockingOf("skip"),
			large:   []string{unwound + `{"$skip": ` + fmt.Sprint(size.of(600_000)-2) + `}`},
		},
		"$sort": {
			endless: blockingOf("sort", "top sort"),
			large: []string{
				unwound + `{"$sort": {"v": -1}}`, `{"$sort": {` + joined(30, `"f#": 1`) + `, "v": 1}}`,
				`{"$sort": {` + joined(600_000, `"f#": 1`) + `}}`,
			},
		},
		"$sortByCount": {endless: blockingOf("sortByCount"), large: []string{unwound + `{"$sortByCount": "$v"}`}},
		"$unionWith":   {endless: blockingOf("unionWith"), large: []string{joined(900, `{"$unionWith": {"coll": "large", "pipeline": [{"$match": {"v": -1}}]}}`)}},
		"$unset": {
			endless: []string{`{"$unset": "i"}, ` + dropped},
			large: []string{
				`{"$unset": [` + joined(600_000, `"f#"`) + `]}`,
				`{"$unset": [` + joined(20_000, `"v.f#"`) + `]}`, joined(900, `{"$unset": "v.f#"}`),
			},
		},
		"$unwind":       {endless: blockingOf("unwind"), large: []string{`{"$unwind": "$v"}`, `{"$set": {"w": "$v"}}, {"$unwind": "$v"}, {"$unwind": "$w"}`, `{"$unwind": {"path": "$v", "includeArrayIndex": "n", "preserveNullAndEmptyArrays": true}}`}},
		"$changeStream": {}, "$changeStreamSplitLargeEvent": {}, "$collStats": {}, "$currentOp": {}, "$indexStats": {},
		"$listLocalSessions": {}, "$listSessions": {}, "$planCacheStats": {},
	}
}

// stageKinds are the kinds of large values over which stages run.
var stageKinds = []string{"numbers", "texts", "object", "pairs"}

// firstCommand returns a pipeline that begins with the attacked stage.
func firstCommand(stages string) string {
	coll := `"points"`
	if strings.HasPrefix(stages, `{"$documents"`) {
		coll = `1`
	}
	return `{"aggregate": ` + coll + `, "cursor": {}, "pipeline": [` + stages + `]}`
}

// interruptStages interrupts each stage over endless input, over a large value, and with large
// arguments.
func interruptStages(t *testing.T, db *mongo.Database) {
	all := stageAttacks(usualScale())
	kinds := stageKinds
	m := newMeasure(t, db)
	for n, st := range pipeline.Stages() {
		attacks, ok := all[st.Name]
		if st.Status != feature.Supported {
			continue
		}
		if !ok {
			t.Errorf("%s has no case: write its arguments into the table", st.Name)
		}
		for i, stages := range attacks.endless {
			if *long || (i+n)%shortShare(24) == 0 {
				m.checkText(fmt.Sprintf("%s over endless: %.80s", st.Name, stages), blockingText(stages, endless()))
			}
		}
		for i, stages := range attacks.first {
			if *long || (i+n)%shortShare(8) == 0 {
				m.checkText(fmt.Sprintf("%s first: %.80s", st.Name, stages), firstCommand(stages))
			}
		}
		for i, stages := range attacks.large {
			for k, kind := range kinds {
				if *long || (i+k+n)%shortShare(24) == 0 {
					m.checkText(fmt.Sprintf("%s over %s: %.80s", st.Name, kind, stages), over(kind, ending(stages)...))
				}
			}
		}
	}
	m.report()
}
