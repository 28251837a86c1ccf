package geo

import (
	"cmp"
	"slices"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

const (
	// mergeGap is the rounding error of a crossing point. Two pieces of a line whose distance is
	// not greater are joined.
	mergeGap = s1.Angle(1.5e-15)
	// lostLength is how much of a line may lie outside a polygon that contains it: 1e-10 degrees.
	lostLength = s1.Angle(1e-10) * s1.Degree
)

// clipped describes the parts of a line on one side of a polygon's boundary.
type clipped struct {
	pieces int      // connected parts of the line on that side
	lost   s1.Angle // length of the longest part on the other side
}

// crossing is a point where a line crosses a boundary. at is its position on the line's edge, from
// 0 to 1.
type crossing struct {
	at    float64
	point s2.Point
}

// clip cuts a line at the boundary of a polygon. It reports on the parts inside or, if outside is
// set, on the parts outside.
//
// The boundary belongs to the polygon in one direction. An edge that the line shares with the
// polygon is inside if the line runs in the polygon's direction, with the area to its left. It is
// outside if the line runs the other way. A line that touches the boundary only in a point has no
// part inside. Crossings at shared vertices are counted as in s2's test whether a point is inside,
// so that their number always agrees with the two ends of the line. If the operation has ended, the
// result has no meaning.
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
	var last s2.Point // end of the last piece, if there is one
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

// appendCrossings appends the points where an edge of a line crosses edges of a polygon. A shared
// edge counts at both ends.
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
