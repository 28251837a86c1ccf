package geo

import (
	"cmp"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

const (
	// mergeGap is the rounding error of a crossing point. Two pieces of a line are joined if their
	// distance is at most mergeGap.
	mergeGap = s1.Angle(1.5e-15)
	// lostLength is the largest length of a line that may lie outside a polygon that contains the
	// line. It is 1e-10 degrees.
	lostLength = s1.Angle(1e-10) * s1.Degree
)

// clipped describes the parts of a line on one side of a polygon's boundary.
type clipped struct {
	pieces int      // how many connected parts of the line are on that side
	lost   s1.Angle // length of the longest part on the other side
}

// crossing is a point where a line crosses a boundary. at is the position of the point on an edge
// of the line, from 0 to 1.
type crossing struct {
	at    float64
	point s2.Point
}

// clip cuts a line at the boundary of a polygon. It describes the parts inside the polygon or, if
// outside is true, the parts outside.
//
// The boundary belongs to the polygon in one direction only. An edge that the line shares with the
// polygon is inside if the line has the polygon's area to its left. It is outside if the line runs
// the other way. If a line touches the boundary only in a point, it has no part inside. Crossings
// at shared vertices are counted in the same way as s2 tests whether a point is inside. So their
// number always agrees with the two ends of the line. The result is not valid if the operation was
// interrupted.
func clip(polygon *s2.Polygon, line *polyline, outside bool, w *interrupt.Watch) clipped {
	if !outside && !polygon.RectBound().Intersects(line.RectBound()) {
		w.Stopped(segmentWork)
		return clipped{lost: s1.InfAngle()}
	}
	if w.Stopped(polygon.NumEdges() * segmentWork) {
		return clipped{}
	}
	tree := newEdgeTree(polygon)
	var out clipped
	var last s2.Point // end of the last piece
	var cuts []crossing
	var near []s2.Edge
	inside := areaContains(polygon, line.Polyline[0]) != outside
	for i := range line.NumEdges() {
		if w.Stopped(edgeWork) {
			break
		}
		edge := line.Edge(i)
		around := solidAround(edge)
		near = tree.appendNear(near[:0], 1, &around)
		if w.Stopped(len(near) * interrupt.Step) {
			break
		}
		cuts = appendCrossings(cuts[:0], edge, near)
		if inside {
			cuts = append(cuts, crossing{0, edge.V0})
		}
		if inside = len(cuts)%2 == 1; inside {
			cuts = append(cuts, crossing{1, edge.V1})
		}
		slices.SortFunc(cuts, compareCrossings)
		end := edge.V0
		for c := 0; c < len(cuts); c += 2 {
			from, to := cuts[c], cuts[c+1]
			if from == to {
				continue
			}
			out.lost = max(out.lost, end.Distance(from.point))
			if out.pieces == 0 || last.Distance(from.point) > mergeGap {
				out.pieces++
			}
			end = to.point
			last = to.point
		}
		out.lost = max(out.lost, end.Distance(edge.V1))
	}
	return out
}

// appendCrossings appends the points where one edge of a line crosses edges of a polygon. An edge
// that both share is counted at both ends.
func appendCrossings(to []crossing, edge s2.Edge, others []s2.Edge) []crossing {
	for _, other := range others {
		switch sign := crossingSign(edge, other); {
		case sign == s2.DoNotCross:
		case sign == s2.Cross:
			x := crossingPoint(edge, other)
			to = append(to, crossing{s2.DistanceFraction(x, edge.V0, edge.V1), x})
		case !vertexCrossing(edge, other):
		case edge.V0 == other.V0 || edge.V0 == other.V1:
			to = append(to, crossing{0, edge.V0})
		default:
			to = append(to, crossing{1, edge.V1})
		}
	}
	return to
}

func compareCrossings(a, b crossing) int {
	return cmp.Or(cmp.Compare(a.at, b.at), a.point.Cmp(b.point.Vector))
}
