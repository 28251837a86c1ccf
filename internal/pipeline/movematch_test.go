package pipeline_test

import (
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// BenchmarkMoveMatches optimises pipelines of 980 stages. Half of them are $match stages whose
// predicates all move to the beginning.
func BenchmarkMoveMatches(b *testing.B) {
	const n, many = 490, 60
	match := `{"$match": {` + wide(many, `"f#": 1`) + `}}`
	for _, bench := range []struct{ name, stage string }{
		{"set", `{"$set": {"a": 1}}`},
		{"unwind", `{"$unwind": "$a"}`},
	} {
		b.Run(bench.name, func(b *testing.B) {
			stages := strings.TrimSuffix(strings.Repeat(bench.stage+`, `+match+`, `, n), ", ")
			p, err := pipeline.Compile(bsonxtest.Parse(b, `{"v": [`+stages+`]}`).Lookup("v"),
				parsing.Options{Vars: expressions.Scope()})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Optimized(parsing.AllRules &^ parsing.RuleMoveMatch)
			}
		})
	}
}
