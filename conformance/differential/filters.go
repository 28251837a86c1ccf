package main

import (
	"strings"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"
)

// predicate generates the value of a field { path: value } in a filter.
type predicate struct {
	weight int
	make   func(g *generator, depth int) any
}

// predicateTable lists the kinds of predicates with their weights.
func predicateTable() []predicate {
	return []predicate{
		{20, func(g *generator, _ int) any { return g.literal() }},
		{10, func(g *generator, _ int) any { return op(pick(g, []string{"$eq", "$ne"}), g.operand()) }},
		{20, func(g *generator, _ int) any { return op(pick(g, []string{"$gt", "$gte", "$lt", "$lte"}), g.operand()) }},
		{10, func(g *generator, _ int) any {
			return bson.D{
				{pick(g, []string{"$gt", "$gte"}), g.operand()},
				{pick(g, []string{"$lt", "$lte"}), g.operand()},
			}
		}},
		{10, func(g *generator, _ int) any { return op(pick(g, []string{"$in", "$in", "$nin"}), g.operands()) }},
		{6, func(g *generator, _ int) any {
			return op("$exists", pick(g, []any{true, false, int32(1), int32(0), nil}))
		}},
		{6, func(g *generator, _ int) any { return op("$type", g.typeName()) }},
		{5, func(g *generator, _ int) any {
			return op("$size", pick(g, []any{int32(0), int32(1), int32(2), int64(3), 2.0}))
		}},
		{5, func(g *generator, _ int) any { return g.mod() }},
		{6, func(g *generator, _ int) any { return g.regex() }},
		{6, func(g *generator, d int) any { return g.all(d) }},
		{10, func(g *generator, d int) any { return g.elemMatch(d) }},
		{5, func(g *generator, _ int) any { return g.bits() }},
		{8, func(g *generator, d int) any { return op("$not", g.operatorPredicate(d-1)) }},
		{1, func(g *generator, _ int) any { return g.brokenPredicate() }},
	}
}

func op(name string, v any) bson.D { return bson.D{{name, v}} }

// filter returns a query document.
func (g *generator) filter(depth int) bson.D {
	if g.chance(20) {
		return bson.D{}
	}
	f := bson.D{}
	for range 1 + g.rnd.IntN(2) {
		f = g.addClause(f, depth)
	}
	return f
}

// addClause appends a clause, unless the document already has a field with the same name. MongoDB
// does not define the meaning of a repeated field.
func (g *generator) addClause(f bson.D, depth int) bson.D {
	c := g.clause(depth)
	if hasField(f, c.Key) {
		return f
	}
	return append(f, c)
}

func (g *generator) clause(depth int) bson.E {
	if depth > 0 && g.chance(4) {
		list := bson.A{}
		for range 1 + g.rnd.IntN(3) {
			list = append(list, g.filter(depth-1))
		}
		return bson.E{pick(g, []string{"$and", "$or", "$or", "$nor"}), list}
	}
	switch {
	case g.chance(25):
		return bson.E{"$jsonSchema", g.schema(2)}
	case g.chance(25):
		return bson.E{"$expr", g.comparison()}
	case g.chance(12):
		return bson.E{"_id", pick(g,
			[]any{g.anyID(), op("$in", bson.A{g.anyID(), g.anyID()}), op("$gte", g.anyID()), op("$ne", g.anyID())})}
	}
	return guarded(g.path(), g.predicate(depth))
}

// guarded returns a predicate on a path. If it compares a dotted path with null, it excludes
// documents in which an array before the dot contains no documents. The 9.0 engine finds {a: []}
// and {a: [1]} by {"a.x": null}. In MongoDB up to 8.0, {"a.x": null} does not find such an array.
func guarded(path string, predicate any) bson.E {
	own := bson.E{path, predicate}
	if !strings.Contains(path, ".") ||
		!isNullish(predicate) &&
			!mentions(predicate, "", func(_, _ string, value any) bool { return isNullish(value) }) {
		return own
	}
	return bson.E{"$and", append(bson.A{bson.D{own}}, withDocuments(path)...)}
}

// withDocuments returns predicates for the arrays that a dotted path leads through. They demand
// that such an array is not empty, and that all of its elements are documents.
func withDocuments(path string) bson.A {
	var all bson.A
	for i, c := range path {
		if c == '.' {
			bare := op("$elemMatch", op("$not", op("$type", "object")))
			all = append(all, op(path[:i], op("$not", op("$size", int32(0)))), op(path[:i], op("$not", bare)))
		}
	}
	return all
}

func (g *generator) predicate(depth int) any {
	total := 0
	for _, p := range g.predicates {
		total += p.weight
	}
	n := g.rnd.IntN(total)
	for _, p := range g.predicates {
		if n -= p.weight; n < 0 {
			return p.make(g, depth)
		}
	}
	return nil
}

// operatorPredicate returns a predicate that is a document of operators or a regular expression.
func (g *generator) operatorPredicate(depth int) any {
	for range 10 {
		p := g.predicate(depth)
		if d, ok := p.(bson.D); ok && len(d) > 0 && d[0].Key[0] == '$' {
			return p
		}
	}
	return op("$exists", true)
}

// literal returns a value for the predicate {path: value}. A document in it cannot be taken for an
// operator, because its field names do not begin with a dollar sign.
func (g *generator) literal() any { return g.value(2) }

// operand returns an operand of a comparison operator, such as $gt.
func (g *generator) operand() any { return g.value(2) }

func (g *generator) operands() bson.A {
	a := bson.A{}
	for range g.rnd.IntN(5) {
		a = append(a, g.operand())
	}
	if g.chance(8) {
		a = append(a, primitive.Regex{Pattern: pick(g, patterns), Options: ""})
	}
	return a
}

var typeNames = []any{
	"double", "string", "object", "array", "binData", "undefined", "objectId", "bool", "date", "null",
	"regex", "dbPointer", "javascript",
	"symbol", "javascriptWithScope", "int", "timestamp", "long", "decimal", "minKey", "maxKey", "number",
	int32(1), int32(2), int32(3), int32(4), int32(10), int32(16), int32(-1), int32(127), 18.0,
}

func (g *generator) typeName() any {
	if g.chance(4) {
		return bson.A{pick(g, typeNames), pick(g, typeNames)}
	}
	return pick(g, typeNames)
}

func (g *generator) mod() any {
	divisor := pick(g, []any{int32(2), int32(3), int64(2), 2.0, 2.9, int32(-2), decimal("2")})
	rest := pick(g, []any{int32(0), int32(1), int64(1), 1.0, 0.5, int32(-1)})
	return op("$mod", bson.A{divisor, rest})
}

var patterns = []string{
	"a", "^a", "^ab", "b$", "^$", "", "^a.*c", "a|b", "[ab]", "^(a|b)", "\\.", "^a\\.b", ".",
	"^A", "(?i)a", "a+", "é", "^abc$",
}

func (g *generator) regex() any {
	pattern, options := pick(g, patterns), pick(g, []string{"", "", "i", "m", "s", "x", "im"})
	if g.chance(2) {
		return primitive.Regex{Pattern: pattern, Options: options}
	}
	return bson.D{{"$regex", pattern}, {"$options", options}}
}

func (g *generator) all(depth int) any {
	list := bson.A{}
	for range g.rnd.IntN(3) {
		if depth > 0 && g.chance(5) {
			list = append(list, op("$elemMatch", g.filter(depth-1)))
		} else if len(list) == 0 || !isElemMatch(list[0]) {
			list = append(list, g.operand())
		}
	}
	return op("$all", list)
}

func isElemMatch(v any) bool {
	d, ok := v.(bson.D)
	return ok && len(d) == 1 && d[0].Key == "$elemMatch"
}

func (g *generator) elemMatch(depth int) any {
	if depth > 0 && g.chance(2) {
		return op("$elemMatch", bson.D{{pick(g, fieldNames), g.predicate(depth - 1)}})
	}
	for {
		// In a $match after another stage, the 9.0 engine serializes {$elemMatch: {$all: [1]}}
		// without the path. Then it cannot parse the result.
		if p := g.operatorPredicate(depth - 1); !mentionsKey(p, "$all") {
			return op("$elemMatch", p)
		}
	}
}

func (g *generator) bits() any {
	name := pick(g, []string{"$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear"})
	return op(name, pick(g, []any{
		int32(0), int32(1), int32(5), int64(2), 3.0,
		bson.A{int32(0)},
		bson.A{int32(0), int32(2)},
		bson.A{int32(63)},
		bson.A{int32(200)},
		bson.A{},
		primitive.Binary{Data: []byte{1}},
		primitive.Binary{Data: []byte{1, 2}},
	}))
}

// brokenPredicate returns an invalid predicate. Each variant is invalid for a different reason.
func (g *generator) brokenPredicate() any {
	return pick(g, []any{
		op("$size", int32(-1)), op("$size", 1.5), op("$size", "a"), op("$mod", bson.A{int32(0), int32(0)}),
		op("$mod", bson.A{int32(1)}), op("$mod", int32(1)),
		op("$in", int32(1)), op("$all", "a"), op("$type", "nothing"), op("$type", int32(99)),
		op("$elemMatch", int32(1)), op("$not", int32(1)),
		op("$not", bson.D{}), op("$unknown", int32(1)), op("$bitsAllSet", -1.0), op("$bitsAllSet", "a"),
		op("$bitsAllSet", bson.A{int32(-1)}),
		bson.D{{"$options", "i"}},
		bson.D{{"$regex", "a"}, {"$options", "q"}},
		op("$regex", int32(1)), op("$regex", "("),
		op("$in", bson.A{op("$gt", int32(1))}), op("$exists", bson.D{}), op("$eq", primitive.Regex{Pattern: "a"}),
		op("$gt", primitive.Regex{Pattern: "a"}),
		op("$mod", bson.A{int32(1), int32(2), int32(3)}), op("$mod", bson.A{"a", int32(0)}),
		op("$all", bson.A{op("$gt", int32(1))}),
	})
}

// comparison returns an aggregation expression that compares two values, for $expr.
func (g *generator) comparison() any {
	side := func() any {
		if g.chance(2) {
			return "$" + g.path()
		}
		return op("$literal", g.scalar())
	}
	return op(pick(g, []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte"}), bson.A{side(), side()})
}

// schema returns a JSON schema.
func (g *generator) schema(depth int) bson.D {
	keywords := []bson.E{
		{"bsonType", pick(g, []any{"object", "array", "int", "number", "string", bson.A{"string", "null"}})},
		{"required", bson.A{pick(g, fieldNames)}},
		{"minimum", pick(g, []any{int32(0), 1.5, int64(2)})},
		{"maximum", pick(g, []any{int32(2), 1.5})},
		{"minLength", int32(g.rnd.IntN(3))},
		{"maxLength", int32(g.rnd.IntN(3))},
		{"pattern", pick(g, patterns)},
		{"minItems", int32(g.rnd.IntN(3))},
		{"uniqueItems", true},
		{"minProperties", int32(g.rnd.IntN(4))},
		{"additionalProperties", g.chance(2)},
		{"enum", bson.A{g.scalar(), g.scalar()}},
		{"multipleOf", pick(g, []any{int32(2), 0.5})},
	}
	s := bson.D{}
	for _, i := range g.rnd.Perm(len(keywords))[:1+g.rnd.IntN(2)] {
		s = append(s, keywords[i])
	}
	if depth > 0 {
		s = append(s, bson.E{"properties", bson.D{{pick(g, []string{"a", "b", "x"}), g.schema(depth - 1)}}})
		if g.chance(3) {
			s = append(s, bson.E{
				pick(g, []string{"anyOf", "allOf", "oneOf"}),
				bson.A{g.schema(depth - 1), g.schema(0)},
			})
		}
		if g.chance(4) {
			s = append(s, bson.E{"items", g.schema(0)})
		}
	}
	return s
}
