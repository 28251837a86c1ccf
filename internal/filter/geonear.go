package filter

import (
	"fmt"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// GeoNear is $near or $nearSphere: it returns documents in the order of their distance from a
// point, within limits for the distance. It needs an index. The planner takes it out of the filter;
// as a predicate it matches every document.
type GeoNear struct {
	leaf
	Center geo.Point
	// Min and Max are inclusive limits for the distance, in the unit of geo.Geometry.Distance. Max
	// is infinite if there is no limit.
	Min, Max float64
	// Radians reports that distances are shown in radians.
	Radians bool
	// Wraps reports that the search may go around the earth, which a 2d index does not support.
	Wraps bool
	// Spec is the operator document as the client wrote it.
	Spec bsonx.Doc
}

// Kind returns KindGeoNear.
func (*GeoNear) Kind() Kind { return KindGeoNear }

func (*GeoNear) matchDoc(bsonx.Doc, *state) bool { return true }

func (*GeoNear) matchElem(bsonx.Value, *state) bool { return true }

func (n *GeoNear) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *GeoNear) serializeOperator(b *serializer) { b.Fields(n.Spec) }

// nearFirst compiles an operator document that begins with $near or a similar operator. It returns
// nil for other documents.
func (p *parser) nearFirst(path string, doc bsonx.Doc) (Node, error) {
	if doc.IsEmpty() {
		return nil, nil
	}
	first := doc.First()
	def := p.reg.field[string(first.Key)]
	if def == nil || !def.nearby || !p.opts.AllowGeoNear || !isList(first.Value) {
		return nil, nil
	}
	n := &GeoNear{leaf: newLeaf(path), Max: math.Inf(1), Spec: doc}
	sphere, ok, err := n.parseLegacy(doc)
	if err == nil && !ok {
		n.Min, n.Max = 0, math.Inf(1)
		sphere = def.name == "$nearSphere"
		err = n.parseGeoJSON(doc)
	}
	if err != nil {
		return nil, err
	}
	return n, n.project(sphere)
}

func isList(v bsonx.Value) bool { return v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray }

// parseNear returns the error for a $near that is not the first operator of its document, or whose
// operand is not a point.
func parseNear(_ *parser, f field) (Node, error) {
	return nil, mongoerr.New(mongoerr.BadValue, "near must be first in: %s",
		bsonx.FormatShell(bsonx.Document(f.context)))
}

// distanceErrors contains the error codes for a distance limit that is not a number or is negative.
type distanceErrors struct{ notNumber, negative mongoerr.Code }

// parseLegacy parses { $near: [x, y], $minDistance: …, $maxDistance: … }. ok reports whether the
// first operand is a point. sphere reports whether one of the operators is $nearSphere.
func (n *GeoNear) parseLegacy(doc bsonx.Doc) (sphere, ok bool, err error) {
	for it := doc.Iter(); it.Next(); {
		switch name, v := string(it.Key()), it.Value(); name {
		case "$near", "$nearSphere", "$geoNear":
			if !isList(v) {
				return false, false, nil
			}
			if ok, err = n.parsePoint(v); err != nil {
				return false, false, err
			}
			sphere = ok && name == "$nearSphere"
		case "$minDistance":
			err = readDistance(&n.Min, name, v, distanceErrors{16893, 16894})
		case "$maxDistance":
			err = readDistance(&n.Max, name, v, distanceErrors{16895, 16896})
		case "$uniqueDocs":
		default:
			err = errNearArgument(name)
		}
		if err != nil {
			return false, false, err
		}
	}
	return sphere, ok, nil
}

func errNearArgument(name string) error {
	return mongoerr.New(34413, "invalid argument in geo near query: %s", name)
}

// parsePoint parses a point, or a legacy coordinate pair that may be followed by the largest
// distance.
func (n *GeoNear) parsePoint(v bsonx.Value) (bool, error) {
	if point, err := geo.ParsePoint(v); err == nil {
		n.Center = point
		return true, nil
	}
	if v.Doc().Len() != 3 {
		return false, nil
	}
	var numbers [3]float64
	for i, arg := range v.Doc().Values() {
		f, ok := arg.AsFloat64()
		if !ok {
			return false, nil
		}
		numbers[i] = f
	}
	if !(numbers[2] >= 0) {
		return false, mongoerr.New(18522, "max distance must be non-negative")
	}
	n.Center, n.Max = geo.Point{X: numbers[0], Y: numbers[1]}, numbers[2]
	return true, nil
}

func readDistance(dst *float64, name string, v bsonx.Value, codes distanceErrors) error {
	f, ok := v.AsFloat64()
	if !ok {
		return mongoerr.New(codes.notNumber, "%s must be a number", name)
	}
	if !(f >= 0) {
		return mongoerr.New(codes.negative, "%s must be non-negative", name)
	}
	*dst = f
	return nil
}

// parseGeoJSON parses { $near: { $geometry: …, $minDistance: …, $maxDistance: … } }.
func (n *GeoNear) parseGeoJSON(doc bsonx.Doc) error {
	if doc.Len() > 1 {
		extra := doc.Second()
		return mongoerr.New(mongoerr.BadValue, "geo near accepts just one argument when querying for a GeoJSON point. "+
			"Extra field found: %s: %s", extra.Key, bsonx.FormatShell(extra.Value))
	}
	if v := doc.First().Value; v.Type == bsonx.TypeArray || v.Doc().IsEmpty() {
		return mongoerr.New(mongoerr.BadValue, "invalid point provided to geo near query: %s",
			bsonx.FormatShell(bsonx.Document(v.Doc())))
	}
	found := false
	for it := doc.First().Value.Doc().Iter(); it.Next(); {
		var err error
		switch name, v := string(it.Key()), it.Value(); name {
		case "$geometry":
			found = isList(v)
			if found {
				err = n.parseGeometry(v)
			}
		case "$minDistance":
			err = readDistance(&n.Min, name, v, distanceErrors{mongoerr.BadValue, mongoerr.BadValue})
		case "$maxDistance":
			err = readDistance(&n.Max, name, v, distanceErrors{mongoerr.BadValue, mongoerr.BadValue})
		default:
			err = mongoerr.New(mongoerr.BadValue, "invalid argument in geo near query: %s", name)
		}
		if err != nil {
			return err
		}
	}
	if !found {
		return mongoerr.New(mongoerr.BadValue, "$geometry is required for geo near query")
	}
	return nil
}

func (n *GeoNear) parseGeometry(v bsonx.Value) error {
	point, err := geo.ParsePoint(v)
	if kind := v.Doc().Lookup("type"); kind.Type == bsonx.TypeString && kind.Str() != "Point" {
		err = fmt.Errorf("Expected geojson geometry with type Point, but got type %s", kind.Str()) //nolint:staticcheck // MongoDB's words
	}
	if err != nil {
		return mongoerr.New(mongoerr.BadValue, "invalid point in geo near query $geometry argument: %s  %s",
			bsonx.FormatShell(v), err.Error())
	}
	if point.CRS != geo.Sphere {
		return mongoerr.New(mongoerr.BadValue, "$near requires geojson point, given %s",
			bsonx.FormatShell(bsonx.Document(v.Doc())))
	}
	n.Center = point
	return nil
}

// project converts the center to the coordinate system in which distances are measured. For a
// legacy coordinate pair on the sphere, it converts the limits from radians.
func (n *GeoNear) project(sphere bool) error {
	n.Wraps = n.Center.CRS == geo.Sphere
	if !sphere {
		return nil
	}
	n.Radians = !n.Wraps
	if !n.Center.ToSphere() {
		return mongoerr.New(mongoerr.BadValue, "Legacy point is out of bounds for spherical query")
	}
	n.Center.CRS = geo.Sphere
	if n.Radians {
		n.Min, n.Max = n.Min*geo.EarthRadius, n.Max*geo.EarthRadius
	}
	return nil
}
