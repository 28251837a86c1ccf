package bsonx

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// AppendExtJSON appends a value in Extended JSON. The canonical form keeps all types, the relaxed
// form is easier to read.
func AppendExtJSON(dst []byte, v Value, canonical bool) ([]byte, error) {
	if v.Type == TypeDocument {
		text, err := bson.MarshalExtJSON(bson.Raw(v.Data), canonical, false)
		if err != nil {
			return dst, fmt.Errorf("write Extended JSON: %w", err)
		}
		return append(dst, text...), nil
	}
	// The driver writes only whole documents, so the value is wrapped in one and cut out of its
	// text.
	const name = "v"
	text, err := bson.MarshalExtJSON(bson.Raw(NewDoc(name, v)), canonical, false)
	if err != nil {
		return dst, fmt.Errorf("write Extended JSON: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte(`{"`+name+`":`))
	return append(dst, text[:len(text)-1]...), nil
}
