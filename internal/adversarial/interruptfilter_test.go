package adversarial

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/filter"
)

// many returns an array of n values.
func many(n int, value func(i int) any) bson.A {
	out := make(bson.A, n)
	for i := range out {
		out[i] = value(i)
	}
	return out
}

// manyFields returns a document of n fields.
func manyFields(n int, value func(i int) any) bson.D {
	out := make(bson.D, n)
	for i := range out {
		out[i] = bson.E{fmt.Sprintf("f%d", i), value(i)}
	}
	return out
}

// is returns a document with one field.
func is(key string, v any) bson.D { return bson.D{{key, v}} }

// on returns a predicate on the field v, which has the large value.
func on(op string, arg any) bson.D { return is("v", is(op, arg)) }

// lists has long arrays that are arguments of operators.
type lists struct{ numbers, texts, regexes, patterns, docs, lookaheads bson.A }

func newLists() lists {
	return lists{
		numbers: many(scaled(100_000), func(i int) any { return int32(-i - 1) }),
		texts:   many(scaled(50_000), func(i int) any { return fmt.Sprintf("nosuch %d", i) }),
		regexes: many(scaled(30_000), func(i int) any { return bson.Regex{Pattern: fmt.Sprintf("x%d$", i)} }),
		patterns: many(scaled(30_000),
			func(i int) any { return bson.Regex{Pattern: fmt.Sprintf("(x|y).*%d[0-9]", i), Options: "i"} }),
		lookaheads: many(scaled(5_000),
			func(i int) any { return bson.Regex{Pattern: fmt.Sprintf("(?=(t|e)*%d$)x", i)} }),
		docs: many(scaled(20_000),
			func(i int) any { return bson.D{{"k", int32(i)}, {"v", int32(i)}} }),
	}
}

// conditions returns an array of n filters on the field v. No document matches them.
func conditions(n int, condition func(i int) any) bson.A {
	return many(n, func(i int) any { return is("v", condition(i)) })
}

// circle returns n points on a circle, as the ring of a polygon.
func circle(n int) bson.A {
	ring := many(n, func(i int) any {
		angle := 2 * math.Pi * float64(i) / float64(n)
		return bson.A{40 * math.Cos(angle), 40 * math.Sin(angle)}
	})
	ring[n-1] = ring[0]
	return ring
}

// triangles are the coordinates of n small polygons around 0, 0.
func triangles(n int) bson.A {
	return many(n, func(i int) any {
		x, y := float64(i%64)/2-16, float64(i/64)/4-8
		return bson.A{bson.A{bson.A{x, y}, bson.A{x + .4, y}, bson.A{x + .2, y + .2}, bson.A{x, y}}}
	})
}

func geometry(kind string, coordinates any) bson.D {
	return bson.D{{"type", kind}, {"coordinates", coordinates}}
}

// filterAttacks returns filters that take long over large values, by operator. It returns nil for
// an operator whose work does not grow with its argument or the document.
func filterAttacks() map[string][]bson.D {
	l := newLists()
	polygon := is("$geometry", geometry("Polygon", bson.A{circle(scaled(20_000))}))
	areas := is("$geometry", geometry("MultiPolygon", triangles(scaled(4_000))))
	positions := many(scaled(100_000), func(i int) any { return int32(i) })
	mask := bson.Binary{Data: bytes.Repeat([]byte{0xff}, scaled(8<<20))}
	bits := func(op string) []bson.D {
		return []bson.D{
			on(op, positions), on(op, mask),
			is("$and", bson.A{on(op, mask), on(op, mask), on(op, int64(1)<<40)}),
		}
	}
	compare := func(op string) []bson.D {
		return []bson.D{on(op, l.numbers), on(op, l.docs), is("v.k", is(op, l.texts))}
	}
	text := func(arg bson.D) []bson.D { return []bson.D{is("$text", arg)} }
	nested := conditions(scaled(2000), func(i int) any { return is("$in", l.numbers[i:i+20]) })
	branches := func(op string) []bson.D {
		return []bson.D{
			is(op, conditions(scaled(20_000),
				func(i int) any { return is("$gt", fmt.Sprint("u", i)) })), is(op, nested),
			is(op, many(scaled(2000), func(i int) any { return is("$or", nested[i%100:i%100+5]) })),
			is(op, many(scaled(10_000), func(i int) any { return is(fmt.Sprintf("v.f%d", i), int32(-1)) })),
		}
	}
	schema := func(arg any) bson.D { return is("$jsonSchema", is("properties", is("v", arg))) }
	return map[string][]bson.D{
		"$eq": compare("$eq"), "$gt": compare("$gt"), "$gte": compare("$gte"), "$lt": compare("$lt"),
		"$lte": compare("$lte"), "$ne": compare("$ne"),
		"$in": {
			on("$in", l.numbers), on("$in", l.texts), on("$in", l.regexes), on("$in", l.patterns),
			on("$in", l.lookaheads), is("v.k", is("$in", l.regexes)),
		},
		"$nin": {on("$nin", l.numbers), on("$nin", l.regexes), on("$nin", l.lookaheads)},
		"$and": branches("$and"), "$or": branches("$or"), "$nor": branches("$nor"),
		"$not": {on("$not", is("$in", l.regexes)), on("$not", bson.Regex{Pattern: "(.*7){25}$"})},
		"$exists": {
			manyFields(scaled(20_000), func(int) any { return is("$exists", true) }),
			is("$or", many(scaled(20_000),
				func(i int) any { return is(fmt.Sprintf("v.f%d", -i), is("$exists", true)) })),
		},
		"$type": {
			on("$type", many(scaled(50_000), func(i int) any { return int32(i%3 + 7) })),
			is("$and", conditions(scaled(20_000), func(int) any { return is("$type", "date") })),
		},
		"$expr": {
			is("$expr", is("$in", bson.A{"$v", l.docs})), is("$expr", is("$setIsSubset", bson.A{"$v", l.texts})),
			is("$expr", is("$or", many(scaled(30_000), func(i int) any { return is("$eq", bson.A{"$v", int32(i)}) }))),
		},
		"$jsonSchema": {
			schema(is("uniqueItems", true)), schema(is("items", is("enum", l.texts))), schema(is("enum", l.docs)),
			schema(is("items", is("anyOf", many(300, func(i int) any { return is("maximum", int32(-i-1)) })))),
			schema(is("items", is("pattern", "(.*7){25}$"))),
			schema(is("patternProperties", is("(f|g)+7.*9$", is("bsonType", "int")))),
			schema(is("required", many(scaled(20_000), func(i int) any { return fmt.Sprintf("g%d", i) }))),
			schema(is("properties", manyFields(scaled(20_000), func(int) any { return is("minimum", int32(0)) }))),
			schema(is("dependencies", is("a", many(scaled(400_000), func(i int) any { return fmt.Sprint(i) })))),
			schema(is("dependencies", manyFields(scaled(20_000), func(int) any { return bson.A{"a", "b"} }))),
			schema(is("additionalProperties", is("enum", l.numbers))),
			schema(bson.D{
				{"properties", manyFields(scaled(20_000), func(int) any { return bson.D{} })},
				{"additionalProperties", false},
			}),
		},
		"$mod": {is("$or", conditions(scaled(20_000),
			func(i int) any { return is("$mod", bson.A{int32(1_000_003), int32(-i - 1)}) }))},
		"$regex": {
			on("$regex", "(.*7){25}$"), on("$regex", "(?=(w|o)*$)x"),
			on("$regex", "(t|e|x)+(?<!q)9{3}$"), on("$regex", `(.*a){25}\1$`),
			is("v.k", is("$regex", "^(.*7){25}$")),
		},
		"$options": {is("v", bson.D{{"$regex", "(.*W){25}$"}, {"$options", "i"}})},
		"$text":    text(is("$search", strings.TrimSpace(strings.Repeat("word1 word2 -word3 ", scaled(200_000))))),
		"$where": {
			is("$where", "for (;;) {}"), is("$where", "JSON.stringify(this).length == 0"),
			is("$where", "this.v.sort(); false"),
		},
		"$all": {
			on("$all", l.numbers), on("$all", l.regexes),
			on("$all", many(scaled(2000), func(i int) any { return is("$elemMatch", is("$eq", int32(-i-1))) })),
			on("$all", many(scaled(100_000), func(i int) any { return int32((i * 7919) % 1_000_003) })),
		},
		"$elemMatch": {
			on("$elemMatch", is("$in", l.numbers)), on("$elemMatch", is("k", is("$in", l.regexes))),
			on("$elemMatch", is("$or", conditions(scaled(2000), func(i int) any { return int32(-i) }))),
		},
		"$size": {is("$or", conditions(scaled(20_000), func(i int) any { return is("$size", int32(i)) }))},

		"$bitsAllClear": bits("$bitsAllClear"), "$bitsAllSet": bits("$bitsAllSet"),
		"$bitsAnyClear": bits("$bitsAnyClear"), "$bitsAnySet": bits("$bitsAnySet"),

		"$geoIntersects": {
			on("$geoIntersects", polygon), on("$geoIntersects", areas),
			is("v.p", is("$geoIntersects", polygon)),
		},
		"$geoWithin": {
			on("$geoWithin", polygon), on("$geoWithin", areas),
			on("$geoWithin", is("$polygon", circle(scaled(20_000)))),
			is("v.p", is("$geoWithin", is("$polygon", circle(scaled(20_000))))),
		},
		"$within": {on("$within", is("$polygon", circle(scaled(20_000))))},
		"$near": {
			is("p", is("$near", is("$geometry", geometry("Point", bson.A{1, 1})))),
			is("p", is("$near", bson.A{1, 1})),
		},
		"$nearSphere": {is("p", is("$nearSphere", is("$geometry", geometry("Point", bson.A{1, 1}))))},
		"$geoNear":    {is("p", is("$geoNear", is("$geometry", geometry("Point", bson.A{1, 1}))))},

		"$alwaysFalse": nil, "$alwaysTrue": nil, "$sampleRate": nil,
		"$comment": {bson.D{{"$comment", l.docs}, {"v.nosuch", 1}}},
		"$db":      {is("v", bson.D{{"$ref", "c"}, {"$id", l.docs}, {"$db", "d"}})},
		"$id":      {is("v", bson.D{{"$ref", "c"}, {"$id", l.numbers}})},
		"$ref":     {is("v", bson.D{{"$ref", strings.Repeat("x", 1<<20)}, {"$id", 1}})},
	}
}

// filterCommands returns a find with a filter. It reads the document with a large value, or a whole
// collection if the operator needs an index.
func filterCommands(op, kind string, f bson.D) bson.D {
	switch op {
	case "$text":
		return bson.D{{"find", "words"}, {"filter", append(f[:1:1], is("nosuch", 1)...)}}
	case "$near", "$nearSphere", "$geoNear":
		return bson.D{{"find", "points"}, {"filter", append(f[:1:1], is("nosuch", 1)...)}}
	}
	return bson.D{
		{"find", "large"},
		{"filter", append(is("_id", kind), f...)},
		{"projection", is("_id", 1)},
	}
}

// interruptFilters interrupts finds with each query operator over large values.
func interruptFilters(t *testing.T, db *mongo.Database) {
	all := filterAttacks()
	kinds := []string{"numbers", "texts", "object", "pairs", "text", "geometries"}
	m := newMeasure(t, db)
	for n, op := range filter.Operators() {
		attacks, ok := all[op.Name]
		if !ok {
			t.Errorf("%s has no case: write its arguments into the table", op.Name)
		}
		for i, f := range attacks {
			for k, kind := range kinds {
				cmd := filterCommands(op.Name, kind, f)
				if cmd[0].Value != "large" && k > 0 || !*long && (i+k+n)%shortShare(8) != 0 {
					continue
				}
				m.check(fmt.Sprintf("%s %d over %s", op.Name, i, kind), cmd)
			}
		}
	}
	m.report()
}
