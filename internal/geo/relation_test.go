package geo

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/golang/geo/s2"
	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/interrupt/interrupttest"
)

// polygons generates polygons whose vertices are on a coarse grid, so that two of them often share
// vertices and edges. A polygon may have a hole.
func polygons() *rapid.Generator[*s2.Polygon] {
	return rapid.Custom(drawPolygon).Filter(func(p *s2.Polygon) bool { return p != nil })
}

// drawPolygon returns nil if the drawn vertices do not form a loop.
func drawPolygon(t *rapid.T) *s2.Polygon {
	x, y := float64(rapid.IntRange(0, 6).Draw(t, "x")), float64(rapid.IntRange(0, 6).Draw(t, "y"))
	ring := func(n int, least, most int) *s2.Loop {
		var vertices []s2.Point
		for i := range n {
			angle := 2 * math.Pi * float64(i) / float64(n)
			radius := float64(rapid.IntRange(least, most).Draw(t, "radius"))
			v := pointOf(x+math.Round(radius*math.Cos(angle)), y+math.Round(radius*math.Sin(angle)))
			if len(vertices) == 0 || vertices[len(vertices)-1] != v {
				vertices = append(vertices, v)
			}
		}
		if len(vertices) > 1 && vertices[0] == vertices[len(vertices)-1] {
			vertices = vertices[1:]
		}
		if len(vertices) < 3 || checkRing(vertices, &interrupt.Watch{}) != nil {
			return nil
		}
		return newLoop(vertices)
	}
	shell := ring(rapid.IntRange(3, 8).Draw(t, "corners"), 3, 6)
	if shell == nil {
		return nil
	}
	loops := []*s2.Loop{shell}
	if rapid.IntRange(0, 3).Draw(t, "hole") == 0 {
		if hole := ring(4, 1, 1); hole != nil && shell.Contains(hole) {
			loops = append(loops, hole)
		}
	}
	return s2.PolygonFromLoops(loops)
}

// TestPolygonsByEdges compares large polygons, and requires the same results as s2.
func TestPolygonsByEdges(t *testing.T) {
	t.Parallel()
	counts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		a, b := polygons().Draw(t, "a"), polygons().Draw(t, "b")
		if rapid.IntRange(0, 5).Draw(t, "same") == 0 {
			b = a
		}
		contains, intersects := a.Contains(b), a.Intersects(b)
		counts[fmt.Sprint(contains, intersects)]++
		if got := containsByEdges(a, b, &interrupt.Watch{}); got != contains {
			t.Errorf("contains: %v, s2 says %v", got, contains)
		}
		if got := intersectsByEdges(a, b, &interrupt.Watch{}); got != intersects {
			t.Errorf("intersects: %v, s2 says %v", got, intersects)
		}
	})
	if len(counts) < 3 && !testing.Short() { // the short form draws 20 pairs
		t.Errorf("the polygons were too alike: %v", counts)
	}
}

// TestManyPolygonsLook compares a line and many polygons with many polygons that lie in the box
// around them. The comparison must check for interruption.
func TestManyPolygonsLook(t *testing.T) {
	t.Parallel()
	const many = 1000
	var line, areas strings.Builder
	for i := range many {
		x, y := float64(i%50), float64(i/50)
		fmt.Fprintf(&line, ",[%v,%v]", x, 40*float64(i%2))
		fmt.Fprintf(&areas, ",[[[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]", x, y, x+.5, y, x+.25, y+.5, x, y)
	}
	polygons := `{"type":"MultiPolygon","coordinates":[` + areas.String()[1:] + `]}`
	region, err := ParseRegion("$geometry", bsonxtest.ParseValue(t, polygons), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"line": `{"type":"LineString","coordinates":[` + line.String()[1:] + `]}`, "polygons": polygons,
	} {
		op, r := interrupttest.New(t.Context()), &interrupt.Running{}
		r.Set(op)
		if err := asked(bsonxtest.ParseValue(t, text), r, func(g *Geometry) { region.Contains(g) }); err != nil {
			t.Fatal(err)
		}
		if op.Looks < many/20 {
			t.Errorf("%s: %d looks at the operation, want %d", name, op.Looks, many/20)
		}
	}
}

// BenchmarkPolygonWithin compares a polygon of 10,000 vertices with a polygon of 50,000 vertices
// that contains it.
func BenchmarkPolygonWithin(b *testing.B) {
	polygon := func(n int, lo, hi, top float64) string {
		var s strings.Builder
		fmt.Fprintf(&s, "[%v,%v],[%v,%v]", lo, -1+lo/10, hi, -1+lo/10)
		for i := range n {
			fmt.Fprintf(&s, ",[%v,%v]", hi-(hi-lo)*float64(i)/float64(n), top+float64(i%7)/1e4)
		}
		fmt.Fprintf(&s, ",[%v,%v]", lo, -1+lo/10)
		return `{"type":"Polygon","coordinates":[[` + s.String() + `]]}`
	}
	region, err := ParseRegion("$geometry", bsonxtest.ParseValue(b, polygon(50_000, 0, 100, 20)), nil)
	if err != nil {
		b.Fatal(err)
	}
	var r interrupt.Running
	r.Set(context.Background())
	var g Geometry
	if err := g.ParseStored(bsonxtest.ParseValue(b, polygon(10_000, 1, 99, 19.999)), &r); err != nil {
		b.Fatal(err)
	}
	b.Run("edges", func(b *testing.B) {
		for b.Loop() {
			region.Contains(&g)
		}
	})
	b.Run("s2", func(b *testing.B) {
		for b.Loop() {
			region.geometry.polygons[0].Contains(g.polygons[0])
		}
	})
}
