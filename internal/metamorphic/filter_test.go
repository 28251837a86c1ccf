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
			return bson.D{{"$or", bson.A{g.filter(depth - 1), g.filter(depth - 1)}}}
		case 2:
			return bson.D{{"$and", bson.A{g.filter(depth - 1), g.filter(depth - 1)}}}
		case 3:
			return bson.D{{"$nor", bson.A{g.filter(depth - 1)}}}
		}
	}
	if g.family.predicate != nil && g.chance(2) {
		return g.family.predicate(g)
	}
	if g.chance(12) {
		return bson.D{}
	}
	if g.chance(8) {
		return bson.D{{"$expr", g.comparison(depth)}}
	}
	out := bson.D{}
	for range 1 + g.IntN(2) {
		path := pick(g, paths)
		if path == "_id" && g.chance(2) {
			out = append(out, bson.E{path, g.id()})
			continue
		}
		out = append(out, bson.E{path, g.predicate(depth)})
	}
	if len(out) == 2 && out[0].Key == out[1].Key {
		return out[:1]
	}
	return out
}

// comparison returns an expression that compares a field with a value, or several.
func (g *gen) comparison(depth int) bson.D {
	if depth > 0 && g.chance(3) {
		return bson.D{{"$and", bson.A{g.comparison(0), g.comparison(0)}}}
	}
	path := "$" + pick(g, paths)
	operands := bson.A{path, bson.D{{"$literal", g.value(1)}}}
	if g.chance(3) {
		slices.Reverse(operands)
	}
	return bson.D{{pick(g, []string{"$eq", "$eq", "$eq", "$gt", "$gte", "$lt", "$lte", "$ne"}), operands}}
}

// predicate returns the value beside a path in a filter.
func (g *gen) predicate(depth int) any {
	op := func(name string, v any) bson.D { return bson.D{{name, v}} }
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
		return bson.D{{"$gte", g.small()}, {"$lt", g.small()}}
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
		return op("$elemMatch", bson.D{{"$gte", g.small()}, {"$lt", g.small()}})
	case 16:
		return op("$elemMatch", bson.D{{"x", g.small()}, {"y", op("$gte", g.small())}})
	default:
		return op("$all", bson.A{g.small(), g.small()})
	}
}

// sort returns a sort that ends with _id, so that it is total.
func (g *gen) sort() bson.D {
	direction := func() int32 { return pick(g, []int32{1, -1}) }
	var out bson.D
	add := func(path string) { out = append(out, bson.E{path, direction()}) }
	// At most one path of a sort may lead to an array.
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
		{{"_id", 0}, {"a", 1}},
		{{"_id", 0}, {"b", 1}},
		{{"_id", 1}, {"b", 1}, {"c", 1}},
		{{"_id", 1}},
		{{"_id", 0}, {"o.p", 1}},
		{{"_id", 0}, {"n", 1}, {"o", 1}},
		{{"pad", 0}, {"a.x", 0}},
		{{"arr", bson.D{{"$slice", 1}}}},
		{{"a", bson.D{{"$elemMatch", bson.D{{"$gte", 1}}}}}},
		{{"b", 1}, {"sum", bson.D{{"$type", "$a"}}}},
	})
}

// indexKeys are the keys of the indexes. In each key, at most one path may lead to an array.
var indexKeys = []bson.D{
	{{"a", 1}},
	{{"a", -1}},
	{{"b", 1}},
	{{"b", -1}, {"a", 1}},
	{{"a", 1}, {"b", 1}},
	{{"a.x", 1}},
	{{"a.x", 1}, {"a.y", -1}},
	{{"a.y", 1}, {"c", 1}},
	{{"o.p", 1}, {"a", 1}},
	{{"o.p", 1}, {"o.q", -1}},
	{{"o", 1}, {"b", -1}},
	{{"c", 1}, {"arr", 1}, {"b", -1}},
	{{"arr", 1}},
	{{"arr", -1}, {"_id", 1}},
	{{"b", 1}, {"_id", -1}},
	{{"b", 1}, {"c", -1}, {"_id", 1}},
	{{"n", -1}, {"_id", 1}, {"b", 1}},
	{{"n", 1}, {"b", 1}, {"c", 1}},
	{{"a.0", 1}},
	{{"missing", 1}, {"c", -1}},
	{{"b", "hashed"}},
	{{"o.p", "hashed"}, {"n", 1}},
	{{"b", 1}, {"c", "hashed"}, {"_id", -1}},
	{{"$**", 1}},
	{{"$**", -1}},
	{{"a.$**", -1}},
	{{"o.$**", 1}, {"b", 1}},
	{{"b", 1}, {"a.$**", 1}},
}

// wildcardProjections are the projections of indexes on all paths.
var wildcardProjections = []bson.D{
	{{"_id", 1}, {"a.x", 0}},
	{{"a", 1}, {"o.p", 1}},
	{{"pad", 0}},
}

var partialFilters = []bson.D{
	{{"b", bson.D{{"$gte", 1}}}},
	{{"a", bson.D{{"$exists", true}}}},
	{{"c", bson.D{{"$in", bson.A{1, 2}}}}},
	{{"n", bson.D{{"$type", "number"}}}},
	{{"$or", bson.A{
		bson.D{{"b", "a"}},
		bson.D{{"o.p", bson.D{{"$lt", 2}}}},
	}}},
}
