package pipeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/expressions"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

const (
	// fuzzTime is the time limit of a pipeline, which may generate documents without end.
	fuzzTime    = 2 * time.Second
	fuzzResults = 10_000 // the number of results after which a pipeline is ended
	fuzzMemory  = 1 << 20
)

// FuzzPipeline states that a pipeline in Extended JSON is either rejected or runs over a few
// documents. It must stay within its memory limit, yield well-formed documents, and end when its
// context does.
func FuzzPipeline(f *testing.F) {
	for _, seed := range []string{
		`[{"$match": {"a": {"$gt": 1}}}, {"$sort": {"a.b": -1}}, {"$limit": 2}]`,
		`[{"$group": {"_id": "$a", "n": {"$sum": 1}, "l": {"$push": "$$ROOT"}, "p": {"$percentile": {"input": "$n", "p": [0.5], "method": "approximate"}}}}]`,
		`[{"$unwind": {"path": "$a", "includeArrayIndex": "i.j", "preserveNullAndEmptyArrays": true}}, {"$replaceWith": {"$mergeObjects": ["$b", "$$ROOT"]}}]`,
		`[{"$facet": {"x": [{"$bucket": {"groupBy": "$n", "boundaries": [0, 2, 5], "default": "o"}}], "y": [{"$bucketAuto": {"groupBy": "$n", "buckets": 2, "granularity": "R5"}}]}}]`,
		`[{"$setWindowFields": {"partitionBy": "$g", "sortBy": {"n": 1}, "output": {"s": {"$sum": "$n", "window": {"range": [-1, "current"]}}, "r": {"$rank": {}}, "e": {"$expMovingAvg": {"input": "$n", "N": 2}}}}}]`,
		`[{"$densify": {"field": "n", "range": {"step": 0.5, "bounds": "full"}}}, {"$fill": {"sortBy": {"n": 1}, "output": {"s": {"method": "locf"}, "n": {"value": 1}}}}]`,
		`[{"$densify": {"field": "d", "range": {"step": 1, "unit": "month", "bounds": [{"$date": "2024-01-31T00:00:00Z"}, {"$date": "2025-01-01T00:00:00Z"}]}}}]`,
		`[{"$project": {"x": {"$dateTrunc": {"date": "$d", "unit": "week", "timezone": "Europe/Berlin", "startOfWeek": "monday"}}, "y": {"$dateToString": {"date": "$d", "format": "%G-W%V"}}}}]`,
		`[{"$set": {"x": {"$reduce": {"input": {"$range": [0, 1000]}, "initialValue": "", "in": {"$concat": ["$$value", "$$value", "x"]}}}}}]`,
		`[{"$set": {"x": {"$regexFindAll": {"input": "$s", "regex": "(a+)+$"}}}}, {"$redact": {"$cond": [{"$eq": ["$g", 1]}, "$$PRUNE", "$$DESCEND"]}}]`,
		`[{"$sortByCount": {"$size": {"$ifNull": ["$a", []]}}}, {"$count": "n"}]`, `[{"$sample": {"size": 2}}, {"$unset": ["a.b", "s"]}]`,
	} {
		f.Add(seed)
	}
	docs := []bsonx.Doc{
		bsonxtest.Parse(f, `{"_id": 1, "a": [{"b": 1}, 2, [3]], "b": {"c": 1}, "n": 1, "g": 1, "s": "aaab", "d": {"$date": "2024-02-29T12:00:00Z"}}`),
		bsonxtest.Parse(f, `{"_id": 2, "a": [], "n": 2.5, "g": 1, "s": "ü", "d": null}`),
		bsonxtest.Parse(f, `{"_id": 3, "n": {"$numberDecimal": "4"}, "g": 2, "d": {"$date": "2024-04-01T00:00:00Z"}}`),
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := bsonxtest.TryParse(`{"v": ` + text + `}`)
		if err != nil || bsonx.Validate(spec, bsonx.Limits{}) != nil {
			t.Skip()
		}
		p, err := pipeline.Parse(spec.First().Value,
			parsing.Options{Vars: expressions.Scope(), Now: time.Unix(1_700_000_000, 0)})
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), fuzzTime)
		defer cancel()
		src := p.Run(&source.Slice{Docs: docs},
			&source.Env{MemoryLimit: fuzzMemory, AllowDiskUse: true, TempDir: t.TempDir()})
		defer src.Close()
		for range fuzzResults {
			doc, err := src.Next(ctx)
			if err != nil {
				if mongoerr.CodeOf(err) == mongoerr.InvalidBSON {
					t.Error(err)
				}
				return
			}
			if doc == nil {
				return
			}
			if err := bsonx.Validate(doc, bsonx.Limits{}); err != nil {
				t.Fatalf("%x: %v", []byte(doc), err)
			}
		}
	})
}
