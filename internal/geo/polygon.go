package geo

import (
	"fmt"
	"slices"

	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// polyline is a line with its bounding box in longitudes and latitudes. s2 would compute the box
// from all vertices at each call.
type polyline struct {
	s2.Polyline
	bound s2.Rect
}

// RectBound returns the box around the line.
func (l *polyline) RectBound() s2.Rect { return l.bound }

// newLine makes a line from vertices. It drops repeated vertices.
func newLine(vertices []s2.Point) (*polyline, error) {
	vertices = slices.Compact(vertices)
	if len(vertices) < 2 {
		return nil, reasonf("GeoJSON LineString must have at least 2 vertices, instead got %d vertices", len(vertices))
	}
	line := s2.Polyline(vertices)
	if err := line.Validate(); err != nil {
		return nil, reasonf("GeoJSON LineString is not valid: %v", err)
	}
	return &polyline{line, line.RectBound()}, nil
}

// parseRing parses a closed ring of at least three vertices, which must be a valid loop. It returns
// the vertices without the last one, which is equal to the first.
func parseRing(v bsonx.Value, w *interrupt.Watch) ([]s2.Point, error) {
	vertices, err := parseVertices(v, w)
	if err != nil {
		return nil, err
	}
	if len(vertices) == 0 {
		return nil, reason("Loop has no vertices: " + bsonx.FormatShell(v))
	}
	if vertices[0] != vertices[len(vertices)-1] {
		return nil, reason("Loop is not closed, first vertex does not equal last vertex: " + bsonx.FormatShell(v))
	}
	vertices = slices.Compact(vertices)
	vertices = vertices[:len(vertices)-1]
	if len(vertices) < 3 {
		return nil, reason("Loop must have at least 3 different vertices: " + bsonx.FormatShell(v))
	}
	if err := checkRing(vertices, w); err != nil {
		if w.Ended() != nil {
			return nil, w.Ended()
		}
		return nil, reasonf("Loop is not valid: %s %v", bsonx.FormatShell(v), err)
	}
	return vertices, nil
}

// checkRing returns an error if s2 cannot make a loop from the vertices. This is so if vertices
// repeat, neighbours are opposite to each other, or edges cross.
func checkRing(vertices []s2.Point, w *interrupt.Watch) error {
	n := len(vertices)
	at := make(map[s2.Point]int, n)
	for i, v := range vertices {
		if w.Stopped(vertexWork) {
			return w.Ended()
		}
		if j, ok := at[v]; ok {
			return reasonf("Duplicate vertices: %d and %d", j, i)
		}
		at[v] = i
		if next := vertices[(i+1)%n]; v.Vector == next.Mul(-1) {
			return reasonf("vertices %d and %d are antipodal", i, (i+1)%n)
		}
	}
	// s2 can index any line, so a line is used to find the crossings.
	line := s2.Polyline(append(slices.Clone(vertices), vertices[0]))
	index := s2.NewShapeIndex()
	index.Add(&line)
	query := s2.NewCrossingEdgeQuery(index)
	for i := range n {
		if w.Stopped(edgeWork) {
			return w.Ended()
		}
		if crossed := query.Crossings(line[i], line[i+1], &line, s2.CrossingTypeInterior); len(crossed) > 0 {
			return reasonf("Edges %d and %d cross. Edge locations in degrees: %s and %s", i, crossed[0],
				showEdge(line, i), showEdge(line, int(crossed[0])))
		}
	}
	return nil
}

// showEdge prints the latitudes and longitudes of an edge.
func showEdge(line s2.Polyline, i int) string {
	a, b := s2.LatLngFromPoint(line[i]), s2.LatLngFromPoint(line[i+1])
	return fmt.Sprintf("[%.7f, %.7f]-[%.7f, %.7f]", a.Lat.Degrees(), a.Lng.Degrees(), b.Lat.Degrees(), b.Lng.Degrees())
}

// newLoop returns the smaller of the two areas that a ring separates.
func newLoop(vertices []s2.Point) *s2.Loop {
	loop := s2.LoopFromPoints(vertices)
	if loop.IsNormalized() {
		return loop
	}
	reversed := slices.Clone(vertices)
	slices.Reverse(reversed)
	return s2.LoopFromPoints(reversed)
}

// parsePolygon parses the rings of a polygon. The first ring is its boundary, and the others are
// holes.
func parsePolygon(v bsonx.Value, w *interrupt.Watch) (*s2.Polygon, error) {
	if v.Type != bsonx.TypeArray {
		return nil, reason("Polygon coordinates must be an array")
	}
	var loops []*s2.Loop
	for it := v.Doc().Iter(); it.Next(); {
		vertices, err := parseRing(it.Value(), w)
		if err != nil {
			return nil, err
		}
		if w.Stopped(len(vertices) * vertexWork) {
			return nil, w.Ended()
		}
		loop := newLoop(vertices)
		if len(loops) > 0 && !loops[0].Contains(loop) {
			return nil, reason("Secondary loops not contained by first exterior loop - secondary loops must be holes: " +
				bsonx.FormatShell(it.Value()))
		}
		loops = append(loops, loop)
	}
	if len(loops) == 0 {
		return nil, reason("Polygon has no loops.")
	}
	if err := checkLoops(loops, w); err != nil {
		if w.Ended() != nil {
			return nil, w.Ended()
		}
		return nil, reasonf("Polygon isn't valid: %v %s", err, bsonx.FormatShell(v))
	}
	return s2.PolygonFromLoops(slices.Clone(loops)), nil
}

// checkLoops returns an error if a hole shares an edge with another ring, crosses a ring or lies in
// another hole. A hole must not share more than one vertex with the boundary, because that would
// divide the polygon.
func checkLoops(loops []*s2.Loop, w *interrupt.Watch) error {
	if len(loops) == 1 {
		return nil
	}
	index := s2.NewShapeIndex()
	for _, l := range loops {
		index.Add(l)
	}
	edges := map[[2]s2.Point]int{}
	query := s2.NewCrossingEdgeQuery(index)
	for i, l := range loops {
		for e := range l.NumEdges() {
			if w.Stopped(edgeWork) {
				return w.Ended()
			}
			edge := l.Edge(e)
			_, same := edges[[2]s2.Point{edge.V0, edge.V1}]
			_, reversed := edges[[2]s2.Point{edge.V1, edge.V0}]
			if same || reversed {
				return reasonf("Duplicate edge in loop %d", i)
			}
			edges[[2]s2.Point{edge.V0, edge.V1}] = i
			for other, crossed := range query.CrossingsEdgeMap(edge.V0, edge.V1, s2.CrossingTypeInterior) {
				if other != s2.Shape(l) && len(crossed) > 0 {
					return reasonf("Edges of loop %d cross another loop", i)
				}
			}
		}
	}
	for i := 1; i < len(loops); i++ {
		if w.Stopped((loops[0].NumVertices() + loops[i].NumVertices()) * vertexWork) {
			return w.Ended()
		}
		if sharedVertices(loops[0], loops[i]) > 1 {
			return reasonf("Loop %d shares more than one vertex with its parent loop 0", i)
		}
		for j := 1; j < i; j++ {
			if w.Stopped(edgeWork) {
				return w.Ended()
			}
			if loops[i].Intersects(loops[j]) {
				return reasonf("Polygon interior loops cannot be nested: loops %d and %d", j, i)
			}
		}
	}
	return nil
}

func sharedVertices(a, b *s2.Loop) int {
	of := make(map[s2.Point]bool, a.NumVertices())
	for _, v := range a.Vertices() {
		of[v] = true
	}
	n := 0
	for _, v := range b.Vertices() {
		if of[v] {
			n++
		}
	}
	return n
}
