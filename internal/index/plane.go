package index

import (
	"encoding/binary"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/geo"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// The errors of values that a 2d index cannot hold.
const (
	codeNoLocation    = mongoerr.Code(16804)
	codeOneCoordinate = mongoerr.Code(13068)
	codeNotNumbers    = mongoerr.Code(13026)
	codeOutOfGrid     = mongoerr.Code(13027)
)

// planeGen generates the keys of a 2d index: one for each pair of coordinates. Its other fields
// hold the value at their path, or an array if there are several values.
type planeGen struct {
	location keyField
	others   []keyField
	grid     geo.Grid
}

// GridOptions returns the options of the grid from the specification of a 2d index, with defaults.
// It does not validate them.
func GridOptions(options bsonx.Doc) (bits int32, low, high float64) {
	bits, low, high = int32(geo.DefaultGrid.Bits), geo.DefaultGrid.Min, geo.DefaultGrid.Max
	if v := options.Lookup("bits"); v.Type.IsNumber() {
		bits = v.SaturatingInt32()
	}
	if f, ok := options.Lookup("min").AsFloat64(); ok {
		low = f
	}
	if f, ok := options.Lookup("max").AsFloat64(); ok {
		high = f
	}
	return bits, low, high
}

// GridOf returns the grid of a 2d index with that specification.
func GridOf(options bsonx.Doc) geo.Grid {
	g := geo.DefaultGrid
	bits, low, high := GridOptions(options)
	if bits >= 1 && bits <= 32 {
		g.Bits = int(bits)
	}
	if low < high {
		g.Min, g.Max = low, high
	}
	return g
}

func planeDefinition() Definition {
	return Definition{
		Name: "2d", Compile: compilePlane,
		Properties: Properties{
			ByPaths: feature.No, Bounded: feature.Yes, Equality: feature.No,
			Unique: feature.Yes, ArrayPaths: feature.No,
			Geo: feature.Yes, JoinsValues: feature.Yes, StableAPI: feature.Yes,
			Collation: feature.No, AllPaths: feature.No, Several: feature.Yes,
			Series: OnMeta,
		},
	}
}

func compilePlane(s Spec) (Pattern, Generator, error) {
	p := fieldsOf(s.Key)
	g := &planeGen{grid: GridOf(s.Options), location: keyField{parts: strings.Split(p[0].Path, ".")}}
	for _, f := range p[1:] {
		g.others = append(g.others, newKeyField(f))
	}
	return p, g, nil
}

// Generate implements Generator.
func (g *planeGen) Generate(doc bsonx.Doc, out *Keys) error {
	if len(out.multikey) != len(g.others)+1 {
		out.multikey = make(MultikeyPaths, len(g.others)+1)
	}
	var room [1]bsonx.Value
	for _, v := range g.location.collect(room[:0], doc, 0, false, &out.multikey[0]) {
		if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray || v.Doc().IsEmpty() {
			continue
		}
		if v.Doc().First().Value.Type.IsNumber() {
			if err := g.add(doc, v.Doc(), out); err != nil {
				return err
			}
			continue
		}
		for it := v.Doc().Iter(); it.Next(); {
			place := it.Value()
			if place.Type != bsonx.TypeDocument && place.Type != bsonx.TypeArray {
				return mongoerr.New(codeNoLocation, "location object expected, location array not in correct format")
			}
			if place.Doc().IsEmpty() {
				continue
			}
			if err := g.add(doc, place.Doc(), out); err != nil {
				return err
			}
		}
	}
	if len(out.spans) > 1 {
		out.multikey[0] |= 1 << (len(g.location.parts) - 1)
	}
	return out.sortUnique()
}

// add adds the key of one location.
func (g *planeGen) add(doc, place bsonx.Doc, out *Keys) error {
	cell, err := g.cell(place)
	if err != nil {
		return err
	}
	start := out.begin()
	out.append(PlaneValue(cell), false)
	for i := range g.others {
		f := &g.others[i]
		var room [1]bsonx.Value
		switch values := f.collect(room[:0], doc, 0, true, &out.multikey[i+1]); len(values) {
		case 0:
			out.append(bsonx.Missing, f.desc)
		case 1:
			out.append(values[0], f.desc)
		default:
			b := bsonx.NewBuilder(nil)
			b.StartArray()
			for _, v := range values {
				b.Elem(v)
			}
			b.End()
			out.append(bsonx.Array(b.Bytes()), f.desc)
		}
	}
	out.finish(start)
	return nil
}

// cell returns the cell of the pair of coordinates in the first two fields of a document.
func (g *planeGen) cell(place bsonx.Doc) (uint64, error) {
	it := place.Iter()
	it.Next()
	x, isX := it.Value().AsFloat64()
	if !it.Next() {
		return 0, mongoerr.New(codeOneCoordinate, "geo field only has 1 element")
	}
	y, isY := it.Value().AsFloat64()
	if !isX || !isY {
		return 0, mongoerr.New(codeNotNumbers, "geo values must be 'legacy coordinate pairs' for 2d indexes")
	}
	cell, err := g.grid.Hash(x, y)
	if err != nil {
		return 0, mongoerr.New(codeOutOfGrid, "%s", err.Error())
	}
	return cell, nil
}

// PlaneValue returns the value that a 2d index stores for a cell.
func PlaneValue(cell uint64) bsonx.Value {
	return bsonx.Binary(0, binary.BigEndian.AppendUint64(nil, cell))
}
