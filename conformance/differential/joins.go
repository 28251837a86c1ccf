package main

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
)

// from returns the name of the collection or view that a join reads.
func (g *generator) from() string {
	if !g.families.has(familyView) {
		return collection
	}
	return pick(g, []string{collection, collection, foreignCollection, foreignCollection, viewName, "nowhere"})
}

// found returns the stage. If the order of the documents that the stage finds is open, found
// appends a stage that sorts the array as. An index would return the documents in the order of its
// keys.
func (g *generator) found(stage bson.D, as string, open bool) bson.A {
	if !open {
		return bson.A{stage}
	}
	return bson.A{stage, op("$addFields",
		bson.D{{as, op("$sortArray", fields("input", "$"+as, "sortBy", bson.D{{"_id", int32(1)}}))}})}
}

func (g *generator) lookupStage() bson.A {
	paths := []string{"g", "n", "s", "l", "_id", "t.n", "q", "a", "o.n", "none"}
	spec := bson.D{}
	if from := g.from(); from != "" {
		spec = append(spec, bson.E{"from", from})
	}
	equality := fields("localField", pick(g, paths), "foreignField", pick(g, paths))
	pipeline := func() bson.D {
		return fields("let", bson.D{{"x", g.expression(numberKind, 1)}, {"y", g.leaf(anyKind)}}, "pipeline",
			g.within([]string{"x", "y"}, func() any { return g.joinedPipeline() }))
	}
	as := "v"
	switch g.rnd.IntN(5) {
	case 0, 1:
		spec = append(spec, equality...)
		// Arrays without documents are excluded: see guarded.
		if path, _ := equality[1].Value.(string); strings.Contains(path, ".") {
			spec = append(spec, bson.E{"pipeline", bson.A{op("$match", op("$and", withDocuments(path)))}})
		}
	case 2, 3:
		spec = append(spec, pipeline()...)
	default:
		if path, _ := equality[1].Value.(string); strings.Contains(path, ".") {
			equality[1].Value = "q"
		}
		spec = append(append(spec, equality...), pipeline()...)
	}
	if !g.indexed {
		as = pick(g, []string{"v", "o.v", "n", "t.v"})
	}
	stages := g.found(op("$lookup", append(spec, bson.E{"as", as})), as, g.indexed)
	if dotted, _ := lookup(spec, "foreignField").(string); g.chance(3) && !strings.Contains(dotted, ".") {
		stages = append(stages, op("$unwind", g.unwoundAs("$"+as)))
		if g.chance(2) {
			stages = append(stages,
				op("$match", bson.D{guarded(as+"."+pick(g, []string{"q", "n", "g"}), g.predicate(1))}))
		}
	}
	return stages
}

// unwoundAs returns the argument of an $unwind over the documents that a $lookup found.
func (g *generator) unwoundAs(path string) any {
	g.repeated = true
	if g.chance(2) {
		return path
	}
	return fields("path", path, "preserveNullAndEmptyArrays", true, "includeArrayIndex",
		g.maybe(2, func() any { return "x" }))
}

// joinedPipeline returns the pipeline of a $lookup. It uses the variables x and y.
func (g *generator) joinedPipeline() bson.A {
	if g.chance(3) {
		return g.subPipeline()
	}
	stages := bson.A{op("$match",
		op("$expr", op(pick(g, []string{"$eq", "$eq", "$lt", "$gte", "$ne"}),
			bson.A{pick(g, []string{"$q", "$g", "$n", "$s"}), pick(g, []string{"$$x", "$$x", "$$y"})})))}
	if g.indexed {
		stages = append(stages, g.byID()...)
	}
	if g.chance(4) {
		return append(stages, op("$project", bson.D{{"v", g.expression(anyKind, 1)}}))
	}
	return append(stages, op("$project", bson.D{{"q", int32(1)}}))
}

// graphLookup returns a $graphLookup and a stage that sorts the found documents, because MongoDB
// keeps these documents in a hash table.
func (g *generator) graphLookup() bson.A {
	to := pick(g, []string{"_id", "g", "s", "l", "o.n"})
	restriction := g.maybe(4, func() any { return bson.D{{"g", op("$gt", int32(0))}} })
	if to == "o.n" { // arrays without documents are excluded: see guarded
		restriction = op("$and", withDocuments(to))
	}
	return g.found(op("$graphLookup",
		fields("from", g.from(), "startWith", pick(g, []any{"$g", "$l", "$s", "$t.n", g.expression(numberKind, 1)}),
			"connectFromField", pick(g, []string{"q", "g", "l", "t.n", "s"}), "connectToField", to, "as", "v",
			"maxDepth", g.maybe(2, func() any { return int32(g.rnd.IntN(3)) }), "depthField",
			g.maybe(3, func() any { return "depth" }),
			"restrictSearchWithMatch", restriction)), "v", true)
}

func (g *generator) unionWith() any {
	g.repeated = true
	if !g.indexed && g.chance(4) {
		return g.from()
	}
	return fields("coll", g.from(), "pipeline", g.subPipeline())
}

// windowBounds lists pairs of bounds for windows that are given as positions of documents.
var windowBounds = []any{
	bson.A{"unbounded", "current"},
	bson.A{"unbounded", "unbounded"},
	bson.A{int32(-1), int32(1)},
	bson.A{"current", int32(2)},
	bson.A{int32(-2), int32(-1)},
	bson.A{"current", "current"},
	bson.A{int32(1), int32(-1)},
}

// rangeBounds lists pairs of bounds for windows that are given as a range of values. "current" is
// not among the bounds: it stands for the current document, and MongoDB does not define the order
// of documents with equal keys.
var rangeBounds = []any{
	bson.A{"unbounded", "unbounded"},
	bson.A{int32(-1), int32(1)},
	bson.A{"unbounded", int32(2)},
	bson.A{int32(-2), int32(-1)},
	bson.A{int32(0), int32(0)},
	bson.A{int32(1), int32(-1)},
}

func (g *generator) window() any {
	ranged := g.chance(3)
	by, unit := bson.D{{"q", int32(1)}, {"_id", int32(1)}}, any(nil)
	if ranged {
		by = bson.D{{"q", int32(1)}}
		if g.chance(2) {
			by, unit = bson.D{{"d", int32(1)}}, pick(g, []any{"day", "month", "hour"})
		}
	}
	function := func() bson.D {
		// The results of other functions depend on the order of documents with equal keys.
		if ranged && !g.chance(4) {
			name := pick(g, []string{"$sum", "$avg", "$stdDevPop", "$count"})
			argument := any(bson.D{})
			if name != "$count" {
				argument = g.expression(numberKind, 1)
			}
			return bson.D{{name, argument}, {"window", fields("range", pick(g, rangeBounds), "unit", unit)}}
		}
		if ranged {
			return op(pick(g, []string{"$rank", "$denseRank"}), bson.D{})
		}
		call, _ := g.windowFunction(unit).(bson.D)
		switch {
		case isRankLike(call[0].Key):
		case g.chance(2):
			call = append(call, bson.E{"window", fields("documents", pick(g, windowBounds))})
		}
		return call
	}
	return fields("partitionBy",
		g.maybe(2, func() any { return pick(g, []any{"$g", "$b", g.expression(numberKind, 1)}) }), "sortBy", by,
		"output", fields("v", function(), "w", g.maybe(3, func() any { return function() })))
}

// isRankLike reports whether MongoDB refuses a window for a window function.
func isRankLike(name string) bool {
	switch name {
	case "$rank", "$denseRank", "$documentNumber", "$shift", "$expMovingAvg", "$linearFill", "$locf":
		return true
	}
	return false
}

func (g *generator) windowFunction(unit any) any {
	switch g.rnd.IntN(10) {
	case 0:
		return op(pick(g, []string{"$rank", "$denseRank", "$documentNumber"}), bson.D{})
	case 1:
		return op("$shift", fields("output", g.leaf(anyKind), "by", int32(g.rnd.IntN(5)-2), "default",
			g.maybe(2, func() any { return int32(0) })))
	case 2:
		return op(pick(g, []string{"$derivative", "$integral"}),
			fields("input", pick(g, []any{"$q", "$n"}), "unit", unit))
	case 3:
		return op("$expMovingAvg",
			pick(g, []any{fields("input", "$q", "N", int32(3)), fields("input", "$n", "alpha", 0.4)}))
	case 4:
		return op(pick(g, []string{"$linearFill", "$locf"}), pick(g, []any{"$q", "$n", "$i"}))
	case 5:
		return op(pick(g, []string{"$covariancePop", "$covarianceSamp"}), bson.A{"$q", g.expression(numberKind, 1)})
	}
	call, _ := g.accumulator().(bson.D)
	return call
}

func (g *generator) densify() any {
	g.repeated = true
	if g.chance(2) {
		return fields("field", "d", "partitionByFields", g.maybe(3, func() any { return bson.A{"g"} }), "range",
			fields("step", int32(6), "unit", "month", "bounds",
				pick(g, []any{"partition", bson.A{g.day(), g.day()}})))
	}
	field, bounds := "q", pick(g, []any{"full", "partition", bson.A{int32(0), int32(20)}})
	if g.chance(3) {
		// Without these bounds, the engine would take minutes to fill the gaps, because the values
		// of n are far apart.
		field, bounds = "n", bson.A{int32(0), int32(20)}
	}
	return fields("field", field, "partitionByFields", g.maybe(2, func() any { return bson.A{"g"} }),
		"range", fields("step", pick(g, []any{int32(5), 2.5, int64(7), int32(0)}), "bounds", bounds))
}

func (g *generator) fill() any {
	if g.chance(2) {
		return fields("output",
			fields("none", fields("value", g.expression(anyKind, 1)), "n", fields("value", int32(7))))
	}
	return fields("sortBy", bson.D{{"_id", int32(1)}}, "partitionBy", g.maybe(3, func() any { return "$g" }),
		"partitionByFields", g.maybe(3, func() any { return bson.A{"g"} }),
		"output", fields(pick(g, []string{"n", "i", "s"}), fields("method", pick(g, []string{"linear", "locf"}))))
}
