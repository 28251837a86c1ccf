package bsonx

import (
	"bytes"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ParseExtJSON reads a document in Extended JSON, relaxed or canonical. Numbers without a type
// become int32, int64 or double as the driver decides.
func ParseExtJSON(text []byte) (Doc, error) {
	var raw bson.Raw
	if err := bson.UnmarshalExtJSON(text, false, &raw); err != nil {
		return nil, fmt.Errorf("parse Extended JSON: %w", err)
	}
	if err := Validate(raw, Limits{}); err != nil {
		return nil, err
	}
	return Doc(raw), nil
}

// AppendExtJSON appends a value in Extended JSON: canonical, which keeps all types, or relaxed,
// which reads better.
func AppendExtJSON(dst []byte, v Value, canonical bool) ([]byte, error) {
	if v.Type == TypeDocument {
		text, err := bson.MarshalExtJSON(bson.Raw(v.Data), canonical, false)
		if err != nil {
			return dst, fmt.Errorf("write Extended JSON: %w", err)
		}
		return append(dst, text...), nil
	}
	// The driver writes documents only: the value is taken out of one.
	const name = "v"
	text, err := bson.MarshalExtJSON(bson.Raw(NewDoc(name, v)), canonical, false)
	if err != nil {
		return dst, fmt.Errorf("write Extended JSON: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte(`{"`+name+`":`))
	return append(dst, text[:len(text)-1]...), nil
}
