package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// operator is what an update does at the end of one path. Operators are immutable.
type operator interface {
	// existing returns what becomes of an existing value. It must not keep v.
	existing(a *applier, v bsonx.Value) (change, error)
	// missing returns the value that a path gets that does not exist, or false where the operator
	// leaves it missing.
	missing(a *applier) (bsonx.Value, bool, error)
	// tolerant reports whether a path that cannot exist (through a scalar) is no error for an
	// operator that does not create.
	tolerant() bool
}

// changeKind says what becomes of a value.
type changeKind uint8

const (
	changeNone   changeKind = iota
	changeSet               // it is replaced
	changeRemove            // the field is removed; an array element becomes null
	changeAppend            // elements are appended to the array
)

// change is the result of an operator.
type change struct {
	kind  changeKind
	value bsonx.Value // of changeSet
	elems []byte      // of changeAppend: encoded elements with their keys
	// shrunk says that the value has nothing in it that was not there before, so that its nesting
	// needs no check.
	shrunk bool
}

// strict is embedded by operators for which a path through a scalar is an error.
type strict struct{}

func (strict) tolerant() bool { return false }

// creates is embedded by operators that always make a missing path.
type creates struct{ strict }

// ignoresMissing is embedded by operators that leave missing paths alone.
type ignoresMissing struct{ strict }

func (ignoresMissing) missing(*applier) (bsonx.Value, bool, error) { return bsonx.Value{}, false, nil }

// set is the change to v.
func set(v bsonx.Value) change { return change{kind: changeSet, value: v} }

// arrayOf encodes values as an array.
func arrayOf(values []bsonx.Value) bsonx.Value {
	size := 5
	for _, v := range values {
		size += len(v.Data) + 8
	}
	b := bsonx.NewBuilder(make([]byte, 0, size))
	b.StartArray()
	for _, v := range values {
		b.Elem(v)
	}
	b.End()
	return bsonx.Array(b.Bytes())
}

// appendElems encodes values as elements that follow the n elements of an array.
func appendElems(n int, values []bsonx.Value) []byte {
	var out []byte
	for i, v := range values {
		out = appendElem(out, bsonx.IndexKey(n+i), v)
	}
	return out
}

// appendElem encodes one field.
func appendElem(dst []byte, key string, v bsonx.Value) []byte {
	dst = append(dst, byte(v.Type))
	dst = append(dst, key...)
	dst = append(dst, 0)
	return append(dst, v.Data...)
}
