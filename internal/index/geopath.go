package index

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// Places finds the values for which a geospatial index has cells.
type Places struct{ field keyField }

// NewPlaces returns the Places for a path.
func NewPlaces(path string) *Places { return &Places{keyField{parts: strings.Split(path, ".")}} }

// Append appends the values of a document.
func (p *Places) Append(dst []bsonx.Value, doc bsonx.Doc) []bsonx.Value {
	var arrays uint64
	return p.field.collect(dst, doc, 0, false, &arrays)
}

// collect appends the values at a path from its component pos on, by the rules of geospatial
// indexes. It descends into the documents of arrays on the way. A numeric component is a position
// in an array. An array at the end counts as one value or, with expand, as its elements. bits gets
// the components that were arrays and gave more than one value.
func (f *keyField) collect(dst []bsonx.Value, doc bsonx.Doc, pos int, expand bool, bits *uint64) []bsonx.Value {
	v := doc.Lookup(f.parts[pos])
	if pos == len(f.parts)-1 {
		switch {
		case v.IsMissing():
			return dst
		case expand && v.Type == bsonx.TypeArray:
			*bits |= 1 << pos
			return append(dst, v.Doc().Values()...)
		default:
			return append(dst, v)
		}
	}
	switch v.Type {
	case bsonx.TypeDocument:
		return f.collect(dst, v.Doc(), pos+1, expand, bits)
	case bsonx.TypeArray:
		if _, ok := bsonx.ArrayIndex(f.parts[pos+1]); ok {
			return f.collect(dst, v.Doc(), pos+1, expand, bits)
		}
		*bits |= 1 << pos
		for it := v.Doc().Iter(); it.Next(); {
			if elem := it.Value(); elem.Type == bsonx.TypeDocument || elem.Type == bsonx.TypeArray {
				dst = f.collect(dst, elem.Doc(), pos+1, expand, bits)
			}
		}
		return dst
	default:
		return dst
	}
}
