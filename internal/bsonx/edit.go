package bsonx

import "slices"

// With returns a copy of the document with the field key set to v. It replaces the field, or
// appends it if the document does not have it. A missing v removes the field.
func (d Doc) With(key string, v Value) Doc {
	b := NewBuilder(make([]byte, 0, len(d)+len(key)+len(v.Data)+2))
	b.StartDoc()
	found := false
	for it := d.Iter(); it.Next(); {
		if string(it.Key()) == key {
			found = true
			b.Value(key, v)
			continue
		}
		b.ValueBytes(it.Key(), it.Value())
	}
	if !found {
		b.Value(key, v)
	}
	b.End()
	return b.Bytes()
}

// Without returns a copy of the document without the fields keys.
func (d Doc) Without(keys ...string) Doc {
	b := NewBuilder(make([]byte, 0, len(d)))
	b.StartDoc()
	for it := d.Iter(); it.Next(); {
		if !slices.Contains(keys, string(it.Key())) {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}
