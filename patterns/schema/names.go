package schema

import (
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Errors of names.
var (
	// ErrNameTaken is returned if two fields would have the same name.
	ErrNameTaken = errors.New("schema: two fields would have one name")
	// ErrExpression is returned for parts that Shorten cannot translate: expressions, JavaScript,
	// JSON schemas and pipelines.
	ErrExpression = errors.New("schema: fields in expressions cannot be renamed")
	// ErrTooDeep is returned for documents with more levels than the database allows.
	ErrTooDeep = errors.New("schema: the document is nested too deeply")
)

const maxDepth = 200

// Names translates long field names, which people read, to short ones, which the database stores.
// It leaves unknown names as they are. It is immutable. Programs whose documents are Go structs do
// not need Names: their tags do the same.
type Names struct{ toShort, toLong *names }

// names translates the field names of one level of documents.
type names struct {
	fields map[string]*names
	name   string
	taken  map[string]bool // the translated names of this level; no two fields may have the same
}

func newNames(name string) *names {
	return &names{name: name, fields: map[string]*names{}, taken: map[string]bool{}}
}

func (n *names) field(old, name string) *names {
	if n.fields[old] == nil {
		n.fields[old] = newNames(name)
	}
	return n.fields[old]
}

// NewNames returns the translation for a map from the long path of a field, such as "pricing.list",
// to the short name of the path's last part. The elements of an array have the path of the array.
func NewNames(short map[string]string) (*Names, error) {
	out := &Names{newNames(""), newNames("")}
	for path := range short {
		to, from, at := out.toShort, out.toLong, ""
		for part := range strings.SplitSeq(path, ".") {
			at = strings.TrimPrefix(at+"."+part, ".")
			name, ok := short[at]
			if !ok {
				name = part
			}
			if part == "" || name == "" || strings.HasPrefix(part, "$") ||
				strings.HasPrefix(name, "$") || strings.Contains(name, ".") {
				return nil, fmt.Errorf("schema: %q cannot be called %q", at, name)
			}
			if other := from.fields[name]; other != nil && other.name != part {
				return nil, fmt.Errorf("%w: %s and %s are both %s", ErrNameTaken, at, other.name, name)
			}
			to.taken[name], from.taken[part] = true, true
			to, from = to.field(part, name), from.field(name, part)
		}
	}
	return out, nil
}

// Path returns the stored path of a field.
func (n *Names) Path(long string) string {
	path, _, _ := n.toShort.path(long) // a name conflict matters only if both fields exist
	return path
}

// path translates a path, and returns the names of the fields below it, or nil if they are unknown.
func (n *names) path(old string) (string, *names, error) {
	parts := strings.Split(old, ".")
	var err error
	for i, part := range parts {
		below := (*names)(nil)
		if n != nil {
			below = n.fields[part]
		}
		switch {
		case below != nil:
			parts[i], n = below.name, below
		case isPosition(part):
		default:
			if n != nil && n.taken[part] {
				err = fmt.Errorf("%w: %s", ErrNameTaken, part)
			}
			n = nil
		}
	}
	return strings.Join(parts, "."), n, err
}

// Shorten translates a document, a filter, an update, a projection, a sort or the keys of an index
// to the stored names. It fails with ErrExpression if the value contains $expr, $where or
// $jsonSchema.
func (n *Names) Shorten(v any) (bson.D, error) { return n.toShort.document(v) }

// Lengthen translates a stored document to the long names.
func (n *Names) Lengthen(v any) (bson.D, error) { return n.toLong.document(v) }

// Decode translates a stored document to the long names and decodes it into v.
func (n *Names) Decode(doc bson.Raw, v any) error {
	long, err := n.Lengthen(doc)
	if err != nil {
		return err
	}
	data, err := bson.Marshal(long)
	if err == nil {
		err = bson.Unmarshal(data, v)
	}
	if err != nil {
		return fmt.Errorf("schema: decode a document: %w", err)
	}
	return nil
}

func (n *names) document(v any) (bson.D, error) {
	data, err := bson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("schema: rename the fields of a %T: %w", v, err)
	}
	var doc bson.D
	if err := bson.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("schema: rename the fields of a %T: %w", v, err)
	}
	return n.fieldsOf(doc, maxDepth)
}

func (n *names) fieldsOf(doc bson.D, depth int) (bson.D, error) {
	out := make(bson.D, len(doc))
	for i, e := range doc {
		name, below, err := e.Key, n, error(nil)
		switch e.Key {
		case "$expr", "$where", "$jsonSchema":
			return nil, fmt.Errorf("%w: %s", ErrExpression, e.Key)
		case "$rename":
			if e.Value, err = n.targets(e.Value); err != nil {
				return nil, err
			}
		default:
			// the value of an operator belongs to the operator's field, or to the document
			if !strings.HasPrefix(e.Key, "$") {
				name, below, err = n.path(e.Key)
			}
		}
		if err != nil {
			return nil, err
		}
		value, err := below.value(e.Value, depth-1)
		if err != nil {
			return nil, err
		}
		out[i] = bson.E{name, value}
	}
	return out, nil
}

// targets translates the target names of $rename.
func (n *names) targets(v any) (any, error) {
	doc, ok := v.(bson.D)
	if !ok {
		return v, nil
	}
	out := make(bson.D, len(doc))
	for i, e := range doc {
		out[i] = e
		to, ok := e.Value.(string)
		if !ok {
			continue
		}
		path, _, err := n.path(to)
		if err != nil {
			return nil, err
		}
		out[i].Value = path
	}
	return out, nil
}

func (n *names) value(v any, depth int) (any, error) {
	if n == nil {
		return v, nil // the names below are unknown
	}
	if depth == 0 {
		return nil, ErrTooDeep
	}
	switch v := v.(type) {
	case bson.D:
		return n.fieldsOf(v, depth)
	case bson.A:
		out := make(bson.A, len(v))
		for i, e := range v {
			one, err := n.value(e, depth-1)
			if err != nil {
				return nil, err
			}
			out[i] = one
		}
		return out, nil
	}
	return v, nil
}
