package object

import (
	"bytes"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func arrayToObjectDefinition() expr.Definition {
	return expr.Definition{
		Name: "$arrayToObject", Family: family, Parse: expr.Watch1(arrayToObject),
		Total: feature.No, Folds: feature.Yes, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func arrayToObject(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if expr.Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeArray {
		return bsonx.Missing, mongoerr.New(40386, "$arrayToObject requires an array input, found: %s", v.Type)
	}
	var out ObjectBuilder
	var meter interrupt.Meter
	kind := bsonx.TypeMissing
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(mergeWork, running); err != nil {
			return bsonx.Missing, err
		}
		elem := it.Value()
		if kind == bsonx.TypeMissing {
			kind = elem.Type
		}
		key, value, err := keyAndValue(elem, kind)
		if err != nil {
			return bsonx.Missing, err
		}
		if bytes.IndexByte(key.StrBytes(), 0) >= 0 {
			return bsonx.Missing, mongoerr.New(4940400, "Key field cannot contain an embedded null byte")
		}
		out.Set(key.StrBytes(), value)
	}
	return out.Document(&meter, running)
}

// keyAndValue returns the key and value in an element of $arrayToObject: a pair, or a document {k,
// v}. kind is the type of the first element, which all elements must have.
func keyAndValue(elem bsonx.Value, kind bsonx.Type) (key, value bsonx.Value, err error) {
	switch {
	case kind == bsonx.TypeArray && elem.Type != bsonx.TypeArray:
		return key, value, mongoerr.New(40396, "$arrayToObject requires a consistent input format. Elements mustall be arrays or all be objects. Array was detected, now found: %s", elem.Type)
	case kind == bsonx.TypeDocument && elem.Type != bsonx.TypeDocument:
		return key, value, mongoerr.New(40391, "$arrayToObject requires a consistent input format. Elements mustall be arrays or all be objects. Object was detected, now found: %s", elem.Type)
	case kind == bsonx.TypeArray:
		if n := elem.Doc().Len(); n != 2 {
			return key, value, mongoerr.New(40397, "$arrayToObject requires an array of size 2 arrays,found array of size: %d", n)
		}
		key, value = elem.Doc().Index(0), elem.Doc().Index(1)
		if key.Type != bsonx.TypeString {
			err = mongoerr.New(40395, "$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: %s", key.Type)
		}
		return key, value, err
	case kind == bsonx.TypeDocument:
		return fieldsKV(elem.Doc())
	}
	return key, value, mongoerr.New(40398, "Unrecognised input type format for $arrayToObject: %s", kind)
}

func fieldsKV(d bsonx.Doc) (key, value bsonx.Value, err error) {
	if n := d.Len(); n != 2 {
		return key, value, mongoerr.New(40392, "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:%d", n)
	}
	key, value = d.Lookup("k"), d.Lookup("v")
	if key.IsMissing() || value.IsMissing() {
		return key, value, mongoerr.New(40393, "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: %s", expr.Show(bsonx.Document(d)))
	}
	if key.Type != bsonx.TypeString {
		err = mongoerr.New(40394, "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found type: %s", key.Type)
	}
	return key, value, err
}
