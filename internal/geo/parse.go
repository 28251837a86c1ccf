package geo

import (
	"fmt"
	"math"

	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// CRS is a coordinate reference system.
type CRS uint8

// These are the coordinate systems.
const (
	// Flat is a plane.
	Flat CRS = iota
	// Sphere is WGS84, treated as a sphere. A polygon is the smaller of the two areas that its ring
	// separates.
	Sphere
	// StrictSphere is the same sphere, but a polygon is the area to the left of its ring.
	StrictSphere
)

// Point is a point of a plane or of the sphere. It is both if its coordinates are a longitude and a
// latitude.
type Point struct {
	CRS  CRS
	X, Y float64
	// s2 is the point on the sphere. It is set when a point of the sphere is parsed or a point is
	// projected.
	s2       s2.Point
	onSphere bool
}

// These are reasons why a value is not a geometry. The functions below return the reasons whose
// text shows the type of the value.
var (
	errNotFinite = reason("Point coordinates must be finite numbers")
	errExtra     = reason("Point must only contain two numeric elements")
	errNotList   = reason("GeoJSON coordinates must be an array of coordinates")
	errNotArray  = reason("GeoJSON coordinates must be an array")
)

func errNotPoint(t bsonx.Type) error {
	return reasonf("Point must be an array or object, instead got type %s", t)
}

func errNotNumeric(t bsonx.Type) error {
	return reasonf("Point must only contain numeric elements, instead got type %s", t)
}

// parseFlat parses a pair of coordinates: [x, y] or {x: …, y: …}. If extra is true, more elements
// may follow.
func parseFlat(v bsonx.Value, extra bool) (x, y float64, err error) {
	if v.Type != bsonx.TypeArray && v.Type != bsonx.TypeDocument {
		return 0, 0, errNotPoint(v.Type)
	}
	it := v.Doc().Iter()
	var xy [2]float64
	for i := range xy {
		if !it.Next() {
			return 0, 0, errNotNumeric(bsonx.TypeMissing)
		}
		f, ok := it.Value().AsFloat64()
		if !ok {
			return 0, 0, errNotNumeric(it.Value().Type)
		}
		xy[i] = f
	}
	if !extra && it.Next() {
		return 0, 0, errExtra
	}
	if !isFinite(xy[0]) || !isFinite(xy[1]) {
		return 0, 0, errNotFinite
	}
	return xy[0], xy[1], nil
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// isLngLat reports whether a pair of coordinates is a place on the sphere.
func isLngLat(lng, lat float64) bool { return lng >= -180 && lng <= 180 && lat >= -90 && lat <= 90 }

// onSphere returns the point at a longitude and latitude.
func onSphere(lng, lat float64) (s2.Point, error) {
	if !isLngLat(lng, lat) {
		return s2.Point{}, reasonf("Longitude/latitude is out of bounds, lng: %v lat: %v", lng, lat)
	}
	return pointOf(lng, lat), nil
}

// ToSphere converts the point to the sphere. It returns false if its coordinates are not a
// longitude and a latitude.
func (p *Point) ToSphere() bool {
	if p.onSphere {
		return true
	}
	if !isLngLat(p.X, p.Y) {
		return false
	}
	p.s2, p.onSphere = pointOf(p.X, p.Y), true
	return true
}

// ParsePoint parses the argument of $near, which is a legacy pair or a GeoJSON point.
func ParsePoint(v bsonx.Value) (Point, error) { return parsePoint(v, false) }

func parsePoint(v bsonx.Value, extra bool) (Point, error) {
	if v.Type != bsonx.TypeArray && v.Type != bsonx.TypeDocument {
		return Point{}, errNotPoint(v.Type)
	}
	if isPair(v) {
		x, y, err := parseFlat(v, extra)
		return Point{X: x, Y: y}, err
	}
	crs, err := parseCRS(v.Doc(), false)
	if err != nil {
		return Point{}, err
	}
	return parseCoordinates(v.Doc().Lookup("coordinates"), crs)
}

// isPair reports whether an array or a document is a legacy pair and not GeoJSON.
func isPair(v bsonx.Value) bool {
	return v.Type == bsonx.TypeArray || !v.Doc().IsEmpty() && v.Doc().First().Value.Type.IsNumber()
}

func parseCoordinates(v bsonx.Value, crs CRS) (Point, error) {
	x, y, err := parseFlat(v, true)
	if err != nil {
		return Point{}, err
	}
	p, err := onSphere(x, y)
	return Point{CRS: crs, X: x, Y: y, s2: p, onSphere: true}, err
}

// These are the names of the coordinate systems.
const (
	nameCRS84  = "urn:ogc:def:crs:OGC:1.3:CRS84"
	nameEPSG   = "EPSG:4326"
	nameStrict = "urn:x-mongodb:crs:strictwinding:EPSG:4326"
)

// parseCRS parses the field crs. It accepts the strict CRS only if strict is true.
func parseCRS(doc bsonx.Doc, strict bool) (CRS, error) {
	crs := doc.Lookup("crs")
	if crs.IsMissing() {
		return Sphere, nil
	}
	if crs.Type != bsonx.TypeDocument && crs.Type != bsonx.TypeArray {
		return 0, reason("GeoJSON CRS must be an object")
	}
	if t := crs.Doc().Lookup("type"); t.Type != bsonx.TypeString || string(t.StrBytes()) != "name" {
		return 0, reason("GeoJSON CRS must have field \"type\": \"name\"")
	}
	properties := crs.Doc().Lookup("properties")
	if properties.Type != bsonx.TypeDocument && properties.Type != bsonx.TypeArray {
		return 0, reason("CRS must have field \"properties\" which is an object")
	}
	name := properties.Doc().Lookup("name")
	if name.Type != bsonx.TypeString {
		return 0, reason("In CRS, \"properties.name\" must be a string")
	}
	switch name.Str() {
	case nameCRS84, nameEPSG:
		return Sphere, nil
	case nameStrict:
		if !strict {
			return 0, reason("Strict winding order is only supported by polygon")
		}
		return StrictSphere, nil
	default:
		return 0, reasonf("Unknown CRS name: %s", name.Str())
	}
}

// parseVertices parses an array of positions on the sphere.
func parseVertices(v bsonx.Value, w *interrupt.Watch) ([]s2.Point, error) {
	if v.Type != bsonx.TypeArray {
		return nil, errNotList
	}
	var out []s2.Point
	for it := v.Doc().Iter(); it.Next(); {
		if w.Stopped(vertexWork) {
			return nil, w.Ended()
		}
		if it.Value().Type != bsonx.TypeArray {
			return nil, errNotArray
		}
		p, err := parseCoordinates(it.Value(), Sphere)
		if err != nil {
			return nil, err
		}
		out = append(out, p.s2)
	}
	return out, nil
}

// invalid is the reason why a value is not a geometry, in the same words as in MongoDB.
type invalid string

// Error implements error.
func (e invalid) Error() string { return string(e) }

func reason(text string) error { return invalid(text) }

func reasonf(format string, args ...any) error { return invalid(fmt.Sprintf(format, args...)) }
