package geo

import (
	"math"
	"slices"

	"github.com/golang/geo/r3"
	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/interrupt"
)

// EarthRadius is the radius of the earth in metres that MongoDB uses.
const EarthRadius = 6378100

// nearby is larger than the size of a leaf cell, in radians. A point that is farther than this from
// a region does not touch the region.
const nearby = s1.Angle(1e-8)

// pointOf returns the point at a longitude and latitude in degrees.
func pointOf(lng, lat float64) s2.Point {
	sinTheta, cosTheta := sinCos(radians(lng))
	sinPhi, cosPhi := sinCos(radians(lat))
	return s2.Point{Vector: r3.Vector{X: cosTheta * cosPhi, Y: sinTheta * cosPhi, Z: sinPhi}}
}

// containsPoint reports whether a point lies in the region, or its leaf cell overlaps the region.
// So the boundary of a region belongs to it. The only exception is a point on the border of its
// leaf cell if the region is on the other side of that border.
func (r *Region) containsPoint(p s2.Point) bool {
	switch {
	case r.kind == regionCap:
		return capTouches(r.cap, p)
	case r.geometry.big != nil:
		return r.geometry.big.touches(p)
	}
	return slices.ContainsFunc(r.geometry.polygons, func(own *s2.Polygon) bool { return polygonTouches(own, p) })
}

func capTouches(c s2.Cap, p s2.Point) bool {
	if c.ContainsPoint(p) {
		return true
	}
	return c.Center().Distance(p) <= c.Radius()+nearby && c.IntersectsCell(s2.CellFromPoint(p))
}

func polygonTouches(polygon *s2.Polygon, p s2.Point) bool {
	if isOutside(polygon.RectBound(), s2.LatLngFromPoint(p)) {
		return false
	}
	if polygon.ContainsPoint(p) {
		return true
	}
	cell := s2.CellFromPoint(p)
	return polygon.IntersectsCell(cell) && polygon.Intersects(s2.PolygonFromCell(cell))
}

// isOutside reports whether a point is outside of a box of longitudes and latitudes by more than
// the rounding error. Near the poles it compares only the latitudes.
func isOutside(b s2.Rect, p s2.LatLng) bool {
	const margin, nearPole = 1e-7, math.Pi/2 - 1e-3
	lat := float64(p.Lat)
	if lat < b.Lat.Lo-margin || lat > b.Lat.Hi+margin {
		return true
	}
	return math.Abs(lat) < nearPole && !b.Lng.Contains(float64(p.Lng)) &&
		!b.Lng.Expanded(margin/1e-3).Contains(float64(p.Lng))
}

func (r *Region) intersectsPoint(p s2.Point) bool {
	if r.containsPoint(p) {
		return true
	}
	if r.kind != regionGeometry {
		return false
	}
	cell := s2.CellFromPoint(p)
	g := &r.geometry
	return g.anyPoint(cell.ContainsPoint) ||
		slices.ContainsFunc(g.lines, func(own *polyline) bool { return own.IntersectsCell(cell) })
}

// anyPoint reports whether a condition is true for one of the geometry's points on the sphere.
func (g *Geometry) anyPoint(is func(s2.Point) bool) bool {
	if g.isPoint && g.point.onSphere && is(g.point.s2) {
		return true
	}
	for i := range g.points {
		if is(g.points[i].s2) {
			return true
		}
	}
	return false
}

// containsLine reports whether a line lies within the region.
func (r *Region) containsLine(line *polyline, w *interrupt.Watch) bool {
	switch {
	case r.kind == regionCap:
		c := r.cap.Complement()
		return c.IsEmpty() || lineDistance(c.Center(), line, w) > c.Radius()
	case r.geometry.big != nil:
		return r.geometry.big.containsLine(line, w)
	}
	return slices.ContainsFunc(r.geometry.polygons,
		func(own *s2.Polygon) bool { return areaContainsLine(own, line, w) })
}

// areaContainsLine reports whether a line lies in one piece within a polygon.
func areaContainsLine(a *s2.Polygon, line *polyline, w *interrupt.Watch) bool {
	c := clip(a, line, false, w)
	return c.pieces == 1 && c.lost <= lostLength
}

// meets reports whether an edge of a line crosses an edge of a shape or shares a vertex with it.
func meets(shape s2.Shape, line *polyline, w *interrupt.Watch) bool {
	if w.Stopped(shape.NumEdges() * segmentWork) {
		return false
	}
	tree := newEdgeTree(shape)
	var near []s2.Edge
	for i := range line.NumEdges() {
		if w.Stopped(edgeWork) {
			return false
		}
		edge := line.Edge(i)
		around := solidAround(edge)
		near = tree.appendNear(near[:0], 1, &around)
		if w.Stopped(len(near) * interrupt.Step) {
			return false
		}
		for _, other := range near {
			if crossingSign(edge, other) != s2.DoNotCross {
				return true
			}
		}
	}
	return false
}

func (r *Region) intersectsLine(line *polyline, w *interrupt.Watch) bool {
	if r.kind == regionCap {
		return lineDistance(r.cap.Center(), line, w) <= r.cap.Radius()
	}
	g := &r.geometry
	if g.big != nil {
		return g.big.intersectsLine(line, w)
	}
	return g.anyPoint(func(own s2.Point) bool {
		return w.Stopped(len(line.Polyline)*segmentWork) || line.IntersectsCell(s2.CellFromPoint(own))
	}) ||
		slices.ContainsFunc(g.lines, func(own *polyline) bool { return meets(own, line, w) }) ||
		slices.ContainsFunc(g.polygons, func(own *s2.Polygon) bool { return areaIntersectsLine(own, line, w) })
}

// areaIntersectsLine reports whether a part of a line lies within a polygon. It is not enough that
// the line touches the polygon in a point.
func areaIntersectsLine(a *s2.Polygon, line *polyline, w *interrupt.Watch) bool {
	return clip(a, line, false, w).pieces > 0
}

func (r *Region) containsPolygon(p *s2.Polygon, w *interrupt.Watch) bool {
	switch {
	case r.kind == regionCap:
		c := r.cap.Complement()
		return c.IsEmpty() || polygonDistance(c.Center(), p, w) > c.Radius()
	case r.geometry.big != nil:
		return r.geometry.big.contains(p, w)
	}
	return slices.ContainsFunc(r.geometry.polygons, func(own *s2.Polygon) bool { return polygonContains(own, p, w) })
}

func (r *Region) intersectsPolygon(p *s2.Polygon, w *interrupt.Watch) bool {
	if r.kind == regionCap {
		return polygonDistance(r.cap.Center(), p, w) <= r.cap.Radius()
	}
	g := &r.geometry
	if g.big != nil {
		return g.big.intersects(p, w)
	}
	return g.anyPoint(func(own s2.Point) bool { return w.Stopped(edgeWork) || polygonTouches(p, own) }) ||
		slices.ContainsFunc(g.lines, func(own *polyline) bool { return areaIntersectsLine(p, own, w) }) ||
		slices.ContainsFunc(g.polygons, func(own *s2.Polygon) bool { return polygonIntersects(own, p, w) })
}

// Distance returns the distance between p and the nearest point of the geometry, in the coordinate
// system of p. It returns false if the geometry cannot be converted to that system. It may project
// the geometry.
func (g *Geometry) Distance(p *Point) (float64, bool) {
	if p.CRS == Flat {
		return flatDistance(flatPoint{p.X, p.Y}, flatPoint{g.point.X, g.point.Y}), g.isPoint
	}
	if g.big != nil || !g.toSphere() {
		return 0, false
	}
	if g.isPoint {
		return float64(p.s2.Distance(g.point.s2)) * EarthRadius, true
	}
	best := s1.InfAngle()
	for i := range g.points {
		best = min(best, p.s2.Distance(g.points[i].s2))
	}
	for _, line := range g.lines {
		best = min(best, lineDistance(p.s2, line, &g.watch))
	}
	for _, polygon := range g.polygons {
		best = min(best, polygonDistance(p.s2, polygon, &g.watch))
	}
	return float64(best) * EarthRadius, true
}

func lineDistance(p s2.Point, line *polyline, w *interrupt.Watch) s1.Angle {
	if w.Stopped(len(line.Polyline) * segmentWork) {
		return 0
	}
	nearest, _ := line.Project(p)
	return p.Distance(nearest)
}

// polygonDistance returns the distance of a polygon from a point. It returns zero for a point in
// the polygon.
func polygonDistance(p s2.Point, polygon *s2.Polygon, w *interrupt.Watch) s1.Angle {
	if polygon.ContainsPoint(p) {
		return 0
	}
	best, limit := s2.Edge{}, s1.InfChordAngle()
	for i := range polygon.NumEdges() {
		if w.Stopped(segmentWork) {
			break
		}
		e := polygon.Edge(i)
		if d, less := s2.UpdateMinDistance(p, e.V0, e.V1, limit); less {
			best, limit = e, d
		}
	}
	return p.Distance(s2.Project(p, best.V0, best.V1))
}

// capBounds returns the longitudes and latitudes of a cap that does not cross the edges of the map.
func capBounds(c s2.Cap) (flatBox, bool) {
	b := c.RectBound()
	if b.Lng.IsFull() || b.Lng.IsInverted() {
		return flatBox{}, false
	}
	const margin = 1e-9
	return flatBox{
		b.Lo().Lng.Degrees() - margin, b.Lo().Lat.Degrees() - margin,
		b.Hi().Lng.Degrees() + margin, b.Hi().Lat.Degrees() + margin,
	}, true
}
