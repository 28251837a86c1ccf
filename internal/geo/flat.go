package geo

import "math"

type flatPoint struct{ x, y float64 }

// flatBox is a rectangle of a plane, including its edges.
type flatBox struct{ MinX, MinY, MaxX, MaxY float64 }

func (b flatBox) contains(p flatPoint) bool {
	return p.x >= b.MinX && p.x <= b.MaxX && p.y >= b.MinY && p.y <= b.MaxY
}

func (b flatBox) intersects(o flatBox) bool {
	return b.MinX <= o.MaxX && o.MinX <= b.MaxX && b.MinY <= o.MaxY && o.MinY <= b.MaxY
}

type circle struct {
	center flatPoint
	radius float64
}

// contains reports whether a point is inside the circle or on its line. If the point is straight
// above or beside the center, contains compares sums, as MongoDB does. For example, 1000.1 is 0.1
// away from 1000, although the computed difference is larger.
func (c circle) contains(p flatPoint) bool {
	dx, dy := c.center.x-p.x, c.center.y-p.y
	switch {
	case dx == 0:
		return min(c.center.y, p.y)+c.radius >= max(c.center.y, p.y)
	case dy == 0:
		return min(c.center.x, p.x)+c.radius >= max(c.center.x, p.x)
	default:
		return math.Sqrt(dx*dx+dy*dy) <= c.radius
	}
}

func (c circle) bounds() flatBox {
	return flatBox{c.center.x - c.radius, c.center.y - c.radius, c.center.x + c.radius, c.center.y + c.radius}
}

// flatDistance returns the distance between two points of a plane.
func flatDistance(a, b flatPoint) float64 {
	dx, dy := a.x-b.x, a.y-b.y
	switch {
	case dx == 0:
		return math.Abs(dy)
	case dy == 0:
		return math.Abs(dx)
	default:
		return math.Sqrt(dx*dx + dy*dy)
	}
}

func (r *Region) containsFlat(p flatPoint) bool {
	switch r.kind {
	case regionBox:
		return r.box.contains(p)
	case regionCircle:
		return r.circle.contains(p)
	case regionPolygon:
		return inRing(r.ring, p)
	default:
		return false
	}
}

// inRing reports whether a point is inside a ring, on a corner, or on an edge parallel to an axis.
// It counts the edges to the right of the point. A point on a slanting edge may or may not be
// inside, as in MongoDB. The order of the operations matters, because products are rounded.
func inRing(ring []flatPoint, p flatPoint) bool {
	inside := false
	a := ring[len(ring)-1]
	for _, b := range ring {
		if onUprightEdge(a, b, p) {
			return true
		}
		if p.y > min(a.y, b.y) && p.y <= max(a.y, b.y) && p.x <= max(a.x, b.x) {
			crossing := (p.y-a.y)*(b.x-a.x)/(b.y-a.y) + a.x
			if a.x == b.x || p.x <= crossing {
				inside = !inside
			}
		}
		a = b
	}
	return inside
}

// onUprightEdge reports whether p is equal to a or b, or lies between them on a line parallel to an
// axis.
func onUprightEdge(a, b, p flatPoint) bool {
	switch {
	case p == a || p == b:
		return true
	case a.x == b.x:
		return p.x == a.x && p.y >= min(a.y, b.y) && p.y <= max(a.y, b.y)
	case a.y == b.y:
		return p.y == a.y && p.x >= min(a.x, b.x) && p.x <= max(a.x, b.x)
	default:
		return false
	}
}

// flatBounds returns the box around a region of a plane. For a region of the sphere, it returns a
// box if the region does not cross the edges of the map. It returns false for other regions.
func (r *Region) flatBounds() (flatBox, bool) {
	switch r.kind {
	case regionBox:
		return r.box, true
	case regionCircle:
		return r.circle.bounds(), true
	case regionPolygon:
		b := flatBox{r.ring[0].x, r.ring[0].y, r.ring[0].x, r.ring[0].y}
		for _, p := range r.ring[1:] {
			b = flatBox{min(b.MinX, p.x), min(b.MinY, p.y), max(b.MaxX, p.x), max(b.MaxY, p.y)}
		}
		return b, true
	case regionCap:
		return capBounds(r.cap)
	default:
		return flatBox{}, false
	}
}
