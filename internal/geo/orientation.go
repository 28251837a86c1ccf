package geo

import (
	"cmp"

	"github.com/golang/geo/r3"
	"github.com/golang/geo/s2"
)

// orientation returns 1 if three points of the sphere are counterclockwise, -1 if they are
// clockwise, and 0 if two of them are equal. If three different points lie on one great circle,
// rounding decides. The steps are in the same order as in the s2 library of 2011. So lines and
// polygons with edges on a meridian or on the equator compare as in MongoDB.
func orientation(a, b, c s2.Point) int {
	const certain = 1.6e-15 // larger than the rounding error of the determinant
	switch det := a.Cross(b.Vector).Dot(c.Vector); {
	case det > certain:
		return 1
	case det < -certain:
		return -1
	case a == b || b == c || c == a:
		return 0
	}
	if s := cmp.Compare(stableDeterminant(a, b, c), 0); s != 0 {
		return s
	}
	return perturbed(a, b, c)
}

// stableDeterminant computes the determinant of three points that are close to one great circle. It
// uses the two shorter sides of the triangle. Two points also count as close if they are almost
// opposite to each other.
func stableDeterminant(a, b, c s2.Point) float64 {
	ab, bc, ca := side(a, b).Norm2(), side(b, c).Norm2(), side(c, a).Norm2()
	isShorter := func(side, other float64, p, q s2.Point) bool {
		return side < other || side == other && p.Cmp(q.Vector) < 0
	}
	switch aLower := isShorter(ca, bc, a, b); {
	case aLower && isShorter(ab, bc, a, c):
	case !aLower && isShorter(ab, ca, b, c):
		a, b, c = b, c, a
	default:
		a, b, c = c, a, b
	}
	return side(a, b).Cross(side(c, a)).Dot(a.Vector) * towards(a, b)
}

// towards returns the factor by which q is added to p, so that the result is the shorter of their
// sum and difference.
func towards(p, q s2.Point) float64 {
	if p.Dot(q.Vector) > 0 {
		return -1
	}
	return 1
}

func side(p, q s2.Point) r3.Vector { return p.Add(q.Mul(towards(p, q))) }

// perturbed returns the orientation of three points whose plane contains the center of the sphere.
// It acts as if all points were moved by the same tiny distance. So the result is their order
// around the center in one of the three coordinate planes.
func perturbed(a, b, c s2.Point) int {
	return cmp.Or(
		flatOrder(flatPoint{a.Y, a.Z}, flatPoint{b.Y, b.Z}, flatPoint{c.Y, c.Z}),
		flatOrder(flatPoint{a.Z, a.X}, flatPoint{b.Z, b.X}, flatPoint{c.Z, c.X}),
		flatOrder(flatPoint{a.X, a.Y}, flatPoint{b.X, b.Y}, flatPoint{c.X, c.Y}),
	)
}

// flatOrder returns 1 if three points of a plane are counterclockwise around the origin, and -1
// otherwise.
func flatOrder(a, b, c flatPoint) int {
	return cmp.Compare(flatTurn(a, b)+flatTurn(b, c)+flatTurn(c, a), 0)
}

// flatTurn returns 1 if b is counterclockwise from a around the origin, and -1 if it is clockwise.
// For precision, it multiplies the smaller point with the sum or difference of both.
func flatTurn(a, b flatPoint) int {
	factor := 1.0
	if a.dot(b) > 0 {
		factor = -1
	}
	side := flatPoint{a.x + factor*b.x, a.y + factor*b.y}
	aa, bb := a.dot(a), b.dot(b)
	if aa < bb || aa == bb && (a.x < b.x || a.x == b.x && a.y < b.y) {
		return cmp.Compare(a.cross(side)*factor, 0)
	}
	return cmp.Compare(side.cross(b), 0)
}

func (p flatPoint) dot(q flatPoint) float64 { return float64(p.x*q.x) + float64(p.y*q.y) }

func (p flatPoint) cross(q flatPoint) float64 { return float64(p.x*q.y) - float64(p.y*q.x) }

// inOrder reports whether a, b and c follow each other counterclockwise around o. b may be equal to
// a or c.
func inOrder(a, b, c, o s2.Point) bool {
	n := 0
	if orientation(b, o, a) >= 0 {
		n++
	}
	if orientation(c, o, b) >= 0 {
		n++
	}
	if orientation(a, o, c) > 0 {
		n++
	}
	return n >= 2
}

// crossingSign tells whether the inner parts of two edges cross. It returns s2.MaybeCross if they
// share a vertex.
func crossingSign(e, f s2.Edge) s2.Crossing {
	v0 := orientation(e.V0, e.V1, f.V0)
	v1 := orientation(e.V0, e.V1, f.V1)
	switch {
	case v0 == v1 && v0 != 0:
		return s2.DoNotCross
	case v0 == 0 || v1 == 0:
		return s2.MaybeCross
	case orientation(f.V0, f.V1, e.V1) != v0 || orientation(f.V0, f.V1, e.V0) != v1:
		return s2.DoNotCross
	default:
		return s2.Cross
	}
}

// vertexCrossing reports whether two edges that share a vertex cross there. They cross if e comes
// after f, counterclockwise from a fixed direction. So the number of crossings between a line and a
// ring tells whether the line ends on the side where it began.
func vertexCrossing(e, f s2.Edge) bool {
	switch {
	case e.V0 == f.V1:
		return inOrder(s2.Ortho(e.V0), f.V0, e.V1, e.V0)
	case e.V1 == f.V0:
		return inOrder(s2.Ortho(e.V1), f.V1, e.V0, e.V1)
	case e.V0 == f.V0:
		return inOrder(s2.Ortho(e.V0), f.V1, e.V1, e.V0)
	default:
		return inOrder(s2.Ortho(e.V1), f.V0, e.V0, e.V1)
	}
}

func crosses(e, f s2.Edge) bool {
	sign := crossingSign(e, f)
	return sign == s2.Cross || sign == s2.MaybeCross && e.V0 != e.V1 && vertexCrossing(e, f)
}

// crossingPoint returns the point where the inner parts of two edges cross. If the edges are almost
// parallel, rounding can move this point off one of them. Then crossingPoint returns the nearest
// vertex that lies on both.
func crossingPoint(e, f s2.Edge) s2.Point {
	normalE, normalF := normal(e.V0, e.V1), normal(f.V0, f.V1)
	x := normal(normalE, normalF)
	if x.Dot(e.V0.Add(e.V1.Vector).Add(f.V0.Add(f.V1.Vector))) < 0 {
		x = s2.Point{Vector: x.Mul(-1)}
	}
	onE := func(p s2.Point) bool { return inOrder(e.V0, p, e.V1, normalE) }
	onF := func(p s2.Point) bool { return inOrder(f.V0, p, f.V1, normalF) }
	if onE(x) && onF(x) {
		return x
	}
	nearest, least := x, 10.0
	for i, v := range [4]s2.Point{e.V0, e.V1, f.V0, f.V1} {
		if i < 2 && !onF(v) || i >= 2 && !onE(v) {
			continue
		}
		d := x.Sub(v.Vector).Norm2()
		if d < least || d == least && v.Cmp(nearest.Vector) < 0 {
			nearest, least = v, d
		}
	}
	return nearest
}

// normal returns the unit vector that is orthogonal to two points, which may be close to each
// other.
func normal(a, b s2.Point) s2.Point {
	n := b.Add(a.Vector).Cross(b.Sub(a.Vector))
	if n == (r3.Vector{}) {
		return s2.Point{Vector: s2.Ortho(a).Normalize()}
	}
	return s2.Point{Vector: n.Normalize()}
}

// areaContains reports whether a polygon contains a point. It counts the edges between p and a
// fixed point. s2 knows whether that point is inside.
func areaContains(polygon *s2.Polygon, p s2.Point) bool {
	inside := false
	path := s2.Edge{V0: s2.OriginPoint(), V1: p}
	for _, ring := range polygon.Loops() {
		if !ring.RectBound().ContainsPoint(p) {
			continue
		}
		inside = inside != ring.ContainsOrigin()
		for i := range ring.NumEdges() {
			inside = inside != crosses(path, ring.Edge(i))
		}
	}
	return inside
}
