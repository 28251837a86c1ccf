package bounds

import (
	"bytes"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// classBrackets holds the bounds of MongoDB's type bracketing: for each type class, the values that
// a value of the class is compared with. The upper end of strings, documents and arrays is the
// first value of the next class.
var classBrackets = map[int]Interval{
	bsonx.ClassMinKey:     Point(bsonx.MinKey),
	bsonx.ClassUndefined:  Point(bsonx.Value{Type: bsonx.TypeUndefined}),
	bsonx.ClassNull:       Point(bsonx.Null),
	bsonx.ClassNumber:     {bsonx.Double(math.Inf(-1)), bsonx.Double(math.Inf(1)), true, true},
	bsonx.ClassString:     {bsonx.String(""), bsonx.Document(bsonx.Empty), true, false},
	bsonx.ClassDocument:   {bsonx.Document(bsonx.Empty), bsonx.Array(bsonx.Empty), true, false},
	bsonx.ClassArray:      {bsonx.Array(bsonx.Empty), bsonx.Binary(0, nil), true, false},
	bsonx.ClassBinary:     {bsonx.Binary(0, nil), bsonx.ObjectID([12]byte{}), true, false},
	bsonx.ClassObjectID:   {bsonx.ObjectID([12]byte{}), maxObjectID, true, true},
	bsonx.ClassBool:       {bsonx.False, bsonx.True, true, true},
	bsonx.ClassDate:       {bsonx.Date(math.MinInt64), bsonx.Date(math.MaxInt64), true, true},
	bsonx.ClassTimestamp:  {bsonx.Timestamp(0, 0), bsonx.Timestamp(math.MaxUint32, math.MaxUint32), true, true},
	bsonx.ClassRegex:      {bsonx.Regex("", ""), dbPointerMin, true, false},
	bsonx.ClassDBPointer:  {dbPointerMin, codeMin, true, false},
	bsonx.ClassCode:       {codeMin, codeWithScopeMin, true, false},
	bsonx.ClassCodeWScope: {codeWithScopeMin, bsonx.MaxKey, true, false},
	bsonx.ClassMaxKey:     Point(bsonx.MaxKey),
}

var maxObjectID = bsonx.ObjectID([12]byte(bytes.Repeat([]byte{0xFF}, 12)))

// The least values of classes for which bsonx has no constructor.
var (
	dbPointerMin     = bsonx.Value{Type: bsonx.TypeDBPointer, Data: append([]byte{1, 0, 0, 0, 0}, make([]byte, 12)...)}
	codeMin          = bsonx.Value{Type: bsonx.TypeCode, Data: []byte{1, 0, 0, 0, 0}}
	codeWithScopeMin = bsonx.Value{Type: bsonx.TypeCodeWithScope, Data: []byte{
		14, 0, 0, 0, 1, 0, 0, 0, 0, 5, 0,
		0, 0, 0,
	}}
)

// nanPoint contains NaN, the only number outside of the bracket of numbers.
var nanPoint = Point(bsonx.Double(math.NaN()))

// bracketOf returns the values of a type class. For numbers this includes NaN.
func bracketOf(class int) Intervals {
	if class == bsonx.ClassNumber {
		return Intervals{{nanPoint.Low, classBrackets[class].High, true, true}}
	}
	return Intervals{classBrackets[class]}
}

// Documents contains all documents except the empty one. A wildcard index holds the fields of such
// a document in place of the document.
var Documents = Intervals{{Low: bsonx.Document(bsonx.Empty), High: bsonx.Array(bsonx.Empty)}}
