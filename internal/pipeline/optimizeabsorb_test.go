package pipeline_test

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// TestAbsorb runs pipelines in which a $group computes what was computed before it, with each rule and without.
func TestAbsorb(t *testing.T) {
	t.Parallel()
	var docs []bsonx.Doc
	for _, v := range parseJSON(t, `{"v": [{"_id": 1, "a": 1, "b": 2, "o": {"p": 1}}, {"_id": 2, "a": 1.0, "l": [1, {"p": 2}]}, {"_id": 3, "b": null}, {"_id": 4, "a": "x", "o": 3}]}`).Lookup("v").Doc().Values() {
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
			checkMatrix(t, parseJSON(t, `{"v": [`+before+`, {"$group": `+group+`}, {"$sort": {"_id": 1}}]}`).Lookup("v"), docs)
		}
	}
}
