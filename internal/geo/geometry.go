package geo

import (
	"github.com/golang/geo/s2"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Geometry is a location in a document. It is a legacy pair, or the points, lines and polygons of a
// GeoJSON object.
type Geometry struct {
	crs      CRS
	isPoint  bool // the geometry consists only of point
	point    Point
	points   []Point
	lines    []*polyline
	polygons []*s2.Polygon
	big      *bigPolygon // a polygon in StrictSphere
	watch    interrupt.Watch
}

// ParseStored parses a location in a document into g. A legacy pair is an array, or a document
// whose first field is a number. More elements may follow the pair. All other documents are
// GeoJSON. ParseStored fails if the operation r is interrupted. r may be nil. Later calculations
// with g also stop early if r is interrupted, and then Ended returns the reason.
func (g *Geometry) ParseStored(v bsonx.Value, r *interrupt.Running) error {
	*g = Geometry{watch: interrupt.Watch{Running: r}}
	if v.Type != bsonx.TypeArray && v.Type != bsonx.TypeDocument {
		return reason("geo element must be an array or object: " + bsonx.FormatShell(v))
	}
	if isPair(v) {
		x, y, err := parseFlat(v, true)
		g.isPoint, g.point = true, Point{X: x, Y: y}
		return err
	}
	return g.parseGeoJSON(v.Doc())
}

// toSphere converts the geometry to the sphere. It returns false if that is impossible.
func (g *Geometry) toSphere() bool {
	if g.isPoint {
		return g.point.ToSphere()
	}
	return g.crs == Sphere
}

func (g *Geometry) parseGeoJSON(doc bsonx.Doc) error {
	kind := doc.Lookup("type")
	if kind.Type != bsonx.TypeString {
		return errUnknownType(doc)
	}
	name := kindName(kind.StrBytes())
	if name == "GeometryCollection" {
		return g.parseCollection(doc)
	}
	crs, err := parseCRS(doc, name == "Polygon")
	if err != nil {
		return err
	}
	g.crs = crs
	return g.parseSimple(name, doc)
}

// kindName converts a name to a string. It does not allocate for the most frequent name.
func kindName(name []byte) string {
	if string(name) == "Point" {
		return "Point"
	}
	return string(name)
}

func errUnknownType(doc bsonx.Doc) error {
	if kind := doc.Lookup("type"); kind.Type == bsonx.TypeString {
		return reasonf("unknown GeoJSON type '%s'", kind.Str())
	}
	return reason("unknown GeoJSON type: " + bsonx.FormatShell(bsonx.Document(doc)))
}

// parseSimple adds a GeoJSON object that is not a collection.
func (g *Geometry) parseSimple(name string, doc bsonx.Doc) error {
	coordinates := doc.Lookup("coordinates")
	switch name {
	case "Point":
		p, err := parseCoordinates(coordinates, Sphere)
		g.isPoint, g.point = true, p
		return err
	case "LineString":
		return g.addLine(coordinates)
	case "Polygon":
		if g.crs == StrictSphere {
			big, err := parseBigPolygon(coordinates, &g.watch)
			g.big = big
			return err
		}
		return g.addPolygon(coordinates)
	case "MultiPoint":
		return g.addPoints(coordinates)
	case "MultiLineString":
		return each(name, coordinates, g.addLine)
	case "MultiPolygon":
		return each(name, coordinates, g.addPolygon)
	default:
		return errUnknownType(doc)
	}
}

// parseCollection adds the parts of a GeometryCollection. A part must not be a collection itself.
func (g *Geometry) parseCollection(doc bsonx.Doc) error {
	g.crs = Sphere
	list := doc.Lookup("geometries")
	if list.Type != bsonx.TypeArray {
		return reason("GeometryCollection geometries must be an array")
	}
	i := 0
	for it := list.Doc().Iter(); it.Next(); i++ {
		if it.Value().Type != bsonx.TypeDocument {
			return reasonf("Element %d of \"geometries\" is not an object", i)
		}
		part := it.Value().Doc()
		name := part.Lookup("type")
		if name.Type != bsonx.TypeString {
			return errUnknownType(part)
		}
		if name.Str() == "GeometryCollection" {
			return reason("GeometryCollections cannot be nested: " + bsonx.FormatShell(it.Value()))
		}
		if _, err := parseCRS(part, false); err != nil {
			return err
		}
		if err := g.parseSimple(name.Str(), part); err != nil {
			return err
		}
		if g.isPoint {
			g.points, g.isPoint = append(g.points, g.point), false
		}
	}
	if i == 0 {
		return reason("GeometryCollection geometries must have at least 1 element")
	}
	return nil
}

// each calls add for each part of a geometry that has several parts. There must be at least one
// part.
func each(name string, v bsonx.Value, add func(bsonx.Value) error) error {
	if v.Type != bsonx.TypeArray {
		return reasonf("%s coordinates must be an array", name)
	}
	if v.Doc().IsEmpty() {
		return reasonf("%s coordinates must have at least 1 element", name)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if err := add(it.Value()); err != nil {
			return err
		}
	}
	return nil
}

func (g *Geometry) addPoints(v bsonx.Value) error {
	if v.Type != bsonx.TypeArray {
		return errNotList
	}
	for it := v.Doc().Iter(); it.Next(); {
		if g.watch.Stopped(vertexWork) {
			return g.watch.Ended()
		}
		if it.Value().Type != bsonx.TypeArray {
			return errNotArray
		}
		p, err := parseCoordinates(it.Value(), Sphere)
		if err != nil {
			return err
		}
		g.points = append(g.points, p)
	}
	if len(g.points) == 0 {
		return reason("MultiPoint coordinates must have at least 1 element")
	}
	return nil
}

func (g *Geometry) addLine(v bsonx.Value) error {
	vertices, err := parseVertices(v, &g.watch)
	if err != nil {
		return err
	}
	line, err := newLine(vertices)
	if err != nil {
		return reasonf("%v: %s", err, bsonx.FormatShell(v))
	}
	g.lines = append(g.lines, line)
	return nil
}

func (g *Geometry) addPolygon(v bsonx.Value) error {
	polygon, err := parsePolygon(v, &g.watch)
	if err != nil {
		return err
	}
	g.polygons = append(g.polygons, polygon)
	return nil
}
