package metamorphic

import (
	"math"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/torture"
)

// TestPlaces runs operations on geometries in all variants. All of them have an index on each
// field, so that they refuse values that are not geometries. The plain variant does not use the
// indexes.
func TestPlaces(t *testing.T) {
	torture.SkipShort(t)
	try(t, placeFamily)
}

// In the documents, loc may have any geometry, in.at has a point, list.at some points, and flat a
// pair on a plane.
var placeFamily = &family{
	patience: 3 * time.Second,
	begin: []bson.D{everywhere(
		bson.D{{"loc", "2dsphere"}, {"nothing", 1}},
		bson.D{{"in.at", "2dsphere"}, {"nothing", 1}},
		bson.D{{"list.at", "2dsphere"}, {"nothing", 1}},
		bson.D{{"flat", "2d"}, {"nothing", 1}},
	)},
	operations: []operation{{8, (*gen).near}, {3, (*gen).geoNear}, {1, (*gen).misplace}},
	keys: []bson.D{
		{{"loc", "2dsphere"}},
		{{"b", 1}, {"loc", "2dsphere"}},
		{{"loc", "2dsphere"}, {"c", -1}, {"_id", 1}},
		{{"in.at", "2dsphere"}, {"loc", "2dsphere"}},
		{{"n", 1}, {"in.at", "2dsphere"}, {"arr", 1}},
		{{"in.at", "2dsphere"}},
		{{"list.at", "2dsphere"}},
		{{"list.at", "2dsphere"}, {"list.b", 1}},
		{{"flat", "2d"}},
		{{"flat", "2d"}, {"b", 1}},
		{{"flat", "2d"}, {"arr", -1}},
		{{"a", 1}},
		{{"b", "hashed"}},
	},
	fields: (*gen).places, predicate: (*gen).placePredicate, update: (*gen).move,
}

// everywhere returns a command that creates indexes, and that all variants run, also those without
// indexes.
func everywhere(keys ...bson.D) bson.D {
	var specs bson.A
	for i, key := range keys {
		specs = append(specs, bson.D{{"key", key}, {"name", "base" + indexName(i)}})
	}
	return bson.D{
		{"createIndexes", collName},
		{"indexes", specs},
		{"comment", "everywhere"},
	}
}

// hubs are the centers of the places. One is on the line at longitude 180. No two are opposite each
// other.
var hubs = [][2]float64{{179.5, 10}, {150, -35}, {-150, 45}, {100, 0}}

func wrapped(lng float64) float64 { return math.Mod(lng+540, 360) - 180 }

// around returns coordinates near a hub, often from a small set, so that places often share points.
func (g *gen) around(hub [2]float64) (lng, lat float64) {
	lng, lat = 6*g.Float64()-3, 6*g.Float64()-3
	if g.chance(2) {
		lng, lat = math.Round(lng), math.Round(lat)
	}
	return wrapped(hub[0] + lng), hub[1] + lat
}

func (g *gen) position() bson.A {
	lng, lat := g.around(pick(g, hubs))
	return bson.A{lng, lat}
}

func geoJSON(kind string, coordinates any) bson.D {
	return bson.D{{"type", kind}, {"coordinates", coordinates}}
}

func (g *gen) point() bson.D { return geoJSON("Point", g.position()) }

func (g *gen) line() bson.D {
	hub := pick(g, hubs)
	out := bson.A{}
	for range 2 + g.IntN(2) {
		lng, lat := g.around(hub)
		out = append(out, bson.A{wrapped(lng + float64(len(out))/64), lat}) // no two points are equal
	}
	return geoJSON("LineString", out)
}

// ring returns a convex polygon around a point.
func (g *gen) ring(lng, lat, radius float64) bson.A {
	corners, turn := 3+g.IntN(3), g.Float64()
	out := bson.A{}
	for i := range corners {
		at := 2 * math.Pi * (float64(i) + turn) / float64(corners)
		out = append(out, bson.A{wrapped(lng + radius*math.Cos(at)), lat + radius*math.Sin(at)})
	}
	return append(out, out[0])
}

func (g *gen) polygonRings() bson.A {
	lng, lat := g.around(pick(g, hubs))
	radius := 0.2 + 3*g.Float64()
	rings := bson.A{g.ring(lng, lat, radius)}
	if g.chance(3) {
		rings = append(rings, g.ring(lng, lat, radius/4))
	}
	return rings
}

func (g *gen) polygon() bson.D { return geoJSON("Polygon", g.polygonRings()) }

func (g *gen) geometry() bson.D {
	switch g.IntN(8) {
	case 0, 1:
		return g.line()
	case 2, 3:
		return g.polygon()
	case 4:
		return geoJSON("MultiPoint", bson.A{g.position(), g.position()})
	case 5:
		return bson.D{
			{"type", "GeometryCollection"},
			{"geometries", bson.A{g.point(), g.line()}},
		}
	default:
		return g.point()
	}
}

// place returns a value for loc.
func (g *gen) place() any {
	switch g.IntN(9) {
	case 0:
		return g.position()
	case 1:
		p := g.position()
		return bson.D{{"x", p[0]}, {"y", p[1]}}
	case 2:
		return bson.A{g.point(), g.geometry()}
	case 3:
		return nil
	default:
		return g.geometry()
	}
}

// pair returns a place on the plane.
func (g *gen) pair() bson.A {
	if g.chance(2) {
		return bson.A{g.IntN(9) - 4, g.IntN(9) - 4}
	}
	return bson.A{8*g.Float64() - 4, 8*g.Float64() - 4}
}

func (g *gen) places() bson.D {
	var d bson.D
	if !g.chance(8) {
		d = append(d, bson.E{"loc", g.place()})
	}
	if !g.chance(4) {
		d = append(d, bson.E{"in", bson.D{{"at", g.point()}}})
	}
	if !g.chance(4) {
		list := bson.A{}
		for range g.IntN(4) {
			list = append(list, bson.D{{"at", g.point()}, {"b", g.small()}})
		}
		d = append(d, bson.E{"list", list})
	}
	switch g.IntN(6) {
	case 0:
	case 1:
		d = append(d, bson.E{"flat", bson.A{g.pair(), g.pair()}})
	default:
		d = append(d, bson.E{"flat", g.pair()})
	}
	if g.chance(30) {
		d = append(d[:0], bson.E{pick(g, []string{"loc", "flat"}), pick(g, noPlaces)})
	}
	return d
}

// noPlaces are values that the indexes of all variants refuse.
var noPlaces = []any{
	"nowhere", int32(5),
	geoJSON("Point", bson.A{200.0, 0.0}),
	geoJSON("Polygon", bson.A{bson.A{bson.A{0.0, 0.0}, bson.A{0.0, 1.0}, bson.A{1.0, 1.0}}}),
	bson.A{200, 1},
	geoJSON("Pint", bson.A{1.0, 1.0}),
}

// move returns an update that no document refuses.
func (g *gen) move() bson.D {
	switch g.IntN(5) {
	case 0:
		return bson.D{{"$unset", bson.D{{pick(g, []string{"loc", "in", "list", "flat"}), ""}}}}
	case 1:
		return bson.D{{"$set", bson.D{{"in", bson.D{{"at", g.point()}}}}}}
	case 2:
		return bson.D{{"$set", bson.D{{"flat", g.pair()}}}}
	case 3:
		at := bson.D{{"at", g.point()}}
		return bson.D{{
			"$push",
			bson.D{{"list", bson.D{{"$each", bson.A{at}}, {"$slice", -3}}}},
		}}
	default:
		return bson.D{{"$set", bson.D{{"loc", g.place()}}}}
	}
}

// misplace returns an update that an index refuses, if the update finds its document.
func (g *gen) misplace() bson.D {
	u := bson.D{{"$set", bson.D{{pick(g, []string{"loc", "flat"}), pick(g, noPlaces)}}}}
	return update(bson.D{{"q", bson.D{{"_id", g.id()}}}, {"u", u}})
}

// placePredicate returns a predicate on a region, with or without an index.
func (g *gen) placePredicate() bson.D {
	path := pick(g, []string{"loc", "loc", "loc", "in.at", "list.at", "flat", "flat"})
	out := bson.D{{path, g.region(path == "flat")}}
	if g.chance(3) {
		out = append(out, bson.E{pick(g, []string{"b", "c", "arr", "n", "list.b"}), g.small()})
	}
	return out
}

func (g *gen) region(flat bool) bson.D {
	within := func(shape string, v any) bson.D {
		return bson.D{{"$geoWithin", bson.D{{shape, v}}}}
	}
	if flat || g.chance(6) {
		switch g.IntN(3) {
		case 0:
			p := g.pair()
			return within("$box", bson.A{p, bson.A{float(p[0]) + 3, float(p[1]) + 2}})
		case 1:
			return within("$center", bson.A{g.pair(), 0.5 + float64(g.IntN(4))})
		default:
			p := g.pair()
			x, y := float(p[0]), float(p[1])
			return within("$polygon", bson.A{p, bson.A{x + 4, y}, bson.A{x + 3, y + 3}, bson.A{x, y + 2}})
		}
	}
	switch g.IntN(6) {
	case 0:
		return within("$centerSphere", bson.A{g.position(), 0.001 + 0.06*g.Float64()})
	case 1:
		return within("$geometry", geoJSON("MultiPolygon", bson.A{g.polygonRings(), g.polygonRings()}))
	case 2, 3:
		return bson.D{{"$geoIntersects", bson.D{{"$geometry", g.geometry()}}}}
	default:
		return within("$geometry", g.polygon())
	}
}

// near returns a find of the nearest documents.
func (g *gen) near() bson.D {
	path, value := g.nearby()
	near := bson.D{}
	if path == "flat" {
		near = append(near, bson.E{"$near", value})
		near = append(near, g.distances("$", 6)...)
	} else {
		value := append(bson.D{{"$geometry", value}}, g.distances("$", 700_000)...)
		near = append(near, bson.E{pick(g, []string{"$near", "$nearSphere"}), value})
	}
	cmd := bson.D{
		{"find", collName},
		{"filter", bson.D{{"$and", bson.A{g.filter(1)}}, {path, near}}},
	}
	if g.chance(2) {
		cmd = append(cmd, bson.E{"limit", 1 + g.IntN(8)})
	}
	return cmd
}

func (g *gen) nearby() (path string, point any) {
	if path = pick(g, []string{"loc", "loc", "in.at", "list.at", "flat"}); path == "flat" {
		return path, g.pair()
	}
	return path, g.point()
}

// distances returns a minimum and a maximum distance for a search, or only one of them, or neither.
func (g *gen) distances(prefix string, most float64) (out bson.D) {
	name := func(s string) string {
		if prefix == "" {
			return strings.ToLower(s[:1]) + s[1:]
		}
		return prefix + strings.ToLower(s[:1]) + s[1:]
	}
	if g.chance(2) {
		out = append(out, bson.E{name("maxDistance"), most * g.Float64()})
	}
	if g.chance(4) {
		out = append(out, bson.E{name("minDistance"), most / 4 * g.Float64()})
	}
	return out
}

func (g *gen) geoNear() bson.D {
	path, value := g.nearby()
	most := 700_000.0
	if path == "flat" {
		most = 6
	}
	stage := append(bson.D{
		{"near", value},
		{"key", path},
		{"distanceField", "far"},
		{"query", g.filter(1)},
	}, g.distances("", most)...)
	stages := bson.A{bson.D{{"$geoNear", stage}}}
	if g.chance(2) {
		stages = append(stages, bson.D{{"$limit", 1 + g.IntN(8)}})
	}
	return bson.D{
		{"aggregate", collName},
		{"pipeline", stages},
		{"cursor", bson.D{}},
	}
}
