package timeseries

import "github.com/sheafdb/sheaf/internal/bsonx"

// bounds returns the smallest and the greatest of values that are not missing. For documents it
// does so field by field, and for arrays element by element.
func bounds(values []bsonx.Value) (low, high bsonx.Value) {
	low, high = bsonx.Missing, bsonx.Missing
	for _, v := range values {
		if v.IsMissing() {
			continue
		}
		if low.IsMissing() {
			low, high = v, v
			continue
		}
		low, high = bound(low, v, -1), bound(high, v, 1)
	}
	return low, high
}

// bound returns the smaller of two values if sign is negative, and the greater one otherwise.
func bound(a, b bsonx.Value, sign int) bsonx.Value {
	switch {
	case a.Type == bsonx.TypeDocument && b.Type == bsonx.TypeDocument:
		return bsonx.Document(boundDocs(a.Doc(), b.Doc(), sign))
	case a.Type == bsonx.TypeArray && b.Type == bsonx.TypeArray:
		return bsonx.Array(boundArrays(a.Doc(), b.Doc(), sign))
	case bsonx.CompareValues(b, a)*sign > 0:
		return b
	default:
		return a
	}
}

func boundDocs(a, b bsonx.Doc, sign int) bsonx.Doc {
	if a.Equal(b) {
		return a
	}
	out := bsonx.NewBuilder(make([]byte, 0, len(a)+16))
	out.StartDoc()
	for it := a.Iter(); it.Next(); {
		v := it.Value()
		if other := b.Lookup(string(it.Key())); !other.IsMissing() {
			v = bound(v, other, sign)
		}
		out.ValueBytes(it.Key(), v)
	}
	for it := b.Iter(); it.Next(); {
		if a.Lookup(string(it.Key())).IsMissing() {
			out.ValueBytes(it.Key(), it.Value())
		}
	}
	out.End()
	return out.Bytes()
}

func boundArrays(a, b bsonx.Doc, sign int) bsonx.Doc {
	if a.Equal(b) {
		return a
	}
	out := bsonx.NewBuilder(make([]byte, 0, len(a)+16))
	out.StartArray()
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		switch {
		case na && nb:
			out.Elem(bound(ia.Value(), ib.Value(), sign))
		case na:
			out.Elem(ia.Value())
		case nb:
			out.Elem(ib.Value())
		default:
			out.End()
			return out.Bytes()
		}
	}
}
