package main

import (
	"go.mongodb.org/mongo-driver/bson"
)

// modifier generates the argument of an update operator for one path.
type modifier struct {
	name string
	make func(g *generator) any
}

// modifiers lists the update operators with their weights.
var modifiers = []modifier{
	{"$set", func(g *generator) any { return g.value(2) }},
	{"$set", func(g *generator) any { return g.value(2) }},
	{"$unset", func(*generator) any { return "" }},
	{"$inc", (*generator).amount},
	{"$inc", (*generator).amount},
	{"$mul", (*generator).amount},
	{"$min", func(g *generator) any { return g.value(1) }},
	{"$max", func(g *generator) any { return g.value(1) }},
	{"$rename", func(g *generator) any { return pick(g, []string{"d", "d.e", "e", "b.x", "a"}) }},
	{"$setOnInsert", func(g *generator) any { return g.value(1) }},
	{"$currentDate", func(g *generator) any {
		return pick(g, []any{true, op("$type", "date"), op("$type", "timestamp")})
	}},
	{"$push", (*generator).push},
	{"$push", (*generator).push},
	{"$addToSet", func(g *generator) any {
		if g.chance(2) {
			return op("$each", g.array(1))
		}
		return g.value(1)
	}},
	{"$pop", func(g *generator) any { return pick(g, []any{int32(1), int32(-1), int64(1), 1.0, int32(2)}) }},
	{"$pull", func(g *generator) any {
		switch g.rnd.IntN(3) {
		case 0:
			return g.value(1)
		case 1:
			return g.operatorPredicate(1)
		}
		return bson.D{{pick(g, fieldNames), g.predicate(1)}}
	}},
	{"$pullAll", func(g *generator) any { return g.array(1) }},
	{"$bit", func(g *generator) any {
		return op(pick(g, []string{"and", "or", "xor"}), pick(g, []any{int32(1), int32(5), int64(2), int64(-1)}))
	}},
}

// amount returns a value that is mostly a number.
func (g *generator) amount() any {
	if g.chance(15) {
		return g.scalar()
	}
	if g.chance(3) {
		return pick(g, edgeNumbers)
	}
	return pick(g, plainNumbers)
}

func (g *generator) push() any {
	if g.chance(2) {
		return g.value(1)
	}
	p := bson.D{{"$each", g.array(1)}}
	if g.chance(3) {
		p = append(p, bson.E{"$position", pick(g, []any{int32(0), int32(1), int32(-1), int64(100)})})
	}
	if g.chance(3) {
		p = append(p, bson.E{"$slice", pick(g, []any{int32(0), int32(2), int32(-2), 1.0})})
	}
	if g.chance(3) {
		p = append(p, bson.E{
			"$sort",
			pick(g, []any{int32(1), int32(-1), bson.D{{"x", int32(1)}}, bson.D{{"a", int32(-1)}, {"b", int32(1)}}}),
		})
	}
	return p
}

// target returns a path to update. Some paths lead into arrays. Some contain $[] or $[e], and
// target then adds a filter for e to filters.
func (g *generator) target(filters *bson.A) string {
	p := pick(g, []string{"a", "b", "c", "d"})
	for g.chance(3) {
		switch g.rnd.IntN(8) {
		case 0:
			p += ".$[]"
		case 1:
			p += ".$[e]"
			if len(*filters) == 0 {
				*filters = append(*filters, g.arrayFilter())
			}
		default:
			p += "." + pick(g, fieldNames)
		}
	}
	return p
}

func (g *generator) arrayFilter() bson.D {
	if g.chance(2) {
		return bson.D{{"e", g.predicate(1)}}
	}
	return bson.D{guarded("e."+pick(g, fieldNames), g.predicate(1))}
}

// operators returns an update document that consists of operators, and its array filters.
func (g *generator) operators() (bson.D, bson.A) {
	u := bson.D{}
	var filters bson.A
	for range 1 + g.rnd.IntN(2) {
		m := pick(g, modifiers)
		if lookup(u, m.name) != nil {
			continue
		}
		target := func() string {
			// $currentDate gets fields that no sort uses. Otherwise the times would show in which
			// order a multi-update has updated its documents.
			if m.name == "$currentDate" {
				return pick(g, []string{"at", "at", "at.a", "at.b"})
			}
			return g.target(&filters)
		}
		args := bson.D{{target(), m.make(g)}}
		if g.chance(5) {
			second := target()
			if second != args[0].Key {
				args = append(args, bson.E{second, m.make(g)})
			}
		}
		u = append(u, bson.E{m.name, args})
	}
	return u, filters
}

// update returns the field u of a statement, and its array filters. It returns no replacement for a
// multi-update, where replacements are invalid.
func (g *generator) update(multi bool) (any, bson.A) {
	switch {
	case g.chance(40):
		return pick(g, []any{
			op("$set", int32(1)), op("$unknown", bson.D{{"a", int32(1)}}),
			bson.D{{"$set", bson.D{{"a", int32(1)}}}, {"b", int32(1)}},
			op("$set", bson.D{{"a", int32(1)}, {"a.b", int32(1)}}), op("$set", bson.D{{"_id", int32(77)}}),
			op("$push", bson.D{{"a", bson.D{{"$each", int32(1)}}}}), op("$set", bson.D{{"a..b", int32(1)}}),
			op("$rename", bson.D{{"a", "a"}}),
			op("$set", bson.D{{"", int32(1)}}), op("$pop", bson.D{{"a", "x"}}),
			op("$bit", bson.D{{"a", op("not", int32(1))}}),
			bson.D{},
		}), nil
	case !multi && g.chance(8):
		return g.subdocument(2), nil
	}
	return g.operators()
}

// positional returns a filter on an array, and an update of the array element that it matched.
func (g *generator) positional() (bson.D, bson.D) {
	path := pick(g, []string{"a", "b", "a.b"})
	f := bson.D{{"_id", g.anyID()}}
	scalar := func() any {
		v := g.scalar()
		for isNullish(v) && path == "a.b" { // null after a dot is avoided: see guarded
			v = g.scalar()
		}
		return v
	}
	switch g.rnd.IntN(3) {
	case 0:
		f = append(f, bson.E{path, scalar()})
	case 1:
		f = append(f, bson.E{path, op("$elemMatch", g.operatorPredicate(0))})
	default:
		f = append(f, bson.E{path, op("$gte", scalar())})
	}
	m := pick(g, modifiers[:8])
	target := path + ".$"
	if g.chance(4) {
		target += "." + pick(g, fieldNames)
	}
	return f, op(m.name, bson.D{{target, m.make(g)}})
}
