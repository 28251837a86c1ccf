package main

import (
	"fmt"

	"go.mongodb.org/mongo-driver/bson"
)

// otherCollection is written by $out and $merge.
const otherCollection = "o"

// stageMaker makes a stage, or several that belong together.
type stageMaker struct {
	family string
	weight int
	make   func(g *generator) bson.A
}

// stageTable is the table of stages.
func stageTable() []stageMaker {
	one := func(name string, f func(g *generator) any) func(g *generator) bson.A {
		return func(g *generator) bson.A { return bson.A{op(name, f(g))} }
	}
	return []stageMaker{
		{"shape", 8, one("$match", func(g *generator) any { return g.typedFilter() })},
		{"shape", 6, one("$project", (*generator).projectStage)},
		{"shape", 8, one("$addFields", (*generator).computed)},
		{"shape", 2, one("$set", (*generator).computed)},
		{"shape", 2, one("$unset", func(g *generator) any { return pick(g, []any{"n", "o.n", bson.A{"s", "t.n"}, "a.x", bson.A{}}) })},
		{"shape", 2, one("$replaceWith", func(g *generator) any { return g.expression(objectKind, 2) })},
		{"shape", 2, one("$replaceRoot", func(g *generator) any { return fields("newRoot", g.expression(objectKind, 1)) })},
		{"shape", 6, one("$unwind", (*generator).unwind)},
		{"shape", 2, one("$redact", func(g *generator) any {
			return op("$cond", bson.A{g.expression(boolKind, 2), pick(g, []any{"$$DESCEND", "$$KEEP"}), pick(g, []any{"$$PRUNE", "$$DESCEND"})})
		})},
		{"order", 4, func(g *generator) bson.A {
			return bson.A{op("$sort", g.typedSort()), pick(g, []any{op("$limit", int32(1+g.rnd.IntN(6))), op("$skip", int32(g.rnd.IntN(6)))})}
		}},
		{"order", 1, one("$sample", func(*generator) any { return fields("size", int32(1000)) })},
		{"order", 1, one("$count", func(*generator) any { return "count" })},
		{"group", 10, one("$group", (*generator).group)},
		{"group", 3, one("$sortByCount", func(g *generator) any { return g.expression(anyKind, 1) })},
		{"group", 4, one("$bucket", (*generator).bucket)},
		{"group", 4, one("$bucketAuto", (*generator).bucketAuto)},
		{"join", 6, one("$lookup", (*generator).lookupStage)},
		{"join", 3, one("$graphLookup", (*generator).graphLookup)},
		{"join", 2, one("$unionWith", func(g *generator) any { return fields("coll", collection, "pipeline", g.subPipeline()) })},
		{"join", 3, one("$facet", func(g *generator) any { return fields("x", g.subPipeline(), "y", g.subPipeline()) })},
		{"window", 10, one("$setWindowFields", (*generator).window)},
		{"window", 3, one("$densify", (*generator).densify)},
		{"window", 3, one("$fill", (*generator).fill)},
	}
}

// pipelineScenario returns a group of pipelines over typed documents. Their _id values ascend, so that insertion and _id
// give one order, which is what stages without a sort see.
func (g *generator) pipelineScenario() scenario {
	var docs []bson.D
	for i := range 5 + g.rnd.IntN(20) {
		docs = append(docs, g.typedDocument(int32(i)))
		g.ids = append(g.ids, int32(i))
	}
	steps := []bson.D{insertCommand(docs...)}
	if g.chance(4) {
		steps = append(steps, bson.D{{Key: "createIndexes", Value: collection}, {Key: "indexes", Value: bson.A{
			bson.D{{Key: "key", Value: bson.D{{Key: pick(g, []string{"n", "s", "l", "g", "t.n"}), Value: int32(1)}}}, {Key: "name", Value: "x"}},
		}}})
	}
	for range 30 {
		steps = append(steps, g.aggregate()...)
	}
	return scenario{Steps: steps}
}

func aggregateCommand(stages bson.A) bson.D {
	return bson.D{{Key: "aggregate", Value: collection}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}}}
}

// aggregate returns a pipeline, and a look at what it wrote.
func (g *generator) aggregate() []bson.D {
	hasStages := len(g.stages) > 0
	switch {
	case len(g.calls) > 0 && (!hasStages || g.chance(2)):
		return []bson.D{aggregateCommand(g.oneExpression())}
	case hasStages && g.families.has(familyOutput) && g.chance(12):
		return []bson.D{aggregateCommand(append(g.pipeline(2), g.output())), {{Key: "find", Value: otherCollection}}}
	}
	stages := g.pipeline(1 + g.rnd.IntN(3))
	if g.chance(2) {
		stages = append(stages, op("$sort", bson.D{{Key: "_id", Value: int32(1)}}))
	}
	return []bson.D{aggregateCommand(stages)}
}

// oneExpression evaluates an expression on one document, so that it is certain which error is met, or seldom on all.
func (g *generator) oneExpression() bson.A {
	stages := bson.A{}
	if !g.chance(4) {
		stages = append(stages, op("$match", bson.D{{Key: "_id", Value: g.anyID()}}))
	}
	o := pick(g, g.calls)
	return append(stages, op("$project", bson.D{{Key: "v", Value: g.call(o, 1+g.rnd.IntN(2))}}))
}

// pipeline returns so many stages.
func (g *generator) pipeline(n int) bson.A {
	stages := bson.A{}
	total := 0
	for _, s := range g.stages {
		total += s.weight
	}
	for range n {
		n := g.rnd.IntN(total)
		for _, s := range g.stages {
			if n -= s.weight; n < 0 {
				stages = append(stages, s.make(g)...)
				break
			}
		}
	}
	return stages
}

// subPipeline returns the stages of a nested pipeline.
func (g *generator) subPipeline() bson.A {
	return bson.A{
		op("$match", g.typedFilter()),
		pick(g, []any{
			op("$project", bson.D{{Key: "n", Value: int32(1)}, {Key: "v", Value: g.expression(anyKind, 1)}}),
			op("$group", bson.D{{Key: "_id", Value: "$g"}, {Key: "n", Value: op("$sum", "$n")}}),
			op("$sort", bson.D{{Key: "g", Value: int32(1)}, {Key: "_id", Value: int32(-1)}}),
			op("$limit", int32(3)),
		}),
	}
}

func (g *generator) output() bson.D {
	if g.chance(3) {
		return op("$out", otherCollection)
	}
	return op("$merge", fields("into", otherCollection,
		"whenMatched", g.maybe(2, func() any {
			return pick(g, []any{"replace", "keepExisting", "merge", "fail", bson.A{op("$set", bson.D{{Key: "n", Value: "$$new.n"}})}})
		}),
		"whenNotMatched", g.maybe(2, func() any { return pick(g, []any{"insert", "discard", "fail"}) })))
}

func (g *generator) typedPath() string { return pick(g, typedFields[anyKind]) }

func (g *generator) typedFilter() bson.D {
	if g.chance(4) {
		return bson.D{{Key: "$expr", Value: g.expression(boolKind, 2)}}
	}
	return bson.D{{Key: g.typedPath(), Value: g.predicate(1)}}
}

func (g *generator) typedSort() bson.D {
	s := bson.D{}
	for range 1 + g.rnd.IntN(2) {
		if path := pick(g, []string{"n", "s", "d", "g", "i", "o.n", "l"}); lookup(s, path) == nil {
			s = append(s, bson.E{Key: path, Value: pick(g, []any{int32(1), int32(-1)})})
		}
	}
	return append(s, bson.E{Key: "_id", Value: int32(1)})
}

func (g *generator) projectStage() any {
	if g.chance(3) {
		return g.projection()
	}
	p := bson.D{{Key: "w", Value: g.expression(anyKind, 2)}}
	for range g.rnd.IntN(3) {
		if path := pick(g, []string{"n", "s", "t.n", "l", "o", "v"}); lookup(p, path) == nil {
			p = append(p, bson.E{Key: path, Value: pick(g, []any{int32(1), g.expression(anyKind, 1)})})
		}
	}
	return p
}

func (g *generator) computed() any {
	return bson.D{{Key: pick(g, []string{"v", "n", "o.v", "t.v", "l"}), Value: g.expression(anyKind, 2)}}
}

func (g *generator) unwind() any {
	path := "$" + pick(g, []string{"l", "k", "t", "a", "n", "o.n"})
	if g.chance(2) {
		return path
	}
	return fields("path", path, "includeArrayIndex", g.maybe(2, func() any { return "x" }), "preserveNullAndEmptyArrays", g.maybe(2, func() any { return true }))
}

// accumulators makes the fields of a $group.
func (g *generator) accumulators() bson.D {
	d := bson.D{}
	for i := range 1 + g.rnd.IntN(2) {
		d = append(d, bson.E{Key: fmt.Sprintf("v%d", i), Value: g.accumulator()})
	}
	return d
}

func (g *generator) accumulator() any {
	by := func() any {
		return bson.D{{Key: pick(g, []string{"n", "s", "d"}), Value: int32(1)}, {Key: "_id", Value: int32(-1)}}
	}
	return pick(g, []func() any{
		func() any { return op("$sum", g.expression(numberKind, 1)) },
		func() any { return op("$avg", g.expression(numberKind, 1)) },
		func() any { return op(pick(g, []string{"$min", "$max", "$first", "$last"}), g.expression(anyKind, 1)) },
		func() any { return op(pick(g, []string{"$push", "$addToSet"}), g.expression(anyKind, 1)) },
		func() any { return op(pick(g, []string{"$stdDevPop", "$stdDevSamp"}), g.expression(numberKind, 0)) },
		func() any { return op("$mergeObjects", g.expression(objectKind, 0)) },
		func() any { return op("$count", bson.D{}) },
		func() any {
			return op(pick(g, []string{"$top", "$bottom"}), fields("sortBy", by(), "output", g.leaf(anyKind)))
		},
		func() any {
			return op(pick(g, []string{"$topN", "$bottomN"}), fields("n", int32(1+g.rnd.IntN(3)), "sortBy", by(), "output", g.leaf(anyKind)))
		},
		func() any {
			return op(pick(g, []string{"$firstN", "$lastN", "$minN", "$maxN"}), fields("n", int32(1+g.rnd.IntN(3)), "input", g.leaf(anyKind)))
		},
		func() any { return op("$median", fields("input", g.leaf(numberKind), "method", "approximate")) },
		func() any {
			return op("$percentile", fields("input", g.leaf(numberKind), "p", bson.A{0.25, 0.9}, "method", "approximate"))
		},
	})()
}

func (g *generator) group() any {
	id := pick(g, []any{"$g", nil, "$b", "$s", bson.D{{Key: "g", Value: "$g"}, {Key: "b", Value: "$b"}}, g.expression(anyKind, 1)})
	return append(bson.D{{Key: "_id", Value: id}}, g.accumulators()...)
}

func (g *generator) bucket() any {
	boundaries := pick(g, []any{bson.A{int32(0), int32(10), int32(20), int32(50)}, bson.A{int32(-5), 2.5, int64(30)}, bson.A{"a", "c"}, bson.A{int32(5), int32(1)}})
	return fields("groupBy", pick(g, []any{"$q", "$n", "$i", g.expression(numberKind, 1)}), "boundaries", boundaries,
		"default", g.maybe(2, func() any { return pick(g, []any{"other", int32(100), int32(3)}) }), "output", g.maybe(2, func() any { return g.accumulators() }))
}

func (g *generator) bucketAuto() any {
	return fields("groupBy", pick(g, []any{"$q", "$g", "$n", "$_id"}), "buckets", int32(1+g.rnd.IntN(5)), "output", g.maybe(3, func() any { return g.accumulators() }),
		"granularity", g.maybe(3, func() any { return pick(g, []any{"R5", "R10", "1-2-5", "E6", "POWERSOF2", "R80", "E192"}) }))
}
