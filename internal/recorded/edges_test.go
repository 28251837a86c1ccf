package recorded

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

// shape is a GeoJSON geometry with a short name.
type shape struct {
	name string
	doc  bson.D
}

func geojson(kind string, coordinates any) bson.D {
	return bson.D{{"type", kind}, {"coordinates", coordinates}}
}

// lattice is a grid of places with the corner lng, lat. On a straight lattice, three places in a
// row lie on a meridian or on the equator, where rounding decides on which side of a line the third
// one is. On a bent lattice, no three places lie on a great circle.
type lattice struct {
	lng, lat float64
	straight bool
}

// at returns the coordinates of places on a lattice, each named by its column and row: "00 10 11".
func at(places string, base lattice) bson.A {
	var out bson.A
	for p := range strings.FieldsSeq(places) {
		column, row := float64(p[0]-'0'), float64(p[1]-'0')
		lng, lat := base.lng+column, base.lat+row
		if !base.straight {
			lng, lat = lng+row*row/16, lat+column*column/32
		}
		if lng > 180 {
			lng -= 360
		}
		out = append(out, bson.A{lng, lat})
	}
	return out
}

// rings are closed polygons on the lattice. Holes follow a slash.
var rings = []string{
	"00 10 11 00", "00 11 10 00", "00 01 11 00", "00 20 22 02 00", "00 02 22 20 00", "00 10 20 21 22 12 02 01 00",
	"00 20 21 11 12 00", "10 21 12 01 10", "00 30 33 03 00/11 21 22 12 11", "00 30 33 03 00/11 12 22 21 11",
	"00 30 33 03 00/00 21 12 00", "20 30 31 20", "11 21 22 12 11", "00 20 11 22 02 00", "20 22 11 20", "01 23 03 01",
}

// lines returns lines that run along edges of the polygons in both directions, touch them in
// points, or cross them.
func lines() []string {
	var out []string
	places := strings.Fields("00 10 20 30 01 11 21 02 12 22 03 33")
	for _, from := range places {
		for _, to := range places {
			if from != to {
				out = append(out, from+" "+to)
			}
		}
	}
	return append(out, "00 10 11", "11 10 00", "00 20 22 02 00", "00 02 22 20 00", "00 20 00",
		"20 00 20", "01 11 10", "10 11 01",
		"11 21 22 12 11", "11 12 22 21 11", "00 11 22 33", "33 22 11 00", "10 11 12 22", "03 00 30",
		"30 00 03", "20 11 22", "22 11 20")
}

func shapes(base lattice) []shape {
	var out []shape
	for _, ring := range rings {
		var coordinates bson.A
		for r := range strings.SplitSeq(ring, "/") {
			coordinates = append(coordinates, at(r, base))
		}
		out = append(out, shape{"polygon " + ring, geojson("Polygon", coordinates)})
		if !strings.Contains(ring, "/") {
			strict := append(geojson("Polygon", coordinates), bson.E{"crs", bson.D{
				{"type", "name"},
				{"properties", bson.D{{"name", "urn:x-mongodb:crs:strictwinding:EPSG:4326"}}},
			}})
			out = append(out, shape{"strict " + ring, strict})
		}
	}
	for _, l := range lines() {
		out = append(out, shape{"line " + l, geojson("LineString", at(l, base))})
	}
	for p := range strings.FieldsSeq("00 10 11 22 12 30 02") {
		out = append(out, shape{"point " + p, geojson("Point", at(p, base)[0])})
	}
	two := bson.A{bson.A{at(rings[0], base)}, bson.A{at(rings[2], base)}}
	return append(out, shape{"polygons", geojson("MultiPolygon", two)},
		shape{"lines", geojson("MultiLineString", bson.A{at("00 10", base), at("11 10", base)})},
		shape{"points", geojson("MultiPoint", at("00 10 21", base))},
		shape{"collection", bson.D{{"type", "GeometryCollection"}, {"geometries", bson.A{
			geojson("LineString", at("10 00", base)), geojson("Point", at("11", base)[0]),
		}}}})
}

// stored returns the shapes that can be in a document. Shapes with strict winding can be used only
// in queries.
func stored(base lattice) []shape {
	return slices.DeleteFunc(shapes(base), func(s shape) bool { return strings.HasPrefix(s.name, "strict") })
}

// isArea reports whether geometries can lie within the shape.
func (s shape) isArea() bool {
	return strings.HasPrefix(s.name, "polygon") || strings.HasPrefix(s.name, "strict")
}

// bases are lattices in an ordinary place, across the equator and the antimeridian, and near a
// pole.
var bases = map[string]lattice{
	"land": {40, 5, false}, "date": {178, -2, false}, "pole": {10, 86, false},
	"grid": {40, 5, true}, "origin": {-1, -1, true}, "south": {120.25, -33.75, true},
}

// TestSharedEdges compares all pairs of lines and polygons that share edges and vertices. An edge
// belongs to a polygon in one direction: with the area to the left. On straight lattices the
// vertices of one shape lie on the edges of others.
func TestSharedEdges(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	c := class{file: "edges.txt", explain: differentShapes, setup: func(t *testing.T, db *mongo.Database) {
		for name, base := range bases {
			var docs bson.A
			for i, s := range stored(base) {
				docs = append(docs, bson.D{{"_id", int32(i)}, {"g", s.doc}})
			}
			must(t, db, bson.D{{"insert", name}, {"documents", docs}})
			must(t, db, bson.D{{"createIndexes", name}, {"indexes", bson.A{
				bson.D{{"key", bson.D{{"g", "2dsphere"}}}, {"name", "g"}},
			}}})
		}
	}}
	for name, base := range bases {
		for _, s := range shapes(base) {
			for _, operator := range []string{"$geoIntersects", "$geoWithin"} {
				if operator == "$geoWithin" && !s.isArea() {
					continue
				}
				filter := bson.D{{
					"g",
					bson.D{{operator, bson.D{{"$geometry", s.doc}}}},
				}}
				c.cases = append(c.cases, question{
					name: fmt.Sprintf("%s %s %s", name, operator, s.name),
					ask: func(ctx context.Context, db *mongo.Database) string {
						return sameByPlan(ctx, db, name, filter)
					},
				})
			}
		}
	}
	check(t, c)
}

// sameByPlan returns the documents that a filter finds by a scan, as bits. It fails if an index
// finds other documents. The recorded server's index misses some points on a boundary, so the
// result of its scan was recorded.
func sameByPlan(ctx context.Context, db *mongo.Database, coll string, filter bson.D) string {
	byScan := found(ctx, db, coll, filter, bson.D{{"$natural", 1}})
	if *record != "" {
		return byScan
	}
	if byIndex := found(ctx, db, coll, filter, "g"); byIndex != byScan {
		return fmt.Sprintf("by index: %s; by scan: %s", byIndex, byScan)
	}
	return byScan
}

// found returns the documents that a filter finds. Each digit has the bits of four _ids.
func found(ctx context.Context, db *mongo.Database, coll string, filter bson.D, hint any) string {
	reply, failed := run(ctx, db, bson.D{
		{"find", coll},
		{"filter", filter},
		{"projection", bson.D{{"_id", 1}}},
		{"hint", hint},
		{"batchSize", 100_000},
	})
	if failed != "" {
		return failed
	}
	var digits [48]byte
	docs, _ := reply.Lookup("cursor", "firstBatch").Array().Values()
	for _, doc := range docs {
		id := doc.Document().Lookup("_id").Int32()
		digits[id/4] |= 1 << (id % 4)
	}
	var text strings.Builder
	for _, d := range digits {
		fmt.Fprintf(&text, "%x", d)
	}
	return text.String()
}

// differentShapes names the shapes for which two results of found differ.
func differentShapes(got, want string) string {
	var out []string
	for i, s := range stored(lattice{}) {
		bit := byte(1) << (i % 4)
		if g, w := digit(got, i/4), digit(want, i/4); g&bit != w&bit {
			out = append(out, s.name)
		}
	}
	return strings.Join(out, ", ")
}

func digit(text string, at int) byte {
	if at >= len(text) {
		return 0
	}
	return byte(strings.IndexByte("0123456789abcdef", text[at]))
}
