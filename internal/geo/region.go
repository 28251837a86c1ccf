package geo

import (
	"math"
	"sync/atomic"

	"github.com/golang/geo/s1"
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Region is the argument of $geoWithin and $geoIntersects. After ParseRegion and ToSphere it does
// not change, and is safe for concurrent use.
type Region struct {
	kind     regionKind
	geometry Geometry    // for regionGeometry
	box      flatBox     // for regionBox
	circle   circle      // for regionCircle and regionCap; the radius of a cap is in radians
	ring     []flatPoint // for regionPolygon
	cap      s2.Cap      // for regionCap

	edges  int // how many edges its polygons have, or 0 if the region cannot use a raster
	asked  atomic.Uint32
	raster atomic.Pointer[raster]
}

type regionKind uint8

const (
	regionGeometry regionKind = iota
	regionBox
	regionCircle
	regionPolygon
	regionCap
)

// ParseRegion parses the argument of an operator: $geometry, $box, $polygon, $center or
// $centerSphere. It fails if the operation is interrupted. running may be nil.
func ParseRegion(operator string, v bsonx.Value, running *interrupt.Running) (*Region, error) {
	r := &Region{}
	r.geometry.watch.Running = running
	isList := v.Type == bsonx.TypeArray || v.Type == bsonx.TypeDocument
	var parse func(bsonx.Value) error
	switch operator {
	case "$geometry":
		parse = r.parseGeometry
	case "$box":
		parse = r.parseBox
	case "$polygon":
		parse = r.parsePolygon
	case "$center":
		parse = r.parseCenter
	case "$centerSphere":
		parse = r.parseCenterSphere
	}
	if parse == nil || !isList {
		return nil, reason("unknown geo specifier: " + operator + ": " + bsonx.FormatShell(v))
	}
	err := parse(v)
	r.geometry.watch = interrupt.Watch{} // other operations may use the region
	return r, err
}

func (r *Region) parseGeometry(v bsonx.Value) error {
	r.kind = regionGeometry
	if isPair(v) {
		x, y, err := parseFlat(v, false)
		r.geometry.isPoint, r.geometry.point = true, Point{X: x, Y: y}
		return err
	}
	err := r.geometry.parseGeoJSON(v.Doc())
	if err == nil {
		r.edges = r.geometry.countEdges()
	}
	return err
}

func (r *Region) parseBox(v bsonx.Value) error {
	r.kind = regionBox
	corners := v.Doc().Values()
	var at [2]flatPoint
	for i := range at {
		if i >= len(corners) {
			return errNotPoint(bsonx.TypeMissing)
		}
		x, y, err := parseFlat(corners[i], false)
		if err != nil {
			return err
		}
		at[i] = flatPoint{x, y}
	}
	r.box = flatBox{
		MinX: min(at[0].x, at[1].x), MinY: min(at[0].y, at[1].y),
		MaxX: max(at[0].x, at[1].x), MaxY: max(at[0].y, at[1].y),
	}
	return nil
}

func (r *Region) parsePolygon(v bsonx.Value) error {
	r.kind = regionPolygon
	for it := v.Doc().Iter(); it.Next(); {
		if r.geometry.watch.Stopped(vertexWork) {
			return r.geometry.watch.Ended()
		}
		x, y, err := parseFlat(it.Value(), false)
		if err != nil {
			return err
		}
		r.ring = append(r.ring, flatPoint{x, y})
	}
	if len(r.ring) < 3 {
		return reasonf("Polygon must have at least 3 points, instead got %d vertices", len(r.ring))
	}
	return nil
}

func (r *Region) parseCenter(v bsonx.Value) error {
	r.kind = regionCircle
	return r.circle.parse(v)
}

func (r *Region) parseCenterSphere(v bsonx.Value) error {
	r.kind = regionCap
	if err := r.circle.parse(v); err != nil {
		return err
	}
	center, err := onSphere(r.circle.center.x, r.circle.center.y)
	if err != nil {
		return err
	}
	r.cap = s2.CapFromCenterAngle(center, s1.Angle(min(r.circle.radius, math.Pi)))
	return nil
}

// parse parses [center, radius].
func (c *circle) parse(v bsonx.Value) error {
	args := v.Doc().Values()
	if len(args) == 0 {
		return errNotPoint(bsonx.TypeMissing)
	}
	x, y, err := parseFlat(args[0], false)
	if err != nil {
		return err
	}
	radius, shown := math.NaN(), "EOO"
	if len(args) > 1 {
		shown = bsonx.FormatShell(args[1])
		if f, ok := args[1].AsFloat64(); ok {
			radius = f
		}
	}
	if !(radius >= 0) {
		return reason("Radius must be a non-negative number: " + shown)
	}
	if len(args) > 2 {
		return reason("Only 2 fields allowed for circular region, but more were provided")
	}
	*c = circle{flatPoint{x, y}, radius}
	return nil
}

// Vertices returns approximately how many vertices the region has.
func (r *Region) Vertices() int {
	n := len(r.ring) + len(r.geometry.points)
	for _, line := range r.geometry.lines {
		n += len(line.Polyline)
	}
	for _, polygon := range r.geometry.polygons {
		n += polygon.NumEdges()
	}
	if r.geometry.big != nil {
		n += r.geometry.big.loop.NumVertices()
	}
	return n
}

// pointWork returns the cost of comparing a point with the region. Lines and points have no index,
// so they cost more.
func (r *Region) pointWork() int {
	n := edgeWork + len(r.geometry.points)*interrupt.Step/8
	for _, line := range r.geometry.lines {
		n += len(line.Polyline) * segmentWork
	}
	return n
}

// HasArea reports whether the region has an area. Geometries cannot lie within a region that
// consists only of points and lines.
func (r *Region) HasArea() bool {
	return r.kind != regionGeometry || len(r.geometry.polygons) > 0 || r.geometry.big != nil
}

// CRS returns the coordinate system in which the region is compared.
func (r *Region) CRS() CRS {
	switch r.kind {
	case regionGeometry:
		if r.geometry.isPoint {
			return r.geometry.point.CRS
		}
		return r.geometry.crs
	case regionCap:
		return Sphere
	default:
		return Flat
	}
}

// ToSphere converts the region to the sphere. It returns false if the region exists only on a
// plane.
func (r *Region) ToSphere() bool {
	if r.kind != regionGeometry {
		return r.kind == regionCap
	}
	if r.geometry.isPoint && r.geometry.point.ToSphere() {
		r.geometry.point.CRS = Sphere
		return true
	}
	return r.CRS() != Flat
}

// Contains reports whether the geometry lies within the region. It may project the geometry.
func (r *Region) Contains(g *Geometry) bool {
	if g.big != nil {
		return false
	}
	if r.CRS() == Flat {
		return g.isPoint && r.containsFlat(flatPoint{g.point.X, g.point.Y})
	}
	if !g.toSphere() {
		return false
	}
	if g.isPoint {
		return r.containsPoint(g.point.s2)
	}
	for i := range g.points {
		if g.watch.Stopped(r.pointWork()) {
			return false
		}
		if !r.containsPoint(g.points[i].s2) {
			return false
		}
	}
	for _, line := range g.lines {
		if !r.containsLine(line, &g.watch) {
			return false
		}
	}
	for _, polygon := range g.polygons {
		if !r.containsPolygon(polygon, &g.watch) {
			return false
		}
	}
	return true
}

// Intersects reports whether the geometry and the region have a point in common. It may project the
// geometry.
func (r *Region) Intersects(g *Geometry) bool {
	if g.big != nil || r.CRS() == Flat || !g.toSphere() {
		return false
	}
	if g.isPoint {
		return r.intersectsPoint(g.point.s2)
	}
	for i := range g.points {
		if g.watch.Stopped(r.pointWork()) {
			return false
		}
		if r.intersectsPoint(g.points[i].s2) {
			return true
		}
	}
	for _, line := range g.lines {
		if r.intersectsLine(line, &g.watch) {
			return true
		}
	}
	for _, polygon := range g.polygons {
		if r.intersectsPolygon(polygon, &g.watch) {
			return true
		}
	}
	return false
}
