package plan_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/geo"
)

// genPlace returns a longitude and latitude: either one of a few, so that geometries meet, or any.
func genPlace(t *rapid.T, where float64) bsonx.Value {
	if rapid.Bool().Draw(t, "on the grid") {
		return bsonx.NewArray(rapid.IntRange(-5, 5).Draw(t, "lng"), rapid.IntRange(-5, 5).Draw(t, "lat"))
	}
	lng := rapid.Float64Range(-where, where).Draw(t, "lng")
	lat := rapid.Float64Range(-min(where, 90), min(where, 90)).Draw(t, "lat")
	return bsonx.NewArray(lng, lat)
}

func geoJSON(kind string, coordinates bsonx.Value) bsonx.Value {
	return bsonx.Document(bsonx.NewDoc("type", kind, "coordinates", coordinates))
}

// genSquare returns the ring of a square.
func genSquare(t *rapid.T) bsonx.Value {
	x, y, d := rapid.IntRange(-8, 5).Draw(t, "x"), rapid.IntRange(-8, 5).Draw(t, "y"),
		rapid.IntRange(1, 6).Draw(t, "size")
	corner := func(x, y int) bsonx.Value { return bsonx.NewArray(x, y) }
	return bsonx.NewArray(corner(x, y), corner(x+d, y), corner(x+d, y+d), corner(x, y+d), corner(x, y))
}

// genGeometry returns a value for a field with a 2dsphere index.
func genGeometry(t *rapid.T) bsonx.Value {
	switch rapid.IntRange(0, 9).Draw(t, "geometry") {
	case 0:
		return geoJSON("LineString", bsonx.NewArray(genPlace(t, 60), bsonx.NewArray(7, 7.5)))
	case 1, 2:
		return geoJSON("Polygon", bsonx.NewArray(genSquare(t)))
	case 3:
		return geoJSON("MultiPoint", bsonx.NewArray(genPlace(t, 180), genPlace(t, 10)))
	case 4:
		return genPlace(t, 180)
	case 5:
		return bsonx.Null
	default:
		return geoJSON("Point", genPlace(t, 180))
	}
}

// genPairs returns a value for a field with a 2d index.
func genPairs(t *rapid.T) bsonx.Value {
	switch rapid.IntRange(0, 5).Draw(t, "pairs") {
	case 0:
		return bsonx.NewArray(genPlace(t, 180), genPlace(t, 10))
	case 1:
		return bsonx.Document(bsonx.NewDoc("lng", rapid.Float64Range(-180, 180).Draw(t, "x"), "lat",
			rapid.IntRange(-90, 90).Draw(t, "y")))
	case 2:
		return bsonx.NewArray()
	default:
		return genPlace(t, 180)
	}
}

func genRegion(t *rapid.T) bsonx.Doc {
	shape := func(pairs ...any) bsonx.Doc { return bsonx.NewDoc(pairs...) }
	switch rapid.IntRange(0, 6).Draw(t, "region") {
	case 0:
		return shape("$geoIntersects", shape("$geometry", geoJSON("Polygon", bsonx.NewArray(genSquare(t)))))
	case 1:
		return shape("$geoIntersects",
			shape("$geometry", geoJSON("LineString", bsonx.NewArray(genPlace(t, 20), bsonx.NewArray(9.5, -3)))))
	case 2:
		return shape("$geoWithin", shape("$geometry", geoJSON("Polygon", bsonx.NewArray(genSquare(t)))))
	case 3:
		return shape("$geoWithin", shape("$box", bsonx.NewArray(genPlace(t, 180), genPlace(t, 180))))
	case 4:
		return shape("$geoWithin",
			shape("$center", bsonx.NewArray(genPlace(t, 30), rapid.Float64Range(0, 40).Draw(t, "radius"))))
	case 5:
		return shape("$geoWithin", shape("$polygon", genSquare(t)))
	default:
		return shape("$geoWithin",
			shape("$centerSphere", bsonx.NewArray(genPlace(t, 180), rapid.Float64Range(0, 3.2).Draw(t, "radius"))))
	}
}

// geoCase is a collection of geometries, once with an index and once without.
type geoCase struct {
	indexed, plain *fixture
	docs           []bsonx.Doc
}

func genGeoCase(t *rapid.T, tb testing.TB, key bsonx.Doc, gen func(*rapid.T) bsonx.Value) geoCase {
	c := geoCase{indexed: newFixture(tb), plain: newFixture(tb)}
	c.indexed.index("geo", key)
	for i := range rapid.IntRange(1, 150).Draw(t, "documents") {
		d := bsonx.NewDoc("_id", i, "k", i%4, "loc", gen(t))
		if rapid.IntRange(0, 20).Draw(t, "missing") == 0 {
			d = bsonx.NewDoc("_id", i, "k", bsonx.NewArray(1, 2))
		}
		c.docs = append(c.docs, d)
	}
	c.indexed.insert(c.docs...)
	c.plain.insert(c.docs...)
	return c
}

func (c *geoCase) find(t *rapid.T, f *fixture, filter bsonx.Doc, every int) []string {
	q := f.query(`{}`)
	q.Filter = mustFilter(f.t, filter)
	docs, err := f.find(q, every)
	if err != nil {
		t.Fatalf("%s: %v", text(filter), err)
	}
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = bsonx.FormatShell(d.Lookup("_id"))
	}
	return out
}

// TestGeoBoundsLoseNothing checks that regions select the same documents with and without an index.
func TestGeoBoundsLoseNothing(t *testing.T) {
	t.Parallel()
	for _, key := range []string{
		`{"loc":"2dsphere"}`, `{"k":1,"loc":"2dsphere"}`,
		`{"loc":"2dsphere","k":-1}`, `{"loc":"2d","k":1}`,
	} {
		gen := genGeometry
		if key == `{"loc":"2d","k":1}` {
			gen = genPairs
		}
		rapid.Check(t, func(rt *rapid.T) {
			c := genGeoCase(rt, t, bsonxtest.MustParse(key), gen)
			for range 4 {
				filter := bsonx.NewDoc("loc", genRegion(rt), "k",
					bsonx.NewDoc("$lte", rapid.IntRange(0, 4).Draw(rt, "k")))
				got, want := c.find(rt, c.indexed, filter, 3), c.find(rt, c.plain, filter, 0)
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					rt.Fatalf("%s by %s: %v, without the index %v", text(filter), key, got, want)
				}
			}
		})
	}
}

// TestNearIsSortedByDistance checks that a search by distance returns every document with a
// geometry within the limits, the nearest first.
func TestNearIsSortedByDistance(t *testing.T) {
	t.Parallel()
	for _, key := range []string{`{"loc":"2dsphere"}`, `{"k":1,"loc":"2dsphere"}`, `{"loc":"2d"}`} {
		gen := genGeometry
		if key == `{"loc":"2d"}` {
			gen = genPairs
		}
		rapid.Check(t, func(rt *rapid.T) {
			c := genGeoCase(rt, t, bsonxtest.MustParse(key), gen)
			center := genPlace(rt, 180)
			low, high := rapid.Float64Range(0, 3e6).Draw(rt, "min"), rapid.Float64Range(0, 2e7).Draw(rt, "max")
			limits := bsonx.NewDoc("$geometry", geoJSON("Point", center), "$minDistance", low, "$maxDistance", high)
			near := bsonx.NewDoc("$near", limits)
			point, err := geo.ParsePoint(geoJSON("Point", center))
			if key == `{"loc":"2d"}` {
				low, high = low/1e5, high/1e5
				near = bsonx.NewDoc("$near", center, "$minDistance", low, "$maxDistance", high)
				point, err = geo.ParsePoint(center)
			}
			if err != nil {
				rt.Fatal(err)
			}
			got := c.find(rt, c.indexed, bsonx.NewDoc("loc", near, "k", bsonx.NewDoc("$gte", 1)),
				rapid.IntRange(0, 5).Draw(rt, "batch"))
			checkNearest(rt, c.docs, got, &point, low, high)
		})
	}
}

// checkNearest compares a result with the distances of all documents.
func checkNearest(t *rapid.T, docs []bsonx.Doc, got []string, center *geo.Point, low, high float64) {
	distances := map[string]float64{}
	for _, d := range docs {
		if k, ok := d.Lookup("k").AsInt64(); ok && k < 1 {
			continue
		}
		if dist, ok := distanceOf(d.Lookup("loc"), center); ok && dist >= low && dist <= high {
			distances[bsonx.FormatShell(d.Lookup("_id"))] = dist
		}
	}
	last := math.Inf(-1)
	for _, id := range got {
		dist, ok := distances[id]
		if !ok || dist < last {
			t.Fatalf("document %s at %v (%v) comes behind %v: %v", id, dist, ok, last, got)
		}
		last = dist
	}
	if len(got) != len(distances) {
		t.Fatalf("%d documents, want %d: %v", len(got), len(distances), fmt.Sprint(distances))
	}
}

func distanceOf(v bsonx.Value, center *geo.Point) (best float64, found bool) {
	places := []bsonx.Value{v}
	if v.Type == bsonx.TypeArray {
		places = append(places, v.Doc().Values()...)
	}
	for _, v := range places {
		var g geo.Geometry
		if g.ParseStored(v, nil) != nil {
			continue
		}
		if d, ok := g.Distance(center); ok && (!found || d < best) {
			best, found = d, true
		}
	}
	return best, found
}
