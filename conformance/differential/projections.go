package main

import (
	"go.mongodb.org/mongo-driver/bson"
)

// projection returns a projection for find.
func (g *generator) projection() bson.D {
	include := g.chance(2)
	p := bson.D{}
	flag := func(on bool) any {
		if on {
			return pick(g, []any{int32(1), true, 1.0, int64(2), decimal("1")})
		}
		return pick(g, []any{int32(0), false, 0.0, int64(0)})
	}
	if g.chance(3) {
		p = append(p, bson.E{"_id", flag(g.chance(2))})
	}
	for range 1 + g.rnd.IntN(3) {
		path := g.path()
		if hasField(p, path) {
			continue
		}
		switch {
		case g.chance(8):
			p = append(p, bson.E{
				path,
				op("$slice", pick(g, []any{
					int32(1), int32(-2), int32(0),
					bson.A{int32(1), int32(2)},
					bson.A{int32(-2), int32(1)},
				})),
			})
		case g.chance(8):
			if field := pick(g, []string{"a", "b", "c"}); !hasField(p, field) {
				p = append(p, bson.E{field, g.elemMatch(1)})
			}
		case include && g.chance(10):
			p = append(p, bson.E{
				path,
				pick(g, []any{"$a", "$b.x", "text", op("$literal", int32(5)), bson.D{{"x", "$a"}}}),
			})
		case g.chance(25):
			p = append(p, bson.E{path, flag(!include)}) // a mix of inclusion and exclusion is mostly invalid
		default:
			p = append(p, bson.E{path, flag(include)})
		}
	}
	return p
}

// sort returns a sort that is a total order, because it ends with _id.
func (g *generator) sort() bson.D {
	s := bson.D{}
	direction := func() any { return pick(g, []any{int32(1), int32(-1), 1.0, int64(-1)}) }
	for range g.rnd.IntN(3) {
		path := g.path()
		if !hasField(s, path) {
			s = append(s, bson.E{path, direction()})
		}
	}
	return append(s, bson.E{"_id", direction()})
}
