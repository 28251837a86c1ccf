package index

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The errors of values that a 2dsphere index cannot hold.
const (
	codeNoGeoKeys     = mongoerr.Code(16755)
	codeMalformedKeys = mongoerr.Code(16756)
)

// sphereGen generates the keys of a 2dsphere index: each combination of the cells of its geometries
// and the values of its other fields. A document without a geometry has no keys.
type sphereGen struct {
	fields    []sphereField
	collation *collation.Collator
}

type sphereField struct {
	keyField
	isGeo bool
}

func sphereDefinition() Definition {
	return Definition{
		Name: "2dsphere", Compile: compileSphere, Defaults: bsonx.NewDoc("2dsphereIndexVersion", int32(3)),
		Properties: Properties{
			ByPaths: feature.No, Bounded: feature.Yes, Equality: feature.No,
			Unique: feature.Yes, ArrayPaths: feature.Yes,
			Geo: feature.Yes, JoinsValues: feature.No, StableAPI: feature.Yes,
			Collation: feature.Yes, AllPaths: feature.No, Several: feature.Yes,
			Series: OnMeasurements,
		},
	}
}

func compileSphere(s Spec) (Pattern, Generator, error) {
	p := fieldsOf(s.Key)
	g := &sphereGen{collation: s.Collation}
	for _, f := range p {
		g.fields = append(g.fields, sphereField{newKeyField(f), f.Kind == Sphere})
	}
	return p, g, nil
}

// Generate implements Generator.
func (g *sphereGen) Generate(doc bsonx.Doc, out *Keys) error {
	if len(out.multikey) != len(g.fields) {
		out.multikey = make(MultikeyPaths, len(g.fields))
	}
	var room [4][]bsonx.Value
	values, present := room[:0], false
	for i := range g.fields {
		f := &g.fields[i]
		var own []bsonx.Value
		var err error
		if f.isGeo {
			own, err = f.cells(doc, &out.multikey[i], out.running)
			present = present || len(own) > 0 && own[0].Type == bsonx.TypeInt64
		} else {
			own = f.values(doc, &out.multikey[i])
		}
		if err != nil {
			return err
		}
		values = append(values, own)
	}
	if !present {
		clear(out.multikey)
		return nil
	}
	var at [4]int
	g.combine(values, at[:0], out)
	return out.sortUnique()
}

// combine adds a key for each way to pick one value of every field. picked has the choices for the
// first fields.
func (g *sphereGen) combine(values [][]bsonx.Value, picked []int, out *Keys) {
	if n := len(picked); n < len(values) {
		for i := range values[n] {
			g.combine(values, append(picked, i), out)
		}
		return
	}
	start := out.begin()
	for i, k := range picked {
		out.append(out.fold(g.collation, values[i][k]), g.fields[i].desc)
	}
	out.finish(start)
}

// cells returns the cells of a document's geometries. It returns null if the document has no
// geometry, or only a null or empty value.
func (f *sphereField) cells(doc bsonx.Doc, bits *uint64, r *interrupt.Running) ([]bsonx.Value, error) {
	var room [1]bsonx.Value
	elements := f.collect(room[:0], doc, 0, false, bits)
	if len(elements) == 1 && isNothing(elements[0]) {
		elements = nil
	}
	if len(elements) == 0 {
		return []bsonx.Value{bsonx.Null}, nil
	}
	var space [1]uint64
	cells := space[:0]
	for _, v := range elements {
		var g geo.Geometry
		err := g.ParseStored(v, r)
		before := len(cells)
		if err == nil {
			cells, err = g.AppendCells(cells)
		}
		if ended := g.Ended(); ended != nil {
			return nil, ended
		}
		if err != nil {
			return nil, mongoerr.New(codeNoGeoKeys, "Can't extract geo keys: %s  %s",
				bsonx.FormatShell(bsonx.Document(doc)), err.Error())
		}
		if len(cells) == before {
			return nil, mongoerr.New(codeMalformedKeys, "Unable to generate keys for (likely malformed) geometry: %s",
				bsonx.FormatShell(bsonx.Document(doc)))
		}
	}
	if len(cells) > 1 {
		*bits |= 1 << (len(f.parts) - 1)
	}
	out := make([]bsonx.Value, len(cells))
	for i, id := range cells {
		out[i] = bsonx.Int64(int64(id))
	}
	return out, nil
}

// isNothing reports whether a value counts as a missing geometry.
func isNothing(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeNull, bsonx.TypeUndefined:
		return true
	case bsonx.TypeDocument, bsonx.TypeArray:
		return v.Doc().IsEmpty()
	default:
		return false
	}
}

// values returns the values of an ordinary field in the keys: the elements of arrays, and undefined
// for an empty array.
func (f *sphereField) values(doc bsonx.Doc, bits *uint64) []bsonx.Value {
	var out []bsonx.Value
	for _, v := range f.collect(nil, doc, 0, false, bits) {
		if v.Type != bsonx.TypeArray {
			out = append(out, v)
			continue
		}
		*bits |= 1 << (len(f.parts) - 1)
		if v.Doc().IsEmpty() {
			out = append(out, bsonx.Undefined)
			continue
		}
		out = append(out, v.Doc().Values()...)
	}
	if len(out) == 0 {
		return []bsonx.Value{bsonx.Missing}
	}
	return out
}
