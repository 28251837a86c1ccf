package metamorphic

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

var paths = []string{"a", "b", "c", "a.x", "a.y", "o.p", "o.q", "_id", "a.0", "arr", "n", "o", "missing"}

func (g *gen) filter(depth int) bson.D {
	if depth > 0 {
		switch g.IntN(8) {
		case 0, 1:
			return bson.D{{Key: "$or", Value: bson.A{g.filter(depth - 1), g.filter(depth - 1)}}}
		case 2:
			return bson.D{{Key: "$and", Value: bson.A{g.filter(depth - 1), g.filter(depth - 1)}}}
		case 3:
			return bson.D{{Key: "$nor", Value: bson.A{g.filter(depth - 1)}}}
		}
	}
	if g.family.predicate != nil && g.chance(2) {
		return g.family.predicate(g)
	}
	if g.chance(12) {
		return bson.D{}
	}
	if g.chance(8) {
		return bson.D{{Key: "$expr", Value: g.comparison(depth)}}
	}
	out := bson.D{}
	for range 1 + g.IntN(2) {
		path := pick(g, paths)
		if path == "_id" && g.chance(2) {
			out = append(out, bson.E{Key: path, Value: g.id()})
			continue
		}
		out = append(out, bson.E{Key: path, Value: g.predicate(depth)})
	}
	if len(out) == 2 && out[0].Key == out[1].Key {
		return out[:1]
	}
	return out
}

// comparison returns an expression that compares a field with a value, or several.
func (g *gen) comparison(depth int) bson.D {
	if depth > 0 && g.chance(3) {
		return bson.D{{Key: "$and", Value: bson.A{g.comparison(0), g.comparison(0)}}}
	}
	path := "$" + pick(g, paths)
	operands := bson.A{path, bson.D{{Key: "$literal", Value: g.value(1)}}}
	if g.chance(3) {
		slices.Reverse(operands)
	}
	return bson.D{{Key: pick(g, []string{"$eq", "$eq", "$eq", "$gt", "$gte", "$lt", "$lte", "$ne"}), Value: operands}}
}

// predicate returns the value beside a path in a filter.
func (g *gen) predicate(depth int) any {
	op := func(name string, v any) bson.D { return bson.D{{Key: name, Value: v}} }
	switch g.IntN(18) {
	case 0, 1:
		return g.value(1)
	case 2:
		return op("$gt", g.value(1))
	case 3:
		return op("$gte", g.value(1))
	case 4:
		return op("$lt", g.value(1))
	case 5:
		return op("$lte", g.small())
	case 6:
		return bson.D{{Key: "$gte", Value: g.small()}, {Key: "$lt", Value: g.small()}}
	case 7, 8:
		return op("$in", bson.A{g.value(1), g.small(), g.small()})
	case 9:
		return op("$ne", g.value(1))
	case 10:
		return op("$nin", bson.A{g.small(), g.small()})
	case 11:
		return op("$exists", g.chance(2))
	case 12:
		return op("$type", pick(g,
			[]any{"number", "string", "null", "array", "object", bson.A{"bool", "int"}, "double", "minKey"}))
	case 13:
		return pick(g, []any{
			bson.Regex{Pattern: "^a"},
			bson.Regex{Pattern: "b$"},
			bson.Regex{Pattern: "^A", Options: "i"},
			bson.Regex{Pattern: `^ab\E*`},
			bson.Regex{Pattern: "^ab #\n*", Options: "x"},
			op("$mod", bson.A{2, 0}), op("$size", 2),
			op("$in", bson.A{bson.Regex{Pattern: "^ab"}, nil}), op("$bitsAllSet", 2),
		})
	case 14:
		if depth > 0 {
			if p, ok := g.predicate(0).(bson.D); ok && len(p) > 0 && p[0].Key[0] == '$' {
				return op("$not", p)
			}
		}
		return op("$eq", g.value(1))
	case 15:
		return op("$elemMatch", bson.D{{Key: "$gte", Value: g.small()}, {Key: "$lt", Value: g.small()}})
	case 16:
		return op("$elemMatch", bson.D{{Key: "x", Value: g.small()}, {Key: "y", Value: op("$gte", g.small())}})
	default:
		return op("$all", bson.A{g.small(), g.small()})
	}
}

// sort returns a sort that ends with _id, so that it is total.
func (g *gen) sort() bson.D {
	direction := func() int32 { return pick(g, []int32{1, -1}) }
	var out bson.D
	add := func(path string) { out = append(out, bson.E{Key: path, Value: direction()}) }
	// At most one of these may be on an array.
	if g.chance(3) {
		add(pick(g, []string{"a", "a.x", "arr", "a.y"}))
	}
	for _, path := range []string{"b", "c", "o.p", "n", "o"} {
		if g.chance(4) {
			add(path)
		}
	}
	g.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	add("_id")
	return out
}

func (g *gen) projection() bson.D {
	return pick(g, []bson.D{
		{{Key: "_id", Value: 0}, {Key: "a", Value: 1}},
		{{Key: "_id", Value: 0}, {Key: "b", Value: 1}},
		{{Key: "_id", Value: 1}, {Key: "b", Value: 1}, {Key: "c", Value: 1}},
		{{Key: "_id", Value: 1}},
		{{Key: "_id", Value: 0}, {Key: "o.p", Value: 1}},
		{{Key: "_id", Value: 0}, {Key: "n", Value: 1}, {Key: "o", Value: 1}},
		{{Key: "pad", Value: 0}, {Key: "a.x", Value: 0}},
		{{Key: "arr", Value: bson.D{{Key: "$slice", Value: 1}}}},
		{{Key: "a", Value: bson.D{{Key: "$elemMatch", Value: bson.D{{Key: "$gte", Value: 1}}}}}},
		{{Key: "b", Value: 1}, {Key: "sum", Value: bson.D{{Key: "$type", Value: "$a"}}}},
	})
}

// indexKeys has at most one path in each key that may be an array.
var indexKeys = []bson.D{
	{{Key: "a", Value: 1}},
	{{Key: "a", Value: -1}},
	{{Key: "b", Value: 1}},
	{{Key: "b", Value: -1}, {Key: "a", Value: 1}},
	{{Key: "a", Value: 1}, {Key: "b", Value: 1}},
	{{Key: "a.x", Value: 1}},
	{{Key: "a.x", Value: 1}, {Key: "a.y", Value: -1}},
	{{Key: "a.y", Value: 1}, {Key: "c", Value: 1}},
	{{Key: "o.p", Value: 1}, {Key: "a", Value: 1}},
	{{Key: "o.p", Value: 1}, {Key: "o.q", Value: -1}},
	{{Key: "o", Value: 1}, {Key: "b", Value: -1}},
	{{Key: "c", Value: 1}, {Key: "arr", Value: 1}, {Key: "b", Value: -1}},
	{{Key: "arr", Value: 1}},
	{{Key: "arr", Value: -1}, {Key: "_id", Value: 1}},
	{{Key: "b", Value: 1}, {Key: "_id", Value: -1}},
	{{Key: "b", Value: 1}, {Key: "c", Value: -1}, {Key: "_id", Value: 1}},
	{{Key: "n", Value: -1}, {Key: "_id", Value: 1}, {Key: "b", Value: 1}},
	{{Key: "n", Value: 1}, {Key: "b", Value: 1}, {Key: "c", Value: 1}},
	{{Key: "a.0", Value: 1}},
	{{Key: "missing", Value: 1}, {Key: "c", Value: -1}},
	{{Key: "b", Value: "hashed"}},
	{{Key: "o.p", Value: "hashed"}, {Key: "n", Value: 1}},
	{{Key: "b", Value: 1}, {Key: "c", Value: "hashed"}, {Key: "_id", Value: -1}},
	{{Key: "$**", Value: 1}},
	{{Key: "$**", Value: -1}},
	{{Key: "a.$**", Value: -1}},
	{{Key: "o.$**", Value: 1}, {Key: "b", Value: 1}},
	{{Key: "b", Value: 1}, {Key: "a.$**", Value: 1}},
}

// wildcardProjections are the projections of indexes on all paths.
var wildcardProjections = []bson.D{
	{{Key: "_id", Value: 1}, {Key: "a.x", Value: 0}},
	{{Key: "a", Value: 1}, {Key: "o.p", Value: 1}},
	{{Key: "pad", Value: 0}},
}

var partialFilters = []bson.D{
	{{Key: "b", Value: bson.D{{Key: "$gte", Value: 1}}}},
	{{Key: "a", Value: bson.D{{Key: "$exists", Value: true}}}},
	{{Key: "c", Value: bson.D{{Key: "$in", Value: bson.A{1, 2}}}}},
	{{Key: "n", Value: bson.D{{Key: "$type", Value: "number"}}}},
	{{Key: "$or", Value: bson.A{
		bson.D{{Key: "b", Value: "a"}},
		bson.D{{Key: "o.p", Value: bson.D{{Key: "$lt", Value: 2}}}},
	}}},
}
