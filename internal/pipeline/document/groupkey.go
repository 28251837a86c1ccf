package document

import (
	"encoding/binary"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// AppendGroupKey appends an encoding of v that is the same for all values that compare equal. Equal
// numbers of the four numeric types have the same encoding. The encoding does not preserve order.
func AppendGroupKey(dst []byte, v bsonx.Value) []byte {
	switch {
	case v.Type.IsNumber():
		return appendNumberKey(dst, v)
	case v.Type == bsonx.TypeDocument, v.Type == bsonx.TypeArray:
		dst = append(dst, byte(v.Type))
		for it := v.Doc().Iter(); it.Next(); {
			dst = append(dst, 1)
			if v.Type == bsonx.TypeDocument {
				dst = append(append(dst, it.Key()...), 0)
			}
			dst = AppendGroupKey(dst, it.Value())
		}
		return append(dst, 0)
	case v.Type == bsonx.TypeSymbol:
		return append(append(dst, byte(bsonx.TypeString)), v.Data...)
	}
	return append(append(dst, byte(v.Type)), v.Data...)
}

func appendNumberKey(dst []byte, v bsonx.Value) []byte {
	if i, ok := v.AsExactInt64(); ok {
		return binary.LittleEndian.AppendUint64(append(dst, byte(bsonx.TypeInt64)), uint64(i))
	}
	f, _ := v.AsFloat64()
	if math.IsNaN(f) {
		f = math.NaN()
	}
	if v.Type == bsonx.TypeDecimal128 && !math.IsNaN(f) && bsonx.CompareValues(v, bsonx.Double(f)) != 0 {
		return append(append(dst, byte(bsonx.TypeDecimal128)), v.Decimal().Reduced().Value().Data...)
	}
	return binary.LittleEndian.AppendUint64(append(dst, byte(bsonx.TypeDouble)), math.Float64bits(f))
}
