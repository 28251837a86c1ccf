package geo

import (
	"math"
	"slices"
	"testing"

	"github.com/golang/geo/s2"
	"pgregory.net/rapid"
)

// drawPoint draws a point of a lattice in which many places lie on the same great circle.
func drawPoint(t *rapid.T) s2.Point {
	tenths := rapid.IntRange(-3, 3)
	return pointOf(float64(tenths.Draw(t, "lng"))/10+90, float64(tenths.Draw(t, "lat"))/10)
}

func drawEdges(t *rapid.T) *s2.Polyline {
	points := rapid.Custom(func(t *rapid.T) s2.Point {
		if rapid.Bool().Draw(t, "lattice") {
			return drawPoint(t)
		}
		return pointOf(rapid.Float64Range(-179, 179).Draw(t, "lng"), rapid.Float64Range(-89, 89).Draw(t, "lat"))
	})
	line := s2.Polyline(slices.Compact(rapid.SliceOfN(points, 2, 40).Draw(t, "points")))
	return &line
}

// TestOrientation requires that the orientation of three points does not depend on which one is
// first, and that it changes sign in reverse order. It must be exact if the points do not lie on
// one great circle.
func TestOrientation(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawPoint(t), drawPoint(t), drawPoint(t)
		got := orientation(a, b, c)
		if orientation(b, c, a) != got || orientation(c, b, a) != -got {
			t.Fatalf("%v %v %v: %d, next %d, reversed %d", a, b, c, got, orientation(b, c, a), orientation(c, b, a))
		}
		if equal := a == b || b == c || c == a; equal != (got == 0) {
			t.Fatalf("%v %v %v: %d", a, b, c, got)
		}
		det := a.Cross(b.Vector).Dot(c.Vector)
		if exact := int(s2.RobustSign(a, b, c)); math.Abs(det) > 1e-12 && exact != got {
			t.Fatalf("%v %v %v: %d, exactly %d", a, b, c, got, exact)
		}
	})
}

// TestEdgeTree requires that the tree finds every edge that crosses another edge or shares a vertex
// with it.
func TestEdgeTree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line, other := drawEdges(t), drawEdges(t)
		if line.NumEdges() < 1 {
			t.Skip("no edge")
		}
		tree := newEdgeTree(line)
		for i := range other.NumEdges() {
			edge := other.Edge(i)
			around := solidAround(edge)
			near := tree.appendNear(nil, 1, &around)
			for j := range line.NumEdges() {
				if crossingSign(edge, line.Edge(j)) != s2.DoNotCross && !slices.Contains(near, line.Edge(j)) {
					t.Fatalf("%v of %v is not found near %v", line.Edge(j), *line, edge)
				}
			}
		}
	})
}

// TestOnMeridian tests lines that have a vertex on an edge of a polygon along a meridian. Rounding
// decides on which side the vertex is. The expected results are from MongoDB.
func TestOnMeridian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ring, line         string
		within, intersects bool
	}{
		{"[40.1,5.3],[40.2,5],[40.2,5.3],[40.1,5.3]", "[40.2,5.2],[40.3,5.2]", false, false},
		{"[40.1,5.3],[40.2,5],[40.2,5.3],[40.1,5.3]", "[40.3,5.2],[40.2,5.2],[40.3,5.1]", false, false},
		{"[121.25,-31.75],[121.25,-32.75],[122.25,-31.75],[121.25,-31.75]", "[121.25,-30.75],[121.25,-33.75]", false, false},
		{"[46.5,45.5],[47.5,45.5],[47.5,48.5],[46.5,45.5]", "[47.5,47.5],[47.5,46.5]", true, true},
		{"[2,1],[3,0],[3,3],[2,1]", "[3,2],[3,1]", true, true},
		{"[2,1],[3,0],[3,3],[2,1]", "[3,1],[3,2]", true, true},
	} {
		r := region(t, `{"type":"Polygon","coordinates":[[`+c.ring+`]]}`)
		g := geometry(t, lineOf(c.line))
		if within, intersects := r.Contains(g), r.Intersects(g); within != c.within || intersects != c.intersects {
			t.Errorf("%s and %s: within %v, intersects %v", c.ring, c.line, within, intersects)
		}
	}
}
