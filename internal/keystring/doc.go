// Package keystring encodes BSON values as bytes. bytes.Compare orders the encodings as MongoDB
// orders the values. Keys of records and index entries are made of these encodings.
//
// Invariants:
//
//  1. bytes.Compare(Append(nil, a, false), Append(nil, b, false)) == bsonx.CompareValues(a, b). A
//     descending encoding is the ascending one with all bits inverted.
//  2. No encoding is a prefix of another one, so that a key can be a sequence of encodings: the
//     first value decides, then the second, and so on.
//  3. No encoding starts with 0x00 or 0xFF, ascending or descending. Therefore key+0x00 is less
//     than all keys that continue key, and key+0xFF is greater.
//  4. Equal values have equal encodings whatever their types are: 1, 1.0 and
//     NumberDecimal("1.00"), or a string and a symbol. The type is stored beside the key as type
//     bits. Decode needs both to return the exact value.
//
// # Format
//
// An encoding has a type byte and a payload. The payload marks its own end. types.go lists the type
// bytes in order.
//
//	null, undefined, MinKey, MaxKey, zero, NaN, bools    nothing
//	number         see number.go
//	string         the bytes; 00 and 01 are written 01 01 and 01 02; then 00
//	object         for each field: class byte, name, 00, payload; then 00
//	array          the elements; then 00
//	binData        length (one byte, or FF and four bytes), subtype, bytes
//	objectId       12 bytes
//	date           8 bytes, big endian, sign bit inverted
//	timestamp      8 bytes, big endian
//	regex          pattern, 00, options, 00
//	dbPointer      length (as in binData), the BSON payload
//	code           as string
//	code w/ scope  as string, then as object
//
// In an object the class byte precedes the name, because MongoDB compares the classes of two
// fields, then their names, then their values. The class byte of a number or a bool does not give
// its exact type byte, so that the whole encoding of the value follows the name.
//
// The package does not know collations. A caller with a collation passes the collation key of a
// string instead of the string.
package keystring
