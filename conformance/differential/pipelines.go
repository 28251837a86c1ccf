package main

import (
	"go.mongodb.org/mongo-driver/bson"
)

// stageMaker generates one stage, or several stages that belong together.
type stageMaker struct {
	family string
	weight int
	make   func(g *generator) bson.A
}

// stageTable lists the stage makers with their families and weights.
func stageTable() []stageMaker {
	one := func(name string, f func(g *generator) any) func(g *generator) bson.A {
		return func(g *generator) bson.A { return bson.A{op(name, f(g))} }
	}
	return []stageMaker{
		{"shape", 8, one("$match", func(g *generator) any { return g.typedFilter() })},
		{"shape", 6, one("$project", (*generator).projectStage)},
		{"shape", 8, one("$addFields", (*generator).computed)},
		{"shape", 2, one("$set", (*generator).computed)},
		{"shape", 2, one("$unset", (*generator).unset)},
		{"shape", 2, one("$replaceWith",
			func(g *generator) any { g.repeated = true; return g.expression(objectKind, 2) })},
		{"shape", 2, one("$replaceRoot",
			func(g *generator) any { g.repeated = true; return fields("newRoot", g.expression(objectKind, 1)) })},
		{"shape", 6, one("$unwind", (*generator).unwind)},
		{"shape", 2, one("$redact", (*generator).redact)},
		{"order", 4, (*generator).cut},
		{"order", 1, func(g *generator) bson.A {
			return append(bson.A{op("$sample", fields("size", int32(1000)))}, g.byID()...)
		}},
		{"order", 1, one("$count",
			func(g *generator) any { g.repeated = false; return pick(g, []string{"count", "count", "n"}) })},
		{"group", 10, func(g *generator) bson.A { return g.unordered(op("$group", g.group())) }},
		{"group", 3, func(g *generator) bson.A { return g.unordered(op("$sortByCount", g.expression(anyKind, 1))) }},
		{"group", 4, func(g *generator) bson.A { return g.unordered(op("$bucket", g.bucket())) }},
		{"group", 4, func(g *generator) bson.A { return g.unordered(op("$bucketAuto", g.bucketAuto())) }},
		{"join", 6, (*generator).lookupStage},
		{"join", 3, (*generator).graphLookup},
		{"join", 2, one("$unionWith", (*generator).unionWith)},
		{"join", 3, one("$facet", (*generator).facet)},
		{"window", 10, func(g *generator) bson.A { return g.sorting("$setWindowFields", (*generator).window) }},
		{"window", 3, one("$densify", (*generator).densify)},
		{"window", 3, func(g *generator) bson.A { return g.sorting("$fill", (*generator).fill) }},
	}
}

// byID returns a stage that sorts documents by _id.
func (g *generator) byID() bson.A { return bson.A{op("$sort", bson.D{{"_id", int32(1)}})} }

// unordered returns a stage whose results have no defined order, and a stage that sorts them by
// _id.
func (g *generator) unordered(stage bson.D) bson.A {
	// The _id of a group may be an array, and arrays have no total order in a sort.
	g.repeated = stage[0].Key == "$group" || stage[0].Key == "$sortByCount"
	return append(bson.A{stage}, g.byID()...)
}

// sorting returns a stage whose argument contains a sort by _id. If several documents can have the
// same _id, this is not a total order, and it returns another stage.
func (g *generator) sorting(name string, f func(g *generator) any) bson.A {
	if g.repeated {
		return bson.A{op("$addFields", g.computed())}
	}
	return bson.A{op(name, f(g))}
}

// cut returns a sort by _id, and a $limit or $skip. If several documents can have the same _id, the
// sort is not a total order, and it returns a $match.
func (g *generator) cut() bson.A {
	if g.repeated {
		return bson.A{op("$match", g.typedFilter())}
	}
	sort := op("$sort", g.typedSort())
	return bson.A{sort, pick(g, []any{op("$limit", int32(1+g.rnd.IntN(6))), op("$skip", int32(g.rnd.IntN(6)))})}
}

func aggregateOn(source any, stages bson.A) bson.D {
	return bson.D{{"aggregate", source}, {"pipeline", stages}, {"cursor", bson.D{}}}
}

func aggregateCommand(stages bson.A) bson.D { return aggregateOn(collection, stages) }

// aggregate returns an aggregate command.
func (g *generator) aggregate() bson.D {
	hasStages := len(g.stages) > 0
	if len(g.calls) > 0 && (!hasStages || g.chance(2)) {
		return aggregateCommand(g.oneExpression())
	}
	g.repeated = false
	switch {
	case g.families.has(familyOutput) && g.chance(10):
		return aggregateOn(g.source(), append(g.ordered(g.pipeline(g.rnd.IntN(3))), g.output()))
	case g.families.has(familyView) && g.chance(25):
		return g.collectionless()
	case g.families.has(familyView) && g.chance(8):
		return g.withLet(func() bson.D { return aggregateCommand(g.ordered(g.pipeline(1 + g.rnd.IntN(2)))) })
	}
	return aggregateOn(g.source(), g.ordered(g.pipeline(1+g.rnd.IntN(3))))
}

// ordered adds a sort if the collections have indexes. Otherwise the choice of an index would
// determine the order of the results.
func (g *generator) ordered(stages bson.A) bson.A {
	if !g.indexed {
		if g.chance(2) {
			return append(stages, g.byID()...)
		}
		return stages
	}
	leading := bson.A{}
	if g.chance(2) {
		leading = append(leading, op("$match", g.typedFilter()))
	}
	if g.chance(3) {
		leading = append(leading, op("$sort", g.typedSort()))
	} else {
		leading = append(leading, g.byID()...)
	}
	return append(leading, stages...)
}

// oneExpression evaluates an expression, mostly on a single document. With several documents, the
// servers could report the errors of different documents.
func (g *generator) oneExpression() bson.A {
	stages := bson.A{}
	if !g.chance(4) {
		stages = append(stages, op("$match", bson.D{{"_id", g.anyID()}}))
	}
	o := pick(g, g.calls)
	return append(stages, op("$project", bson.D{{"v", g.call(o, 1+g.rnd.IntN(2))}}))
}

// pipeline returns n random stages, or more because some stages belong together.
func (g *generator) pipeline(n int) bson.A {
	stages := bson.A{}
	total := 0
	for _, s := range g.stages {
		total += s.weight
	}
	if total == 0 {
		return stages
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

// subPipeline returns the stages of a pipeline that $lookup or $unionWith runs on a collection. The
// order of its results is fixed.
func (g *generator) subPipeline() bson.A {
	defer func(outer bool) { g.repeated = outer }(g.repeated)
	g.repeated = false
	return g.nested(g.indexed)
}

// nested returns the stages of a pipeline inside a stage, such as $facet.
func (g *generator) nested(indexed bool) bson.A {
	stages := bson.A{}
	if !g.chance(4) {
		stages = append(stages, op("$match", g.typedFilter()))
	}
	if indexed {
		stages = append(stages, g.byID()...)
	}
	return append(stages, pick(g, []func() bson.A{
		func() bson.A {
			return bson.A{op("$project", bson.D{{"n", int32(1)}, {"v", g.expression(anyKind, 1)}})}
		},
		func() bson.A {
			return append(bson.A{op("$group", bson.D{{"_id", "$g"}, {"n", op("$sum", "$n")}})}, g.byID()...)
		},
		func() bson.A {
			return bson.A{op("$sort", bson.D{{"g", int32(1)}, {"_id", int32(-1)}})}
		},
		func() bson.A { return bson.A{op("$limit", int32(3))} },
		func() bson.A { return bson.A{op("$addFields", g.computed())} },
		func() bson.A { return bson.A{op("$unwind", g.unwind()), op("$limit", int32(5))} },
		func() bson.A { return bson.A{op("$skip", int32(2)), op("$count", "n")} },
		func() bson.A { return bson.A{} },
	})()...)
}

func (g *generator) typedPath() string { return pick(g, typedFields[anyKind]) }

func (g *generator) typedFilter() bson.D {
	if g.chance(4) {
		return bson.D{{"$expr", g.expression(boolKind, 2)}}
	}
	return bson.D{guarded(g.typedPath(), g.predicate(1))}
}

func (g *generator) typedSort() bson.D {
	s := bson.D{}
	for range 1 + g.rnd.IntN(2) {
		if path := pick(g, []string{"n", "s", "d", "g", "i", "o.n", "l"}); !hasField(s, path) {
			s = append(s, bson.E{path, pick(g, []any{int32(1), int32(-1)})})
		}
	}
	return append(s, bson.E{"_id", int32(1)})
}

func (g *generator) projectStage() any {
	if g.chance(3) {
		g.repeated = true
		return g.projection()
	}
	p := bson.D{{"w", g.expression(anyKind, 2)}}
	for range g.rnd.IntN(3) {
		if path := pick(g, projectPaths); !hasField(p, path) {
			p = append(p, bson.E{
				path,
				pick(g, []any{
					int32(1), true, int32(1), g.expression(anyKind, 1),
					bson.D{{"n", int32(1)}, {"y", g.expression(anyKind, 1)}},
				}),
			})
		}
	}
	return p
}

// projectPaths lists the paths that stages keep or compute. Some of the paths conflict with each
// other.
var projectPaths = []string{"n", "s", "t.n", "t.x", "l", "l.x", "o", "o.n", "v", "a", "a.x", "a.b.c", "c.a", "t", "d"}

// computed returns fields for an $addFields.
func (g *generator) computed() any {
	d := bson.D{}
	for range 1 + g.rnd.IntN(2) {
		path := pick(g, []string{"v", "n", "o.v", "t.v", "l", "l.x", "a.b", "a.x.y", "k.0", "o", "c", "t.n.z"})
		if hasField(d, path) {
			continue
		}
		value := g.expression(anyKind, 2)
		if g.chance(8) {
			// The 9.0 engine ignores a in {a: {}, "a.b": 1}, although it rejects all other
			// conflicting paths.
			empty := any(bson.D{})
			if path != "n" && path != "v" {
				empty = op("$literal", bson.D{})
			}
			value = pick(g, []any{"$$REMOVE", empty, bson.D{{"p", value}, {"q", "$n"}}, bson.A{value}})
		}
		d = append(d, bson.E{path, value})
	}
	return d
}

func (g *generator) unset() any {
	return pick(g, []any{
		"n", "o.n", "t.s",
		bson.A{"s", "t.n"},
		bson.A{"a.x", "a.b"},
		"a.x",
		bson.A{},
		bson.A{"o", "o.n"},
	})
}

func (g *generator) redact() any {
	leaf := func() any { return pick(g, []any{"$$DESCEND", "$$KEEP", "$$PRUNE", "$$DESCEND"}) }
	condition := g.expression(boolKind, 2)
	if g.chance(2) {
		condition = pick(g, []any{
			op("$ne", bson.A{"$n", int32(1)}), op("$isNumber", "$n"),
			op("$lt", bson.A{"$s", "b"}), op("$eq", bson.A{"$x", nil}),
		})
	}
	if g.chance(20) {
		return condition
	}
	return op("$cond", bson.A{condition, leaf(), leaf()})
}

func (g *generator) facet() any {
	x := g.nested(false)
	y := g.nested(false)
	g.repeated = false
	return fields("x", x, "y", y)
}

func (g *generator) unwind() any {
	g.repeated = true
	path := "$" + pick(g, []string{"l", "k", "t", "a", "n", "o.n", "a.x", "t.n"})
	if g.chance(2) {
		return path
	}
	return fields("path", path, "includeArrayIndex",
		g.maybe(2, func() any { return pick(g, []any{"x", "x", "o.x", "t.n", "a", "v"}) }),
		"preserveNullAndEmptyArrays", g.maybe(2, func() any { return true }))
}

func (g *generator) group() any {
	id := pick(g, []any{
		"$g", nil, "$b", "$s", "$o.n", "$t.n",
		bson.D{{"x", bson.D{{"y", "$g"}}}},
		bson.D{},
		bson.D{{"g", "$g"}, {"b", "$b"}},
		g.expression(anyKind, 1),
	})
	return append(bson.D{{"_id", id}}, g.accumulators()...)
}

func (g *generator) bucket() any {
	boundaries := pick(g, []any{
		bson.A{int32(0), int32(10), int32(20), int32(50)},
		bson.A{int32(-5), 2.5, int64(30)},
		bson.A{"a", "c"},
		bson.A{int32(5), int32(1)},
		bson.A{int32(0), "a"},
		bson.A{int32(1)},
	})
	return fields("groupBy", pick(g, []any{"$q", "$n", "$i", g.expression(numberKind, 1)}), "boundaries", boundaries,
		"default", g.maybe(2, func() any { return pick(g, []any{"other", int32(100), int32(3)}) }), "output",
		g.maybe(2, func() any { return g.accumulators() }))
}

func (g *generator) bucketAuto() any {
	return fields("groupBy", pick(g, []any{"$q", "$g", "$n", "$_id", "$s", "$i"}), "buckets", int32(1+g.rnd.IntN(5)),
		"output", g.maybe(3, func() any { return g.accumulators() }),
		"granularity", g.maybe(3,
			func() any { return pick(g, []any{"R5", "R10", "1-2-5", "E6", "POWERSOF2", "R80", "E192"}) }))
}
