package keystring

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
)

// The type bytes. They are between 0x05 and 0xFA, so that neither a type byte nor its inversion is
// 0x00 or 0xFF, and so that 0x00 can end objects and arrays. The format is stored on disk: type
// bytes may be added but never changed.
const (
	typeMinKey    = 0x0A
	typeUndefined = 0x0F
	typeNull      = 0x14

	typeNaN      = 0x1E
	typeNegLarge = 0x1F // x ≤ -2^63
	// 0x20 (8 bytes) to 0x27 (1 byte) are negative whole numbers, 0x28 is above -1: complements of
	// the positive ones.
	typeZero     = 0x29
	typePosSmall = 0x2A // 0 < x < 1
	typePosWhole = 0x2A // plus the number of bytes: 0x2B (1 byte) to 0x32 (8 bytes)
	typePosLarge = 0x33 // x ≥ 2^63

	typeString    = 0x3C
	typeObject    = 0x46
	typeArray     = 0x50
	typeBinary    = 0x5A
	typeObjectID  = 0x64
	typeFalse     = 0x6E
	typeTrue      = 0x6F
	typeDate      = 0x78
	typeTimestamp = 0x82
	typeRegex     = 0x8C
	typeDBPointer = 0x96
	typeCode      = 0xA0
	typeCodeScope = 0xAA
	typeMaxKey    = 0xF0

	// Class bytes of fields whose type byte depends on the value.
	classNumber = typeNaN
	classBool   = typeFalse
)

// maxDepth bounds the recursion of Decode and Skip; documents are validated to less than that.
const maxDepth = limits.DocumentDepth + 10

// fieldClass returns the byte that precedes a field's name, and whether the type byte of the value
// must follow the name.
func fieldClass(t bsonx.Type) (class byte, explicit bool) {
	switch t {
	case bsonx.TypeDouble, bsonx.TypeInt32, bsonx.TypeInt64, bsonx.TypeDecimal128:
		return classNumber, true
	case bsonx.TypeBool:
		return classBool, true
	default:
		return typeByte(t), false
	}
}

// typeByte returns the type byte of a type that has only one type byte.
func typeByte(t bsonx.Type) byte {
	switch t {
	case bsonx.TypeMinKey:
		return typeMinKey
	case bsonx.TypeUndefined:
		return typeUndefined
	case bsonx.TypeNull, bsonx.TypeMissing:
		return typeNull
	case bsonx.TypeString, bsonx.TypeSymbol:
		return typeString
	case bsonx.TypeDocument:
		return typeObject
	case bsonx.TypeArray:
		return typeArray
	case bsonx.TypeBinary:
		return typeBinary
	case bsonx.TypeObjectID:
		return typeObjectID
	case bsonx.TypeDate:
		return typeDate
	case bsonx.TypeTimestamp:
		return typeTimestamp
	case bsonx.TypeRegex:
		return typeRegex
	case bsonx.TypeDBPointer:
		return typeDBPointer
	case bsonx.TypeCode:
		return typeCode
	case bsonx.TypeCodeWithScope:
		return typeCodeScope
	default:
		return typeMaxKey
	}
}
