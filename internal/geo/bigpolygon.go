package geo

import (
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// bigPolygon is the area to the left of a ring. It may be larger than half of the sphere, but s2
// compares only smaller polygons. So border is the smaller of the two areas that the ring
// separates. The big polygon is the same area as border or, if inverted is true, the other area.
type bigPolygon struct {
	loop     *s2.Loop
	border   *s2.Polygon
	inverted bool
}

// parseBigPolygon parses a polygon with one ring.
func parseBigPolygon(v bsonx.Value, w *interrupt.Watch) (*bigPolygon, error) {
	if v.Type != bsonx.TypeArray {
		return nil, reason("Coordinates of polygon must be an array")
	}
	if n := v.Doc().Len(); n != 1 {
		return nil, reasonf("Only one simple loop is allowed in a big polygon, instead provided %d loops", n)
	}
	vertices, err := parseRing(v.Doc().First().Value, w)
	if err != nil {
		return nil, err
	}
	loop := s2.LoopFromPoints(vertices)
	return &bigPolygon{
		loop: loop, border: s2.PolygonFromLoops([]*s2.Loop{newLoop(vertices)}), inverted: !loop.IsNormalized(),
	}, nil
}

// touches reports whether the polygon contains p, or overlaps the leaf cell that contains p.
func (b *bigPolygon) touches(p s2.Point) bool {
	if b.loop.ContainsPoint(p) {
		return true
	}
	cell := s2.CellFromPoint(p)
	return b.loop.IntersectsCell(cell) && b.loop.Intersects(s2.LoopFromCell(cell))
}

func (b *bigPolygon) contains(p *s2.Polygon, w *interrupt.Watch) bool {
	if b.inverted {
		return !polygonIntersects(b.border, p, w)
	}
	return polygonContains(b.border, p, w)
}

func (b *bigPolygon) intersects(p *s2.Polygon, w *interrupt.Watch) bool {
	if b.inverted {
		return !polygonContains(b.border, p, w)
	}
	return polygonIntersects(b.border, p, w)
}

// containsLine reports whether the whole line is inside the polygon.
func (b *bigPolygon) containsLine(line *polyline, w *interrupt.Watch) bool {
	return clip(b.border, line, !b.inverted, w).pieces == 0
}

// intersectsLine reports whether a line has a point in the polygon or on its ring. Unlike in other
// polygons, it does not matter in which direction the line follows the ring.
func (b *bigPolygon) intersectsLine(line *polyline, w *interrupt.Watch) bool {
	return meets(b.border, line, w) || areaContains(b.border, line.Polyline[0]) != b.inverted
}
