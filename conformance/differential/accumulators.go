package main

import (
	"fmt"

	"go.mongodb.org/mongo-driver/bson"
)

// accumulators returns fields of a $group, each with a random accumulator.
func (g *generator) accumulators() bson.D {
	d := bson.D{}
	for i := range 1 + g.rnd.IntN(2) {
		d = append(d, bson.E{fmt.Sprintf("v%d", i), g.accumulator()})
	}
	return d
}

func (g *generator) accumulator() any {
	by := func() any {
		return bson.D{{pick(g, []string{"n", "s", "d"}), int32(1)}, {"_id", int32(-1)}}
	}
	if !g.repeated && g.chance(5) {
		output := g.leaf(anyKind)
		if g.chance(2) {
			return op(pick(g, []string{"$top", "$bottom"}), fields("sortBy", by(), "output", output))
		}
		return op(pick(g, []string{"$topN", "$bottomN"}), fields("n", g.few(), "sortBy", by(), "output", output))
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
			input := g.leaf(anyKind)
			// These accumulators would take an array as their list of operands: see arrayOperators.
			if list, isList := input.(bson.A); isList {
				input = op("$literal", list)
			}
			return op(pick(g, []string{"$firstN", "$lastN", "$minN", "$maxN"}), fields("n", g.few(), "input", input))
		},
		func() any { return op("$median", fields("input", g.leaf(numberKind), "method", "approximate")) },
		func() any {
			return op("$percentile",
				fields("input", g.leaf(numberKind), "p", bson.A{0.25, 0.9}, "method", "approximate"))
		},
	})()
}

// few returns the argument n of an accumulator that keeps n documents, such as $firstN.
func (g *generator) few() any {
	if g.chance(12) {
		return pick(g, []any{
			int64(2), 2.0, 2.5, int32(0), int32(-1), "a", "$n",
			op("$add", bson.A{int32(1), int32(1)}), decimal("2"),
		})
	}
	return int32(1 + g.rnd.IntN(3))
}
