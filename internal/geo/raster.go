package geo

import (
	"math"
	"sync/atomic"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

const (
	// rasterSide is the number of rows, and of columns, in a raster.
	rasterSide = 32
	// rasterAfter is the approximate number of points that are tested before a raster is worth its
	// cost.
	rasterAfter = 256
	// rasterEdges is the largest number of edges in a region that uses a raster.
	rasterEdges = 1000
	// rasterMargin is much larger than the error of a distance.
	rasterMargin = s1.Angle(1e-7)
)

// raster divides the bounds of a region into fields of longitudes and latitudes. It remembers which
// fields are completely inside or outside the polygons. Points in such fields need not be converted
// to the sphere. A raster is safe for concurrent use.
type raster struct {
	bound  s2.Rect
	region *Region
	fields [rasterSide * rasterSide]atomic.Uint32
}

// These are the states of a field.
const (
	fieldUnknown = iota
	fieldInside
	fieldOutside
	fieldEdge
)

// HasPoint reports whether a plain GeoJSON point is in the region. It sets known to false if only
// Contains or Intersects can decide.
func (r *Region) HasPoint(v bsonx.Value) (inside, known bool) {
	if r.kind != regionGeometry || r.edges == 0 {
		return false, false
	}
	lng, lat, ok := plainPoint(v)
	if !ok {
		return false, false
	}
	m := r.raster.Load()
	if m == nil {
		if r.asked.Add(1) < rasterAfter {
			return false, false
		}
		m = &raster{bound: r.geometry.parts().RectBound(), region: r}
		r.raster.Store(m)
	}
	switch m.field(lng, lat) {
	case fieldInside:
		return true, true
	case fieldOutside:
		return false, true
	default:
		return false, false
	}
}

// countEdges returns how many edges a geometry has. It returns 0 if the geometry contains anything
// except polygons, or if there are too many edges.
func (g *Geometry) countEdges() (n int) {
	if g.big != nil || g.isPoint || len(g.points) > 0 || len(g.lines) > 0 || g.crs != Sphere {
		return 0
	}
	for _, p := range g.polygons {
		n += p.NumEdges()
	}
	if n > rasterEdges {
		return 0
	}
	return n
}

// plainPoint returns the coordinates of a GeoJSON point without other fields.
func plainPoint(v bsonx.Value) (lng, lat float64, ok bool) {
	if v.Type != bsonx.TypeDocument {
		return 0, 0, false
	}
	it := v.Doc().Iter()
	if !it.Next() || string(it.Key()) != "type" || it.Value().Type != bsonx.TypeString ||
		string(it.Value().StrBytes()) != "Point" {
		return 0, 0, false
	}
	if !it.Next() || string(it.Key()) != "coordinates" || it.Value().Type != bsonx.TypeArray {
		return 0, 0, false
	}
	at := it.Value().Doc().Iter()
	if it.Next() || !at.Next() {
		return 0, 0, false
	}
	lng, okLng := at.Value().AsFloat64()
	if !at.Next() {
		return 0, 0, false
	}
	lat, okLat := at.Value().AsFloat64()
	return lng, lat, okLng && okLat && !at.Next() && math.Abs(lng) <= 180 && math.Abs(lat) <= 90
}

// field returns the state of the field that contains a point.
func (m *raster) field(lng, lat float64) uint32 {
	x := (s1.Angle(lng) * s1.Degree).Radians() - m.bound.Lng.Lo
	if x < 0 {
		x += 2 * math.Pi
	}
	column := int(x / m.bound.Lng.Length() * rasterSide)
	row := int(((s1.Angle(lat) * s1.Degree).Radians() - m.bound.Lat.Lo) / m.bound.Lat.Length() * rasterSide)
	if column < 0 || column >= rasterSide || row < 0 || row >= rasterSide {
		return fieldUnknown
	}
	field := &m.fields[row*rasterSide+column]
	known := field.Load()
	if known == fieldUnknown {
		known = m.judge(row, column)
		field.Store(known)
	}
	return known
}

// judge computes the state of a field. The whole field is on one side if its center is farther from
// all edges than from its own corners.
func (m *raster) judge(row, column int) uint32 {
	width, height := m.bound.Lng.Length()/rasterSide, m.bound.Lat.Length()/rasterSide
	at := func(right, up float64) s2.Point {
		return s2.PointFromLatLng(s2.LatLng{
			Lat: s1.Angle(m.bound.Lat.Lo + (float64(row)+up)*height),
			Lng: s1.Angle(m.bound.Lng.Lo + (float64(column)+right)*width),
		})
	}
	middle := at(0.5, 0.5)
	radius := max(middle.Distance(at(0, 0)), middle.Distance(at(0, 1)), middle.Distance(at(1, 0)),
		middle.Distance(at(1, 1))) + rasterMargin
	inside := false
	for _, p := range m.region.geometry.polygons {
		for i := range p.NumEdges() {
			if e := p.Edge(i); s2.DistanceFromSegment(middle, e.V0, e.V1) <= radius {
				return fieldEdge
			}
		}
		inside = inside || p.ContainsPoint(middle)
	}
	if inside {
		return fieldInside
	}
	return fieldOutside
}
