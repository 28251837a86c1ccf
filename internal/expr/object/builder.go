package object

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// ObjectBuilder builds a document. Setting an existing field replaces its value and keeps its
// position.
type ObjectBuilder struct {
	fields []bsonx.Elem
	index  map[string]int
}

// Set sets a field. An existing field keeps its position.
func (o *ObjectBuilder) Set(key []byte, v bsonx.Value) {
	if o.index == nil {
		o.index = map[string]int{}
	}
	if i, ok := o.index[string(key)]; ok {
		o.fields[i].Value = v
		return
	}
	o.index[string(key)] = len(o.fields)
	o.fields = append(o.fields, bsonx.Elem{Key: key, Value: v})
}

// Document returns the document with all fields. It fails if the operation was interrupted.
func (o *ObjectBuilder) Document(meter *interrupt.Meter, running *interrupt.Running) (bsonx.Value, error) {
	size := 5 // the length and the terminator
	for _, f := range o.fields {
		size += len(f.Key) + len(f.Value.Data) + 2
	}
	b := bsonx.NewBuilder(make([]byte, 0, size))
	b.StartDoc()
	for _, f := range o.fields {
		if err := meter.Did(interrupt.Step+len(f.Value.Data), running); err != nil {
			return bsonx.Missing, err
		}
		b.ValueBytes(f.Key, f.Value)
	}
	b.End()
	return bsonx.Document(b.Bytes()), nil
}
