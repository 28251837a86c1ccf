package main

import (
	"go.mongodb.org/mongo-driver/bson"
)

func (g *generator) lookupStage() any {
	paths := []string{"g", "n", "s", "l", "_id", "t.n", "q"}
	as := pick(g, []string{"v", "o.v"})
	if g.chance(2) {
		return fields("from", collection, "localField", pick(g, paths), "foreignField", pick(g, paths), "as", as)
	}
	match := op("$match", op("$expr", op(pick(g, []string{"$eq", "$lt"}), bson.A{"$q", "$$x"})))
	spec := fields("from", collection, "let", bson.D{{Key: "x", Value: g.expression(numberKind, 1)}}, "as", as,
		"pipeline", bson.A{match, op("$project", bson.D{{Key: "q", Value: int32(1)}})})
	if g.chance(2) {
		spec = append(spec, bson.E{Key: "localField", Value: "g"}, bson.E{Key: "foreignField", Value: "g"})
	}
	return spec
}

func (g *generator) graphLookup() any {
	return fields("from", collection, "startWith", pick(g, []any{"$g", "$l", g.expression(numberKind, 1)}),
		"connectFromField", pick(g, []string{"q", "g", "l"}), "connectToField", pick(g, []string{"_id", "g"}), "as", "v",
		"maxDepth", g.maybe(2, func() any { return int32(g.rnd.IntN(3)) }), "depthField", g.maybe(3, func() any { return "depth" }),
		"restrictSearchWithMatch", g.maybe(4, func() any { return bson.D{{Key: "g", Value: op("$gt", int32(0))}} }))
}

// windowBounds are pairs of bounds of windows.
var windowBounds = []any{
	bson.A{"unbounded", "current"},
	bson.A{"unbounded", "unbounded"},
	bson.A{int32(-1), int32(1)},
	bson.A{"current", int32(2)},
	bson.A{int32(-2), int32(-1)},
	bson.A{"current", "current"},
	bson.A{int32(1), int32(-1)},
}

func (g *generator) window() any {
	ranged := g.chance(3)
	by, unit := bson.D{{Key: "q", Value: int32(1)}, {Key: "_id", Value: int32(1)}}, any(nil)
	if ranged {
		by = bson.D{{Key: "q", Value: int32(1)}}
		if g.chance(2) {
			by, unit = bson.D{{Key: "d", Value: int32(1)}}, pick(g, []any{"day", "month", "hour"})
		}
	}
	function := func() bson.D {
		call, _ := g.windowFunction(unit).(bson.D)
		switch {
		case isRankLike(call[0].Key):
		case ranged:
			call = append(call, bson.E{Key: "window", Value: fields("range", pick(g, windowBounds), "unit", unit)})
		case g.chance(2):
			call = append(call, bson.E{Key: "window", Value: fields("documents", pick(g, windowBounds))})
		}
		return call
	}
	return fields("partitionBy", g.maybe(2, func() any { return pick(g, []any{"$g", "$b", g.expression(numberKind, 1)}) }), "sortBy", by,
		"output", fields("v", function(), "w", g.maybe(3, func() any { return function() })))
}

// isRankLike reports whether a window function takes no window.
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
		return op("$shift", fields("output", g.leaf(anyKind), "by", int32(g.rnd.IntN(5)-2), "default", g.maybe(2, func() any { return int32(0) })))
	case 2:
		return op(pick(g, []string{"$derivative", "$integral"}), fields("input", pick(g, []any{"$q", "$n"}), "unit", unit))
	case 3:
		return op("$expMovingAvg", pick(g, []any{fields("input", "$q", "N", int32(3)), fields("input", "$n", "alpha", 0.4)}))
	case 4:
		return op(pick(g, []string{"$linearFill", "$locf"}), pick(g, []any{"$q", "$n", "$i"}))
	case 5:
		return op(pick(g, []string{"$covariancePop", "$covarianceSamp"}), bson.A{"$q", g.expression(numberKind, 1)})
	}
	call, _ := g.accumulator().(bson.D)
	return call
}

func (g *generator) densify() any {
	if g.chance(2) {
		return fields("field", "d", "partitionByFields", g.maybe(3, func() any { return bson.A{"g"} }), "range", fields("step", int32(6), "unit", "month", "bounds",
			pick(g, []any{"partition", bson.A{g.date(), g.date()}})))
	}
	return fields("field", pick(g, []string{"q", "q", "n"}), "partitionByFields", g.maybe(2, func() any { return bson.A{"g"} }),
		"range", fields("step", pick(g, []any{int32(5), 2.5, int64(7), int32(0)}), "bounds", pick(g, []any{"full", "partition", bson.A{int32(0), int32(20)}})))
}

func (g *generator) fill() any {
	if g.chance(2) {
		return fields("output", fields("none", fields("value", g.expression(anyKind, 1)), "n", fields("value", int32(7))))
	}
	return fields("sortBy", bson.D{{Key: "_id", Value: int32(1)}}, "partitionBy", g.maybe(3, func() any { return "$g" }), "partitionByFields", g.maybe(3, func() any { return bson.A{"g"} }),
		"output", fields(pick(g, []string{"n", "i", "s"}), fields("method", pick(g, []string{"linear", "locf"}))))
}
