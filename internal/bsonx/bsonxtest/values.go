package bsonxtest

import (
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// DBPointer returns a value of the deprecated DBPointer type.
func DBPointer(ns string, id [12]byte) bsonx.Value {
	return bsonx.Value{Type: bsonx.TypeDBPointer, Data: append(bsonx.String(ns).Data, id[:]...)}
}

// CodeWithScope returns a value of the type JavaScript code with scope.
func CodeWithScope(code string, scope bsonx.Doc) bsonx.Value {
	text := bsonx.String(code).Data
	b := binary.LittleEndian.AppendUint32(nil, uint32(4+len(text)+len(scope)))
	b = append(b, text...)
	return bsonx.Value{Type: bsonx.TypeCodeWithScope, Data: append(b, scope...)}
}

// Code returns a value of the type JavaScript code.
func Code(code string) bsonx.Value {
	return bsonx.Value{Type: bsonx.TypeCode, Data: bsonx.String(code).Data}
}

// Symbol returns a value of the deprecated symbol type.
func Symbol(s string) bsonx.Value {
	return bsonx.Value{Type: bsonx.TypeSymbol, Data: bsonx.String(s).Data}
}
