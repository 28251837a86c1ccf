package geo

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/golang/geo/s2"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

func geometry(t testing.TB, text string) *Geometry {
	t.Helper()
	var g Geometry
	if err := g.ParseStored(bsonxtest.ParseValue(t, text), nil); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &g
}

// TestDistances compares distances with results that were recorded from a MongoDB server.
func TestDistances(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		want     float64
	}{
		{
			`{"type":"Point","coordinates":[-73.98,40.75]}`,
			`{"type":"Point","coordinates":[-73.97,40.76]}`, 1396.5162698283154,
		},
		{
			`{"type":"Point","coordinates":[-73.98,40.75]}`,
			`{"type":"Point","coordinates":[2.35,48.85]}`, 5839651.105286223,
		},
		{`{"type":"Point","coordinates":[1,1]}`, `{"type":"Point","coordinates":[2,1]}`, 111301.89019187003},
		{`[0,0]`, `[-6,8.5]`, 10.404326023342406},
		{`[0,0]`, `[0,-2]`, 2},
	} {
		p, err := ParsePoint(bsonxtest.ParseValue(t, c.from))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := geometry(t, c.to).Distance(&p)
		if !ok || math.Abs(got-c.want) > 1e-12*c.want {
			t.Errorf("%s to %s: %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestInvalid requires the same reasons as MongoDB.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`"here"`:                                "geo element must be an array or object",
		`[]`:                                    "Point must only contain numeric elements",
		`[1,"x"]`:                               "Point must only contain numeric elements",
		`[1,{"$numberDouble":"Infinity"}]`:      "Point coordinates must be finite numbers",
		`{}`:                                    "unknown GeoJSON type",
		`{"type":"Circle","coordinates":[1,1]}`: "unknown GeoJSON type",
		`{"type":"Point"}`:                      "Point must be an array or object",
		`{"type":"Point","coordinates":[200,10]}`:                                                                                      "Longitude/latitude is out of bounds",
		`{"type":"LineString","coordinates":[[1,1]]}`:                                                                                  "at least 2 vertices",
		`{"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]}`:                                                                       "at least 3 different vertices",
		`{"type":"Polygon","coordinates":[[[0,0],[2,2],[2,0],[0,2],[0,0]]]}`:                                                           "cross",
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0],[2,0],[2,2],[0,0]]]}`:                                               "Duplicate vertices",
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[20,20],[21,20],[21,21],[20,20]]]}`:                         "must be holes",
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[3,1],[3,3],[1,1]],[[2,1.5],[4,1],[4,3],[2,1.5]]]}`:   "Polygon",
		`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[0,0],[9,0],[5,5],[0,0]]]}`:                                 "Polygon isn't valid",
		`{"type":"MultiPolygon","coordinates":[]}`:                                                                                     "at least 1 element",
		`{"type":"MultiPoint","coordinates":[5]}`:                                                                                      "must be an array",
		`{"type":"GeometryCollection","geometries":[5]}`:                                                                               "not an object",
		`{"type":"Point","coordinates":[1,1],"crs":{"type":"name","properties":{"name":"urn:x-mongodb:crs:strictwinding:EPSG:4326"}}}`: "only supported by polygon",
	} {
		var g Geometry
		err := g.ParseStored(bsonxtest.ParseValue(t, text), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestVertexOnCellBorder tests a vertex at longitude and latitude 0, which is a corner of its leaf
// cell. A polygon must contain this point only if it overlaps that cell. The expected results are
// from MongoDB.
func TestVertexOnCellBorder(t *testing.T) {
	t.Parallel()
	g := geometry(t, `{"type":"Point","coordinates":[0,0]}`)
	const strict = `,"crs":{"type":"name","properties":{"name":"urn:x-mongodb:crs:strictwinding:EPSG:4326"}}`
	for _, crs := range []string{"", strict} {
		for ring, want := range map[string]bool{
			"[-1,-1],[0,-1],[0,0],[-1,-1]": false,
			"[0,0],[1,0],[1,1],[0,0]":      true,
		} {
			r := region(t, `{"type":"Polygon","coordinates":[[`+ring+`]]`+crs+`}`)
			if within, intersects := r.Contains(g), r.Intersects(g); within != want || intersects != want {
				t.Errorf("%s%s: within %v, intersects %v", ring, crs, within, intersects)
			}
		}
	}
}

// TestHash requires that the bits of a cell are alternately bits of the column and of the row.
func TestHash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x, y float64
		want uint64
	}{{-180, -180, 0}, {0, -180, 1 << 63}, {-180, 0, 1 << 62}, {180, 180, DefaultGrid.mask(26)}} {
		if got, err := DefaultGrid.Hash(c.x, c.y); err != nil || got != c.want {
			t.Errorf("%v, %v: %x, %v; want %x", c.x, c.y, got, err, c.want)
		}
	}
	if _, err := DefaultGrid.Hash(180.5, 0); err == nil {
		t.Error("a point outside has a cell")
	}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Uint32().Draw(t, "v")
		if gather(spread(v)) != v {
			t.Fatalf("%x", v)
		}
	})
}

// TestCellsAreNotFarther requires that a cell is not farther away than the points in the cell.
func TestCellsAreNotFarther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lng := rapid.Float64Range(-180, 180)
		lat := rapid.Float64Range(-90, 90)
		center := Point{CRS: Sphere, X: lng.Draw(t, "lng"), Y: lat.Draw(t, "lat")}
		center.ToSphere()
		flat := Point{X: center.X, Y: center.Y}
		g := Geometry{isPoint: true, point: Point{X: lng.Draw(t, "x"), Y: lat.Draw(t, "y")}}
		level := rapid.IntRange(0, 30).Draw(t, "level")
		hash, err := DefaultGrid.Hash(g.point.X, g.point.Y)
		if err != nil {
			t.Fatal(err)
		}
		level2 := min(level, DefaultGrid.Bits)
		plane := Cell{hash & DefaultGrid.mask(level2), level2}
		sphere := Cell{uint64(s2.CellFromPoint(pointOf(g.point.X, g.point.Y)).ID().Parent(level)), level}
		for _, c := range []struct {
			space  Space
			center *Point
			cell   Cell
		}{
			{Around(&center), &center, sphere},
			{DefaultGrid.Around(&flat), &flat, plane},
			{DefaultGrid.Around(&center), &center, plane},
		} {
			d, ok := g.Distance(c.center)
			if low, high := c.space.Distance(c.cell), c.space.Farthest(c.cell); !ok || d < low || d > high {
				t.Fatalf("%T: %v is not in [%v, %v]", c.space, d, low, high)
			}
		}
	})
}

// fuzzed contains the first inputs of FuzzGeometry.
var fuzzed = []string{
	`[1,2]`, `{"x":1,"y":2}`, `{"type":"Point","coordinates":[1,2]}`,
	`{"type":"LineString","coordinates":[[1,2],[3,4]]}`,
	`{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[3,1],[3,3],[1,1]]]}`,
	`{"type":"Polygon","coordinates":[[[0,0],[90,0],[180,0],[-90,0],[0,0]]]}`,
	`{"type":"Polygon","coordinates":[[[0,90],[90,90],[180,89],[0,90]]]}`,
	`{"type":"Polygon","coordinates":[[[0,0],[0,1e-12],[1e-12,0],[0,0]]]}`,
	`{"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]]],[[[0,0],[9,0],[9,9],[0,0]]]]}`,
	`{"type":"GeometryCollection","geometries":[{"type":"MultiPoint","coordinates":[[1,2]]},{"type":"MultiLineString","coordinates":[[[1,2],[3,4]]]}]}`,
	`{"type":"Polygon","crs":{"type":"name","properties":{"name":"urn:x-mongodb:crs:strictwinding:EPSG:4326"}},"coordinates":[[[0,0],[0,9],[9,9],[9,0],[0,0]]]}`,
}

// FuzzGeometry requires that every parsed geometry can be compared with everything, and can be
// covered with cells.
func FuzzGeometry(f *testing.F) {
	var fixed []*Region
	for _, text := range fuzzed {
		f.Add(text)
		r, err := ParseRegion("$geometry", bsonxtest.ParseValue(f, text), nil)
		if err != nil {
			f.Fatalf("%s: %v", text, err)
		}
		fixed = append(fixed, r)
	}
	center, err := ParsePoint(bsonxtest.ParseValue(f, fuzzed[2]))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if !json.Valid([]byte(input)) {
			return // the driver's parser never returns for some malformed texts
		}
		doc, err := bsonxtest.TryParse(`{"v":` + input + `}`)
		if err != nil {
			return
		}
		v := doc.Lookup("v")
		for _, operator := range []string{"$geometry", "$box", "$polygon", "$center", "$centerSphere"} {
			r, err := ParseRegion(operator, v, nil)
			if err != nil {
				continue
			}
			r.SphereCovering()
			DefaultGrid.Covering(r)
			for _, text := range fuzzed {
				r.Contains(geometry(t, text))
				r.Intersects(geometry(t, text))
			}
		}
		var g Geometry
		if g.ParseStored(v, nil) != nil {
			return
		}
		for _, r := range fixed {
			r.Contains(&g)
			r.Intersects(&g)
		}
		if d, ok := g.Distance(&center); ok && !(d >= 0 && d <= maxDistance*1.001) {
			t.Fatalf("%s is %v away", input, d)
		}
		cells, err := g.AppendCells(nil)
		if err == nil && len(cells) == 0 {
			t.Fatalf("%s has no cells", input)
		}
	})
}
