package pipeline_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// TestAbsorb runs pipelines in which a $group follows projections, with every rule and without.
func TestAbsorb(t *testing.T) {
	t.Parallel()
	var docs []bsonx.Doc
	for _, v := range bsonxtest.Parse(t, `{"v": [{"_id": 1, "a": 1, "b": 2, "o": {"p": 1}}, {"_id": 2, "a": 1.0, "l": [1, {"p": 2}]}, {"_id": 3, "b": null}, {"_id": 4, "a": "x", "o": 3}]}`).Lookup("v").Doc().Values() {
		docs = append(docs, v.Doc())
	}
	for _, before := range []string{
		`{"$project": {"x": {"$ifNull": ["$a", "none"]}, "b": 1, "o.p": 1}}`,
		`{"$project": {"x": {"k": "$a"}, "_id": 0}}`,
		`{"$addFields": {"x": {"$cond": [{"$gt": ["$b", 1]}, "$$REMOVE", "$a"]}, "o.q": 1}}`,
		`{"$addFields": {"x": "$o.p"}}, {"$addFields": {"y": "$x"}}, {"$unset": "b"}`,
		`{"$set": {"a": "$b", "b": "$a", "x": {"$let": {"vars": {"v": "$a"}, "in": "$$v"}}}}`,
		`{"$unset": ["a", "o.p"]}`,
	} {
		for _, group := range []string{
			`{"_id": "$x", "b": {"$push": "$b"}, "o": {"$push": "$o"}, "p": {"$push": "$o.p"}}`,
			`{"_id": {"x": "$x", "y": "$y"}, "n": {"$sum": 1}, "x": {"$first": "$x"}}`,
			`{"_id": null, "x": {"$push": "$x"}, "k": {"$push": "$x.k"}, "a": {"$push": "$a"}, "b": {"$push": {"$ifNull": ["$b", "$_id"]}}}`,
			`{"_id": "$$ROOT"}`,
		} {
			checkMatrix(t, bsonxtest.Parse(t,
				`{"v": [`+before+`, {"$group": `+group+`}, {"$sort": {"_id": 1}}]}`).Lookup("v"), docs)
		}
	}
}

// TestUnabsorbed checks that Unabsorbed restores the stages: they read the original fields again
// and give the same results.
func TestUnabsorbed(t *testing.T) {
	t.Parallel()
	p := mustParse(t, `[{"$addFields": {"y": {"$add": ["$d", 1]}, "z": "$e"}}, {"$unset": "q"}, {"$group": {"_id": "$y"}}]`, parsing.Options{Vars: expressions.Scope()})
	docs := []bsonx.Doc{bsonxtest.Parse(t, `{"d": 1}`), bsonxtest.Parse(t, `{"d": 1, "e": 5}`)}
	for _, c := range []struct {
		p     *pipeline.Pipeline
		needs string
	}{{p, "d"}, {p.Unabsorbed(), "d,e"}, {p, "d"}} {
		fields, _ := c.p.Needs()
		if paths, _ := fields.Fields(); strings.Join(paths, ",") != c.needs {
			t.Errorf("needs %v, want %s", paths, c.needs)
		}
		var got []string
		err := source.Drain(context.Background(), c.p.Run(&source.Slice{Docs: docs}, nil), func(d bsonx.Doc) error {
			got = append(got, print(t, d))
			return nil
		})
		if err != nil || len(got) != 1 || got[0] != `{"_id":2}` {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// TestErrorsStay runs pipelines in which a stage fails although no later stage reads its result.
// The optimiser must keep the error.
func TestErrorsStay(t *testing.T) {
	t.Parallel()
	docs := []bsonx.Doc{
		bsonxtest.Parse(t, `{"_id": 1, "a": 1, "l": [1, 2]}`),
		bsonxtest.Parse(t, `{"_id": 2, "a": 0}`), bsonxtest.Parse(t, `{"_id": 3, "a": 1}`),
	}
	fails := `{"$divide": [6, "$a"]}`
	for _, stages := range []string{
		`{"$set": {"x": ` + fails + `}}, {"$group": {"_id": null, "n": {"$sum": 1}}}`,
		`{"$set": {"x": ` + fails + `}}, {"$group": {"_id": "$y", "n": {"$first": "$a"}}}`,
		`{"$set": {"x": ` + fails + `}}, {"$group": {"_id": "$l", "n": {"$first": "$x"}}}`,
		`{"$set": {"o.x": ` + fails + `}}, {"$group": {"_id": "$a"}}`,
		`{"$project": {"x": ` + fails + `, "y": "$a"}}, {"$group": {"_id": "$y"}}`,
		`{"$set": {"x": ` + fails + `}}, {"$set": {"y": "$a"}}, {"$group": {"_id": "$y"}}`,
		`{"$set": {"x": ` + fails + `}}, {"$unset": "x"}, {"$group": {"_id": "$a"}}`,
		`{"$set": {"x": ` + fails + `}}, {"$sortByCount": "$l"}`,
		`{"$set": {"x": ` + fails + `}}, {"$count": "n"}`,
		`{"$set": {"x": ` + fails + `}}, {"$project": {"a": 1}}`,
		`{"$set": {"x": ` + fails + `}}, {"$replaceWith": {"a": "$a"}}`,
		`{"$set": {"x": ` + fails + `}}, {"$bucketAuto": {"groupBy": "$_id", "buckets": 2}}`,
		`{"$set": {"x": ` + fails + `}}, {"$sort": {"_id": 1}}, {"$limit": 1}`,
		`{"$set": {"x": ` + fails + `}}, {"$unwind": "$l"}, {"$group": {"_id": "$l"}}`,
		`{"$setWindowFields": {"output": {"w": {"$sum": ` + fails + `}}}}, {"$group": {"_id": "$a"}}`,
		`{"$group": {"_id": ` + fails + `}}, {"$count": "n"}`,
		`{"$group": {"_id": ` + fails + `}}, {"$match": {"$alwaysFalse": 1}}`,
		`{"$match": {"$expr": ` + fails + `}}, {"$skip": 1}, {"$match": {"x": {"$in": []}}}`,
	} {
		list := bsonxtest.Parse(t, `{"v": [`+stages+`]}`).Lookup("v")
		for _, rule := range append(parsing.Rules(), 0, parsing.AllRules) {
			if got := outcomeOf(list, docs, rule, nil); got.err == nil {
				t.Errorf("%s\nwithout %q: no error", stages, rule)
			}
		}
	}
}
