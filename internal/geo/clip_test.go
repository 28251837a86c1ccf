package geo

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
)

func region(t testing.TB, text string) *Region {
	t.Helper()
	r, err := ParseRegion("$geometry", bsonxtest.ParseValue(t, text), nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func lineOf(places ...string) string {
	return `{"type":"LineString","coordinates":[` + strings.Join(places, ",") + `]}`
}

// TestSharedEdge requires that an edge belongs to a polygon only in the direction with the area to
// its left. It must not matter in which direction the ring is written.
func TestSharedEdge(t *testing.T) {
	t.Parallel()
	a, b, c := "[40,5]", "[41,6]", "[40,6]" // counterclockwise
	for _, ring := range [][]string{{a, b, c, a}, {a, c, b, a}} {
		r := region(t, `{"type":"Polygon","coordinates":[[`+strings.Join(ring, ",")+`]]}`)
		for _, line := range []struct {
			text string
			want bool
		}{
			{lineOf(a, b), true},
			{lineOf(b, c), true},
			{lineOf(c, a), true},
			{lineOf(b, a), false},
			{lineOf(c, b), false},
			{lineOf(a, c), false},
			{lineOf(a, "[39,4]"), false},
			{lineOf("[39,4]", a), false},
			{lineOf(a, b, c, a), true},
			{lineOf(a, c, b, a), false},
		} {
			g := geometry(t, line.text)
			if got := r.Intersects(g); got != line.want {
				t.Errorf("%v intersects %s: %v", ring, line.text, got)
			}
			if got := r.Contains(g); got != line.want {
				t.Errorf("%v contains %s: %v", ring, line.text, got)
			}
		}
	}
}

// drawPlaces draws corners of a small lattice, so that geometries often share edges and vertices.
func drawPlaces(t *rapid.T, least, most int) []string {
	place := rapid.Custom(func(t *rapid.T) string {
		return fmt.Sprintf("[%d,%d]", rapid.IntRange(0, 3).Draw(t, "x"), rapid.IntRange(4, 7).Draw(t, "y"))
	})
	return rapid.SliceOfNDistinct(place, least, most, rapid.ID[string]).Draw(t, "places")
}

// drawGeometry draws a line, a polygon or a point. It returns false if the ring crosses itself.
func drawGeometry(t *rapid.T) (text string, g Geometry, ok bool) {
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		text = `{"type":"Point","coordinates":` + drawPlaces(t, 1, 1)[0] + `}`
	case 1:
		text = lineOf(drawPlaces(t, 2, 4)...)
	default:
		ring := drawPlaces(t, 3, 5)
		text = `{"type":"Polygon","coordinates":[[` + strings.Join(append(ring, ring[0]), ",") + `]]}`
	}
	err := g.ParseStored(bsonxtest.ParseValue(t, text), nil)
	return text, g, err == nil
}

// TestWithinIntersects requires that a geometry within a region also intersects the region. It also
// requires that intersecting does not depend on the order of the two.
func TestWithinIntersects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, g, ok := drawGeometry(t)
		other, h, ok2 := drawGeometry(t)
		if !ok || !ok2 {
			t.Skip("a ring crosses itself")
		}
		r, err := ParseRegion("$geometry", bsonxtest.ParseValue(t, text), nil)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseRegion("$geometry", bsonxtest.ParseValue(t, other), nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.HasArea() && r.Contains(&h) && !r.Intersects(&h) {
			t.Fatalf("%s contains %s and does not intersect it", text, other)
		}
		if r.Intersects(&h) != s.Intersects(&g) {
			t.Fatalf("%s intersects %s: %v, the other way %v", text, other, r.Intersects(&h), s.Intersects(&g))
		}
	})
}

// TestReversedLine requires that the direction of a line matters only on a shared edge. The polygon
// contains that edge in exactly one direction.
func TestReversedLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ring := drawPlaces(t, 3, 5)
		text := `{"type":"Polygon","coordinates":[[` + strings.Join(append(ring, ring[0]), ",") + `]]}`
		r, err := ParseRegion("$geometry", bsonxtest.ParseValue(t, text), nil)
		if err != nil {
			t.Skip("a ring crosses itself")
		}
		ends := drawPlaces(t, 2, 2)
		var there, back Geometry
		if there.ParseStored(bsonxtest.ParseValue(t, lineOf(ends[0], ends[1])), nil) != nil ||
			back.ParseStored(bsonxtest.ParseValue(t, lineOf(ends[1], ends[0])), nil) != nil {
			t.Fatal("no line")
		}
		shared := false
		for i := range len(ring) {
			a, b := ring[i], ring[(i+1)%len(ring)]
			shared = shared || a == ends[0] && b == ends[1] || a == ends[1] && b == ends[0]
		}
		if differ := r.Intersects(&there) != r.Intersects(&back); differ != shared {
			t.Fatalf("%s and the line %v: the directions differ: %v, a shared edge: %v", text, ends, differ, shared)
		}
	})
}
