package bsonx

import "strconv"

// Type is a BSON element type. Its value is the number in the BSON specification.
type Type byte

// The BSON types.
const (
	TypeMissing       Type = 0 // not a BSON type: the value is absent
	TypeDouble        Type = 0x01
	TypeString        Type = 0x02
	TypeDocument      Type = 0x03
	TypeArray         Type = 0x04
	TypeBinary        Type = 0x05
	TypeUndefined     Type = 0x06
	TypeObjectID      Type = 0x07
	TypeBool          Type = 0x08
	TypeDate          Type = 0x09
	TypeNull          Type = 0x0A
	TypeRegex         Type = 0x0B
	TypeDBPointer     Type = 0x0C
	TypeCode          Type = 0x0D
	TypeSymbol        Type = 0x0E
	TypeCodeWithScope Type = 0x0F
	TypeInt32         Type = 0x10
	TypeTimestamp     Type = 0x11
	TypeInt64         Type = 0x12
	TypeDecimal128    Type = 0x13
	TypeMaxKey        Type = 0x7F
	TypeMinKey        Type = 0xFF
)

var typeAliases = map[Type]string{
	TypeMissing: "missing", TypeDouble: "double", TypeString: "string", TypeDocument: "object", TypeArray: "array",
	TypeBinary: "binData", TypeUndefined: "undefined", TypeObjectID: "objectId", TypeBool: "bool", TypeDate: "date",
	TypeNull: "null", TypeRegex: "regex", TypeDBPointer: "dbPointer", TypeCode: "javascript", TypeSymbol: "symbol",
	TypeCodeWithScope: "javascriptWithScope", TypeInt32: "int", TypeTimestamp: "timestamp", TypeInt64: "long",
	TypeDecimal128: "decimal", TypeMaxKey: "maxKey", TypeMinKey: "minKey",
}

// String returns MongoDB's alias of the type, as in $type ("int", "objectId"), or "missing" for
// TypeMissing.
func (t Type) String() string {
	if s, ok := typeAliases[t]; ok {
		return s
	}
	return "type " + strconv.Itoa(int(t))
}

// TypeByAlias returns the type for an alias of $type. It returns false for unknown aliases and for
// "number", which stands for four types.
func TypeByAlias(alias string) (Type, bool) {
	for t, s := range typeAliases {
		if s == alias && t != TypeMissing {
			return t, true
		}
	}
	return 0, false
}

// IsNumber reports whether the type is one of the four numeric types.
func (t Type) IsNumber() bool {
	return t == TypeInt32 || t == TypeInt64 || t == TypeDouble || t == TypeDecimal128
}

// Type classes in MongoDB's sort order. Values of different types in one class compare by value.
const (
	ClassMinKey     = 1
	ClassUndefined  = 2
	ClassNull       = 3 // null and missing values
	ClassNumber     = 4
	ClassString     = 5 // strings and symbols
	ClassDocument   = 6
	ClassArray      = 7
	ClassBinary     = 8
	ClassObjectID   = 9
	ClassBool       = 10
	ClassDate       = 11
	ClassTimestamp  = 12
	ClassRegex      = 13
	ClassDBPointer  = 14
	ClassCode       = 15
	ClassCodeWScope = 16
	ClassMaxKey     = 17
)

// Class returns the type class, which is the position of the type in MongoDB's sort order.
func (t Type) Class() int { return int(classes[t]) }

// classes maps types to classes. It is a table because every comparison looks up two classes.
// Unknown types have the class of MaxKey.
var classes = newClasses()

func newClasses() (classes [256]uint8) {
	for t := range classes {
		classes[t] = ClassMaxKey
	}
	for t, class := range map[Type]uint8{
		TypeMinKey: ClassMinKey, TypeUndefined: ClassUndefined, TypeMissing: ClassNull, TypeNull: ClassNull,
		TypeDouble: ClassNumber, TypeInt32: ClassNumber, TypeInt64: ClassNumber, TypeDecimal128: ClassNumber,
		TypeString: ClassString, TypeSymbol: ClassString, TypeDocument: ClassDocument, TypeArray: ClassArray,
		TypeBinary: ClassBinary, TypeObjectID: ClassObjectID, TypeBool: ClassBool, TypeDate: ClassDate,
		TypeTimestamp: ClassTimestamp, TypeRegex: ClassRegex, TypeDBPointer: ClassDBPointer, TypeCode: ClassCode,
		TypeCodeWithScope: ClassCodeWScope,
	} {
		classes[t] = class
	}
	return classes
}
