package parsing

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CheckString returns an error unless v is a string. If required is false, v may also be null or
// missing.
func CheckString(name string, v bsonx.Value, required bool) error {
	switch {
	case v.Type == bsonx.TypeString, !required && v.IsNull():
		return nil
	case v.IsNull():
		return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s' is missing but a required field", name)
	}
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type 'string'", name, v.Type)
}

// PathWork is the work of compiling one path, in the units of interrupt.Meter.
const PathWork = 8 * interrupt.Step

// Paths parses an array of field paths; at is its name in error messages. It fails if the operation
// was interrupted.
func Paths(at string, v bsonx.Value, running *interrupt.Running) ([][]string, error) {
	if v.IsNull() {
		return nil, nil
	}
	if v.Type != bsonx.TypeArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type 'array'", at, v.Type)
	}
	var paths [][]string
	var meter interrupt.Meter
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(PathWork, running); err != nil {
			return nil, err
		}
		if it.Value().Type != bsonx.TypeString {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s.%s' is the wrong type '%s', expected type 'string'", at, it.Key(), it.Value().Type)
		}
		path, err := expr.SplitFieldPath(it.Value().Str())
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// Fields returns the values of the named fields of doc, in the order of names. A field that is
// absent gives bsonx.Missing. It fails if doc has other fields or duplicates.
func Fields(at string, doc bsonx.Doc, names ...string) ([]bsonx.Value, error) {
	values := make([]bsonx.Value, len(names))
next:
	for it := doc.Iter(); it.Next(); {
		for i, name := range names {
			if string(it.Key()) != name {
				continue
			}
			if !values[i].IsMissing() {
				return nil, mongoerr.New(mongoerr.IDLDuplicateField,
					"BSON field '%s.%s' is a duplicate field", at, name)
			}
			values[i] = it.Value()
			continue next
		}
		return nil, mongoerr.New(mongoerr.IDLUnknownField, "BSON field '%s.%s' is an unknown field.", at, it.Key())
	}
	return values, nil
}

// CheckObject returns an error unless v is a document. If required is false, v may also be null or
// missing.
func CheckObject(name string, v bsonx.Value, required bool) error {
	switch {
	case v.Type == bsonx.TypeDocument, !required && v.IsNull():
		return nil
	case v.IsNull():
		return mongoerr.New(mongoerr.IDLFailedToParse, "BSON field '%s' is missing but a required field", name)
	}
	return mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type 'object'", name, v.Type)
}
