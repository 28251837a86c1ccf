package pipeline_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestOptimize checks the result of the rules for given pipelines: the filter of the leading
// $match, and the names of the remaining stages.
func TestOptimize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ stages, filter, rest string }{
		{`[{"$sort": {"a": 1}}, {"$match": {"b": 1}}]`, `{"b":1}`, ""},
		{`[{"$addFields": {"n": "$a"}}, {"$match": {"n": 1, "b": 2}}]`, `{"$and":[{"a":1},{"b":2}]}`, "$addFields"},
		{`[{"$addFields": {"n": {"$add": ["$a", 1]}}}, {"$match": {"n": 1, "b": 2}}]`, `{"b":2}`, "$addFields,$match"},
		{`[{"$project": {"a": 1, "n": "$b"}}, {"$match": {"$or": [{"n.x": 1}, {"a": {"$gt": 2}}]}}]`, `{"$or":[{"b.x":1},{"a":{"$gt":2}}]}`, "$project"},
		{`[{"$project": {"a": 1}}, {"$match": {"b": null}}]`, "", "$project,$match"},
		{`[{"$unset": "b"}, {"$match": {"a": 1, "b": null}}]`, `{"a":1}`, "$unset,$match"},
		{`[{"$set": {"o.v": {"$add": ["$a", 1]}}}, {"$match": {"o.n": 1, "o.t.v": {"$not": {"$gt": 2}}}}]`, `{"o.n":1,"o.t.v":{"$not":{"$gt":2}}}`, "$set"},
		{`[{"$set": {"o": {"v": {"$add": ["$a", 1]}}}}, {"$match": {"$expr": {"$gt": ["$o.n", 1]}, "o.n": null, "o.v": 1, "o.v.x": 2, "o": 3, "o.0": 4}}]`, `{"$expr":{"$gt":["$o.n",1]}}`, "$set,$match"},
		{`[{"$unset": ["o.v", "p"]}, {"$match": {"o.n": 1, "p.q": 2}}]`, `{"o.n":1}`, "$unset,$match"},
		{`[{"$project": {"o.n": 1, "o.v": {"$add": ["$a", 1]}, "p": {"q": 1}}}, {"$match": {"o.n.x": 1, "p.q": {"$exists": false}, "p.r": 3, "o.v": 4}}]`, `{"$and":[{"o.n.x":1},{"p.q":{"$exists":false}}]}`, "$project,$match"},
		{`[{"$unwind": "$l"}, {"$match": {"a": 1, "l": 2}}]`, `{"a":1}`, "$unwind,$match"},
		{`[{"$unwind": "$l"}, {"$match": {"$expr": {"$gt": ["$a", 1]}}}]`, `{"$expr":{"$gt":["$a",1]}}`, "$unwind"},
		{`[{"$unwind": {"path": "$l", "includeArrayIndex": "i"}}, {"$match": {"$expr": {"$and": [{"$gt": ["$a", "$i"]}]}}}]`, "", "$unwind,$match"},
		{`[{"$unwind": "$l"}, {"$match": {"$expr": {"$eq": ["$a", "$l.x"]}}}]`, "", "$unwind,$match"},
		{`[{"$unwind": "$l"}, {"$match": {"$expr": {"$gt": [{"$divide": ["$a", "$b"]}, 1]}}}]`, "", "$unwind,$match"},
		{`[{"$unwind": "$l"}, {"$match": {"$expr": {"$eq": ["$$ROOT", 1]}}}]`, "", "$unwind,$match"},
		{`[{"$addFields": {"n": "$a"}}, {"$match": {"$expr": {"$gt": ["$n", 1]}}}]`, "", "$addFields,$match"},
		{`[{"$group": {"_id": "$a"}}, {"$match": {"$expr": {"$gt": ["$_id", 1]}}}]`, "", "$group,$match"},
		{`[{"$group": {"_id": "$a"}}, {"$match": {"_id": {"$in": [1, 2]}}}]`, `{"a":{"$in":[1,2]}}`, "$group"},
		{`[{"$group": {"_id": {"x": "$a"}}}, {"$match": {"_id.x": {"$gt": 2}, "_id": {"$type": "object"}}}]`, `{"a":{"$gt":2}}`, "$group,$match"},
		{`[{"$group": {"_id": "$a"}}, {"$match": {"_id": null}}]`, "", "$group,$match"},
		{`[{"$group": {"_id": "$o.p"}}, {"$match": {"_id": 1}}]`, "", "$group,$match"},
		{`[{"$unionWith": {"coll": "f", "pipeline": [{"$limit": 2}]}}, {"$match": {"a": 1, "$expr": {"$gt": ["$b", 1]}}}]`, `{"a":1,"$expr":{"$gt":["$b",1]}}`, "$unionWith"},
		{`[{"$fill": {"partitionBy": "$p", "output": {"n": {"value": "$a"}}}}, {"$match": {"b": 2, "n": 1, "partitionBy": 3}}]`, `{"$and":[{"b":2},{"partitionBy":3}]}`, "$fill,$match"},
		{`[{"$fill": {"sortBy": {"a": 1}, "output": {"n": {"method": "locf"}, "m": {"value": 1}}}}, {"$match": {"b": 2}}]`, "", "$fill,$match,$fill"},
		{`[{"$unionWith": "f"}, {"$match": {"a": 1, "$sampleRate": 0.5}}]`, `{"a":1}`, "$unionWith,$match"},
		{`[{"$match": {"$expr": {"$lt": [{"$rand": {}}, 2]}}}, {"$sort": {"a": 1}}, {"$match": {"$sampleRate": 0.5}}]`, `{"$expr":{"$lt":[{"$rand":{}},2]}}`, "$match"},
		{`[{"$replaceRoot": {"newRoot": "$$ROOT"}}, {"$replaceWith": "$$CURRENT"}, {"$match": {"a": null}}]`, `{"a":null}`, ""},
		{`[{"$redact": "$$DESCEND"}, {"$match": {"a": 1, "o.p": {"$gt": 2}, "$or": [{"b": "x"}, {"c": {"$in": [1, 2]}}]}}]`, `{"$and":[{"a":1},{"o.p":{"$gt":2}},{"$or":[{"b":"x"},{"c":{"$in":[1,2]}}]}]}`, "$redact,$match"},
		{`[{"$sort": {"a": 1}}, {"$redact": "$$DESCEND"}, {"$match": {"a": {"$ne": 1}, "b": null, "c": {"$size": 2}, "d.0": 1, "e": {"$exists": false}, "f": {"$in": [null, 1]}, "g": [1], "h": 7}}]`, `{"h":7}`, "$redact,$match"},
		{`[{"$redact": "$$KEEP"}, {"$match": {"a": null, "b": 1}}]`, `{"b":1}`, "$redact,$match"},
		{`[{"$redact": "$$DESCEND"}, {"$match": {"$expr": {"$eq": ["$a", 1]}}}]`, "", "$redact,$match"},
		{`[{"$unwind": "$l"}, {"$sort": {"a": 1, "_id": 1}}]`, "", "$unwind"},
		{`[{"$set": {"b": 1}}, {"$unwind": "$l"}, {"$unwind": "$m"}, {"$sort": {"a": 1}}, {"$limit": 3}]`, "", "$set,$sort,$unwind,$unwind,$limit"},
		{`[{"$unwind": "$l"}, {"$sort": {"l": 1}}]`, "", "$unwind,$sort"},
		{`[{"$unwind": "$l.x"}, {"$sort": {"l.y": 1}}]`, "", "$unwind,$sort"},
		{`[{"$unwind": {"path": "$l", "includeArrayIndex": "i.n"}}, {"$sort": {"i.m": 1}}]`, "", "$unwind,$sort"},
		{`[{"$unwind": "$l"}, {"$sort": {"a": 1, "b": 1}}]`, "", "$unwind,$sort"},
		{`[{"$unwind": {"path": "$l", "preserveNullAndEmptyArrays": true}}, {"$sort": {"a": 1, "b": 1}}, {"$limit": 3}]`, "", "$unwind,$limit"},
		{`[{"$set": {"b": 1}}, {"$unwind": {"path": "$l", "preserveNullAndEmptyArrays": true}}, {"$set": {"c": 1}}, {"$limit": 3}]`, "", "$set,$unwind,$limit,$set"},
		{`[{"$group": {"_id": "$a"}}, {"$limit": 5}, {"$unwind": {"path": "$l", "preserveNullAndEmptyArrays": true}}, {"$limit": 3}]`, "", "$group,$limit,$unwind,$limit"},
		{`[{"$unwind": {"path": "$l", "preserveNullAndEmptyArrays": true}}, {"$skip": 1}, {"$limit": 3}]`, "", "$unwind,$skip,$limit"},
		{`[{"$lookup": {"from": "f", "localField": "a", "foreignField": "a", "as": "l"}}, {"$unwind": "$l"}, {"$sort": {"a": 1}}]`, "", "$lookup,$sort"},
		{`[{"$match": {}}, {"$skip": 0}, {"$addFields": {"x": 1}}, {"$limit": 5}, {"$limit": 3}]`, "", "$addFields"},
		{`[{"$group": {"_id": "$a"}}, {"$skip": 2}, {"$skip": 3}, {"$limit": 9}, {"$limit": 4}, {"$limit": 7}]`, "", "$group,$skip,$limit"},
	} {
		lead, rest := mustParse(t, c.stages, parsing.Options{Vars: expressions.Scope()}).Split()
		filter := ""
		if lead.Filter != nil {
			filter = print(t, lead.Filter)
		}
		if got := strings.Join(rest.Stages(), ","); filter != c.filter || got != c.rest {
			t.Errorf("%s:\n%s %s", c.stages, filter, got)
		}
	}
}

// TestUnionMatched checks that a $match after $unionWith moves into its sub-pipeline. There it
// must run before a stage that would fail.
func TestUnionMatched(t *testing.T) {
	t.Parallel()
	colls := fakeCollections{"f": {bsonxtest.Parse(t, `{"_id": 1, "q": 1}`)}}
	const stages = `[{"$unionWith": {"coll": "f", "pipeline": [{"$set": {"v": {"$setUnion": "$q"}}}]}}, {"$match": {"none": 1}}]`
	for disabled, want := range map[parsing.Rule]mongoerr.Code{0: 0, parsing.RuleMoveMatch: 17043} {
		got := drained(t, mustParse(t, stages,
			parsing.Options{Vars: expressions.Scope(), DB: "db", Disable: disabled}), &source.Slice{}, colls.env())
		if mongoerr.CodeOf(got.err) != want || len(got.docs) > 0 {
			t.Errorf("without the rules %v: %v %v", disabled, got.docs, got.err)
		}
	}
}

func TestRulesHaveNames(t *testing.T) {
	t.Parallel()
	var all parsing.Rule
	for _, rule := range parsing.Rules() {
		if rule.String() == "rules" || all&rule != 0 {
			t.Errorf("rule %d: %s", rule, rule)
		}
		all |= rule
	}
	if all != parsing.AllRules {
		t.Errorf("%b", all)
	}
}

func TestNeeds(t *testing.T) {
	t.Parallel()
	for stages, want := range map[string]string{
		`[{"$group": {"_id": "$a.b", "n": {"$sum": "$c"}}}]`:                                                                               "a.b,c",
		`[{"$addFields": {"y": "$d"}}, {"$group": {"_id": "$y"}}]`:                                                                         "d",
		`[{"$unwind": "$l.m"}, {"$match": {"x.y": 1}}, {"$group": {"_id": "$l.m.z.0"}}]`:                                                   "l,x",
		`[{"$project": {"a": 1, "b": "$c"}}]`:                                                                                              "_id,a,c",
		`[{"$addFields": {"y": {"$add": ["$d", 1]}, "z": "$e"}}, {"$group": {"_id": "$y"}}]`:                                               "d",
		`[{"$project": {"y": {"$add": ["$d", 1]}, "z": "$e"}}, {"$group": {"_id": {"k": "$y"}, "n": {"$sum": {"$abs": "$q.r"}}}}]`:         "_id,d,e",
		`[{"$project": {"y": {"$add": ["$d", 1]}, "z": "$e", "q": 1}}, {"$group": {"_id": {"k": "$y"}, "n": {"$sum": {"$abs": "$q.r"}}}}]`: "d,q.r",
		`[{"$project": {"y": {"$add": ["$d", 1]}, "z": "$e", "q.s": 1}}, {"$group": {"_id": "$y", "n": {"$sum": "$q"}}}]`:                  "_id,d,e,q.s",
		`[{"$setWindowFields": {"partitionBy": "$p", "sortBy": {"s": 1}, "output": {"w": {"$sum": "$t.u"}, "x.y": {"$rank": {}}}}},
			{"$group": {"_id": "$w", "n": {"$max": "$x.y"}}}]`: "p,s,t.u,x",
		`[{"$group": {"_id": "$$ROOT"}}]`: "",
		`[{"$addFields": {"a": 1}}]`:      "",
		`[{"$count": "n"}]`:               "",
		`[{"$sort": {"k": 1}}, {"$replaceWith": {"a": "$a", "b": "$a.b"}}]`: "a,k",
	} {
		p := mustParse(t, stages, parsing.Options{Vars: expressions.Scope()})
		got := ""
		if fields, _ := p.Needs(); fields != nil {
			paths, _ := fields.Fields()
			got = strings.Join(paths, ",")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", stages, got, want)
		}
	}
}
