package bsonx

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// AppendExtJSON appends a value in Extended JSON. The canonical format preserves all types; the
// relaxed format is easier to read.
func AppendExtJSON(dst []byte, v Value, canonical bool) ([]byte, error) {
	if v.Type == TypeDocument {
		text, err := bson.MarshalExtJSON(bson.Raw(v.Data), canonical, false)
		if err != nil {
			return dst, fmt.Errorf("write Extended JSON: %w", err)
		}
		return append(dst, text...), nil
	}
	// The driver only writes whole documents. So the value is wrapped in a document, and its text
	// is cut out of the result.
	const name = "v"
	text, err := bson.MarshalExtJSON(bson.Raw(NewDoc(name, v)), canonical, false)
	if err != nil {
		return dst, fmt.Errorf("write Extended JSON: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte(`{"`+name+`":`))
	return append(dst, text[:len(text)-1]...), nil
}
