package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var withinFailure = &failure{
	no:  "none of the considered geometries were contained within the expression's geometry",
	yes: "at least one of the considered geometries was contained within the expression's geometry", whole: true,
}

var intersectsFailure = &failure{
	no:  "none of the considered geometries intersected the expression's geometry",
	yes: "at least one of the considered geometries intersected the expression's geometry", whole: true,
}

// Geo is $geoWithin or $geoIntersects: the geometry lies within the region, or shares a point with
// it.
type Geo struct {
	leaf
	Region *geo.Region
	Within bool
	// Spec is the operator document as the client wrote it.
	Spec bsonx.Doc
}

// Kind returns KindGeo.
func (*Geo) Kind() Kind { return KindGeo }

func (n *Geo) matchDoc(doc bsonx.Doc, st *state) bool { return n.path.match(doc, Elements, n, st) }

func (n *Geo) matchElem(v bsonx.Value, st *state) bool {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return false
	}
	// For a point, both operators have the same meaning.
	if inside, known := n.Region.HasPoint(v); known {
		return inside
	}
	if st.stopped(interrupt.Step + n.Region.Vertices()) {
		return false
	}
	var g geo.Geometry
	matches := false
	switch {
	case g.ParseStored(v, st.operation()) != nil:
	case n.Within:
		matches = n.Region.Contains(&g)
	default:
		matches = n.Region.Intersects(&g)
	}
	if err := g.Ended(); err != nil {
		return st.fail(err)
	}
	return matches
}

func (n *Geo) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *Geo) serializeOperator(b *serializer) { b.Fields(n.Spec) }

// parseGeo compiles $geoWithin, its old name $within, or $geoIntersects.
func parseGeo(p *parser, f field) (Node, error) {
	if f.context.Len() > 1 {
		extra := f.context.Second()
		return nil, mongoerr.New(mongoerr.BadValue, "can't parse extra field: %s: %s", extra.Key,
			bsonx.FormatShell(extra.Value))
	}
	if f.value.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "geometry must be an object")
	}
	n := &Geo{leaf: newLeaf(f.path), Within: f.name != "$geoIntersects", Spec: f.context}
	for it := f.value.Doc().Iter(); it.Next(); {
		if string(it.Key()) == "$uniqueDocs" {
			continue // $uniqueDocs has no effect: a search always returns each document once
		}
		region, err := geo.ParseRegion(string(it.Key()), it.Value(), p.running)
		if ended := p.running.Err(); ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, mongoerr.New(mongoerr.BadValue, "%s", err.Error())
		}
		n.Region = region
	}
	return n, n.check()
}

// check returns an error if the operator does not support the type of its region.
func (n *Geo) check() error {
	switch {
	case n.Region == nil:
		return mongoerr.New(mongoerr.BadValue, "geo query doesn't have any geometry")
	case n.Within && !n.Region.HasArea():
		return mongoerr.New(mongoerr.BadValue, "$within not supported with provided geometry: %s",
			bsonx.FormatShell(bsonx.Document(n.Spec)))
	case !n.Within && !n.Region.ToSphere():
		return mongoerr.New(mongoerr.BadValue, "$geoIntersect not supported with provided geometry: %s",
			bsonx.FormatShell(bsonx.Document(n.Spec)))
	}
	return nil
}
