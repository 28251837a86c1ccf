package geo

import (
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

// smallEdges is the largest number of edges that two polygons may have together to be compared by
// s2. s2 does not check for interruption, and needs quadratic time if edges are long or close to
// each other.
const smallEdges = 1000

// polygonContains reports whether polygon a contains polygon b, as s2's Polygon.Contains does. The
// result is not valid if the operation was interrupted.
func polygonContains(a, b *s2.Polygon, w *interrupt.Watch) bool {
	if w.Stopped(segmentWork) {
		return false
	}
	if a.NumEdges()+b.NumEdges() <= smallEdges {
		w.Stopped((a.NumEdges() + b.NumEdges()) * segmentWork)
		return a.Contains(b)
	}
	return containsByEdges(a, b, w)
}

func containsByEdges(a, b *s2.Polygon, w *interrupt.Watch) bool {
	if !a.RectBound().Intersects(b.RectBound()) {
		return false
	}
	wrong := func(a0, ab, a2, b0, b2 s2.Point) bool { return !s2.WedgeContains(a0, ab, a2, b0, b2) }
	switch m := boundaries(a, b, wrong, w); {
	case m.cross || w.Ended() != nil:
		return false
	case m.unknown:
		return a.Contains(b)
	case m.touch:
		return true
	default:
		return everyLoop(b, a, true) && everyLoop(a, b, false)
	}
}

// polygonIntersects reports whether two polygons overlap, as s2's Polygon.Intersects does. The
// result is not valid if the operation was interrupted.
func polygonIntersects(a, b *s2.Polygon, w *interrupt.Watch) bool {
	if w.Stopped(segmentWork) {
		return false
	}
	if a.NumEdges()+b.NumEdges() <= smallEdges {
		w.Stopped((a.NumEdges() + b.NumEdges()) * segmentWork)
		return a.Intersects(b)
	}
	return intersectsByEdges(a, b, w)
}

func intersectsByEdges(a, b *s2.Polygon, w *interrupt.Watch) bool {
	if !a.RectBound().Intersects(b.RectBound()) {
		return false
	}
	switch m := boundaries(a, b, s2.WedgeIntersects, w); {
	case m.cross || w.Ended() != nil:
		return true
	case m.unknown:
		return a.Intersects(b)
	case m.touch:
		return false
	default:
		return !everyLoop(b, a, false) || !everyLoop(a, b, false)
	}
}

// meeting describes how the boundaries of two polygons meet.
type meeting struct {
	cross   bool // two edges cross, or wrong returned true for a shared vertex
	touch   bool // the boundaries share a vertex, and nothing crosses
	unknown bool // the boundaries share a vertex, and a polygon has several loops, so only s2 can decide
}

// boundaries compares the boundaries of two polygons edge by edge. For each shared vertex, it calls
// wrong with the vertex and its neighbours in both polygons. wrong reports whether the polygons
// violate the caller's condition at this vertex, as s2 tests wedges.
func boundaries(a, b *s2.Polygon, wrong func(a0, ab, a2, b0, b2 s2.Point) bool, w *interrupt.Watch) (m meeting) {
	if w.Stopped(a.NumEdges() * segmentWork) {
		return m
	}
	at := verticesOf(a)
	tree := newEdgeTree(a)
	var near []s2.Edge
	for _, loop := range b.Loops() {
		n := loop.NumVertices()
		for i := range n {
			v := loop.Vertex(i)
			if here, shared := at[v]; shared {
				m.touch = true
				single := a.NumLoops() == 1 && b.NumLoops() == 1
				m.unknown = m.unknown || !single
				of := here.loop
				if single && wrong(of.Vertex(here.i+of.NumVertices()-1), v, of.Vertex(here.i+1),
					loop.Vertex(i+n-1), loop.Vertex(i+1)) {
					m.cross = true
					return m
				}
			}
			edge := s2.Edge{V0: v, V1: loop.Vertex(i + 1)}
			around := solidAround(edge)
			near = tree.appendNear(near[:0], 1, &around)
			if w.Stopped(edgeWork + len(near)*interrupt.Step) {
				return m
			}
			for _, other := range near {
				if crossingSign(edge, other) == s2.Cross {
					m.cross = true
					return m
				}
			}
		}
	}
	return m
}

// vertex identifies a vertex of a polygon.
type vertex struct {
	loop *s2.Loop
	i    int
}

func verticesOf(p *s2.Polygon) map[s2.Point]vertex {
	out := make(map[s2.Point]vertex, p.NumEdges())
	for _, loop := range p.Loops() {
		for i := range loop.NumVertices() {
			out[loop.Vertex(i)] = vertex{loop, i}
		}
	}
	return out
}

// everyLoop reports whether all loops of a polygon lie inside the other polygon or, if inside is
// false, outside of it. It tests only the first vertex of each loop.
func everyLoop(of, other *s2.Polygon, inside bool) bool {
	for _, loop := range of.Loops() {
		if other.ContainsPoint(loop.Vertex(0)) != inside {
			return false
		}
	}
	return true
}
