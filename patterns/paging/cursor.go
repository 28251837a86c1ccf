package paging

import (
	"encoding/base64"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Cursor is a position in the order of the documents. It holds the values that a document has in
// the sort fields.
type Cursor struct{ values []bson.RawValue }

// String returns the cursor as text that contains only letters, digits, '-' and '_'.
func (c *Cursor) String() string {
	doc := bson.D{}
	for _, v := range c.values {
		doc = append(doc, bson.E{Value: v})
	}
	data, err := bson.Marshal(doc)
	if err != nil {
		panic("paging: values that were read cannot be written: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// MarshalText implements encoding.TextMarshaler.
func (c *Cursor) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Parse returns the cursor of a text that String has returned. The cursor must come from a pager
// with the same sort fields. ErrCursor is returned if the text is not a cursor, or has another
// number of values; Parse cannot check the names of the fields.
func (p *Pager[T]) Parse(text string) (*Cursor, error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || bson.Raw(data).Validate() != nil {
		return nil, ErrCursor
	}
	values, err := bson.Raw(data).Values()
	if err != nil || len(values) != len(p.keys) {
		return nil, ErrCursor
	}
	for i, v := range values {
		if _, ok := classOf(v); !ok || i == len(p.keys)-1 && v.Type == bson.TypeNull {
			return nil, ErrCursor
		}
	}
	return &Cursor{values: values}, nil
}

// place returns the cursor of a document.
func (p *Pager[T]) place(doc bson.Raw) (*Cursor, error) {
	c := &Cursor{}
	for _, k := range p.keys {
		v, err := lookup(doc, k.path)
		if err != nil {
			return nil, err
		}
		c.values = append(c.values, v)
	}
	return c, nil
}

// lookup returns the value by which the server sorts a document. It returns null if the field is
// missing.
func lookup(doc bson.Raw, path string) (bson.RawValue, error) {
	null := bson.RawValue{Type: bson.TypeNull}
	name, rest, nested := strings.Cut(path, ".")
	v, err := doc.LookupErr(name)
	switch {
	case err != nil || v.Type == bson.TypeUndefined:
		return null, nil
	case nested && v.Type == bson.TypeEmbeddedDocument:
		return lookup(v.Document(), rest)
	case nested && v.Type != bson.TypeArray:
		return null, nil
	}
	if _, ok := classOf(v); !ok {
		return null, fmt.Errorf("%w: %s is of type %s", ErrType, path, v.Type)
	}
	return v, nil
}
