package update

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// operator is an update operator with its argument at one path. It is immutable.
type operator interface {
	// existing returns the change of an existing value. It must not keep v.
	existing(a *applier, v bsonx.Value) (change, error)
	// missing returns the value for a path that does not exist, or false if the operator leaves it
	// missing.
	missing(a *applier) (bsonx.Value, bool, error)
	// tolerant reports whether the operator ignores a path that cannot exist because it leads
	// through a scalar. Otherwise such a path is an error. Only operators that do not create values
	// may be tolerant.
	tolerant() bool
}

// changeKind tells how a value changes.
type changeKind uint8

const (
	changeNone   changeKind = iota
	changeSet               // the value is replaced
	changeRemove            // the field is removed; an array element becomes null
	changeAppend            // elements are appended to the array
)

// change is the change of an existing value by an operator.
type change struct {
	kind  changeKind
	value bsonx.Value // the new value, for changeSet
	elems []byte      // encoded elements with their keys, for changeAppend
	// shrunk reports that the value contains nothing new, so its nesting depth need not be checked.
	shrunk bool
}

// strict is embedded in operators for which a path through a scalar is an error.
type strict struct{}

func (strict) tolerant() bool { return false }

// creates is embedded in operators that create a missing path.
type creates struct{ strict }

// ignoresMissing is embedded in operators that leave a missing path unchanged.
type ignoresMissing struct{ strict }

func (ignoresMissing) missing(*applier) (bsonx.Value, bool, error) { return bsonx.Value{}, false, nil }

// set returns a change that replaces a value by v.
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

// appendElems encodes values as array elements with indexes from n on.
func appendElems(n int, values []bsonx.Value) []byte {
	var out []byte
	for i, v := range values {
		out = appendElem(out, bsonx.IndexKey(n+i), v)
	}
	return out
}

// appendElem appends one encoded field to dst.
func appendElem(dst []byte, key string, v bsonx.Value) []byte {
	dst = append(dst, byte(v.Type))
	dst = append(dst, key...)
	dst = append(dst, 0)
	return append(dst, v.Data...)
}
