package expr

import (
	"bytes"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func ObjectOperators() []Definition {
	return []Definition{
		lazily(watchN("$mergeObjects", "object", 0, -1, mergeObjects), 1),
		watch1("$objectToArray", "object", objectToArray),
		watch1("$arrayToObject", "object", arrayToObject),
		{Name: "$getField", Family: "object", min: 1, max: 1, Parse: parseGetField, Late: true},
		{Name: "$setField", Family: "object", min: 1, max: 1, Parse: parseSetField, Late: true},
		{Name: "$unsetField", Family: "object", min: 1, max: 1, Parse: parseUnsetField, Late: true},
		op1("$bsonSize", "object", bsonSize),
		op1("$binarySize", "object", binarySize),
	}
}

func mergeObjects(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if err := checkBytes("$mergeObjects", totalBytes(args)); err != nil {
		return bsonx.Missing, err
	}
	var merged ObjectBuilder
	var meter interrupt.Meter
	if len(args) == 1 && args[0].Type == bsonx.TypeArray {
		for it := args[0].Doc().Iter(); it.Next(); {
			if err := merged.merge(it.Value(), &meter, running); err != nil {
				return bsonx.Missing, err
			}
		}
		return merged.Document(&meter, running)
	}
	for _, v := range args {
		if err := merged.merge(v, &meter, running); err != nil {
			return bsonx.Missing, err
		}
	}
	return merged.Document(&meter, running)
}

// mergeWork is the work of merging a field.
const mergeWork = 2 * interrupt.Step

// merge sets the fields of an operand of $mergeObjects.
func (o *ObjectBuilder) merge(v bsonx.Value, meter *interrupt.Meter, running *interrupt.Running) error {
	if Nullish(v) {
		return nil
	}
	if v.Type != bsonx.TypeDocument {
		return mongoerr.New(40400, "$mergeObjects requires object inputs, but input %s is of type %s", Show(v), v.Type)
	}
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(mergeWork, running); err != nil {
			return err
		}
		o.Set(it.Key(), it.Value())
	}
	return nil
}

// ObjectBuilder is a document whose fields are replaced where they stand.
type ObjectBuilder struct {
	fields []bsonx.Elem
	index  map[string]int
}

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

func (o *ObjectBuilder) Document(meter *interrupt.Meter, running *interrupt.Running) (bsonx.Value, error) {
	size := 5 // the length and the end
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

func objectToArray(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, mongoerr.New(40390, "$objectToArray requires a document input, found: %s", v.Type)
	}
	var meter interrupt.Meter
	b := bsonx.NewBuilder(nil)
	b.StartArray()
	for it := v.Doc().Iter(); it.Next(); {
		if err := meter.Did(interrupt.Step+len(it.Value().Data), running); err != nil {
			return bsonx.Missing, err
		}
		b.StartDocElem()
		b.String("k", string(it.Key()))
		b.Value("v", it.Value())
		b.End()
		if err := checkBytes("$objectToArray", b.Len()); err != nil {
			return bsonx.Missing, err
		}
	}
	b.End()
	return bsonx.Array(b.Bytes()), nil
}

func arrayToObject(v bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
	if Nullish(v) {
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

// keyAndValue reads an element of $arrayToObject, which has the form of the first: a pair or {k, v}.
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
		return key, value, mongoerr.New(40393, "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: %s", Show(bsonx.Document(d)))
	}
	if key.Type != bsonx.TypeString {
		err = mongoerr.New(40394, "$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. Found type: %s", key.Type)
	}
	return key, value, err
}

func bsonSize(v bsonx.Value) (bsonx.Value, error) {
	if Nullish(v) {
		return bsonx.Null, nil
	}
	if v.Type != bsonx.TypeDocument {
		return bsonx.Missing, mongoerr.New(31393, "$bsonSize requires a document input, found: %s", v.Type)
	}
	return bsonx.Int32(int32(len(v.Data))), nil
}

func binarySize(v bsonx.Value) (bsonx.Value, error) {
	switch {
	case Nullish(v):
		return bsonx.Null, nil
	case v.Type == bsonx.TypeString:
		return bsonx.Int32(int32(len(v.StrBytes()))), nil
	case v.Type == bsonx.TypeBinary:
		_, data := v.Binary()
		return bsonx.Int32(int32(len(data))), nil
	}
	return bsonx.Missing, mongoerr.New(51276, "$binarySize requires a string or BinData argument, found: %s", v.Type)
}
