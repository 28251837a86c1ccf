package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

func find(doc bson.D, field string) int {
	return slices.IndexFunc(doc, func(e bson.E) bool { return e.Key == field })
}

// Default returns a step that adds a field with a value to documents without the field.
func Default(field string, value any) Step {
	return Step{Name: "default of " + field, Up: func(doc bson.D) (bson.D, error) {
		if find(doc, field) < 0 {
			doc = append(doc, bson.E{field, value})
		}
		return doc, nil
	}}
}

// Rename returns a step that renames a field. It fails for documents that have both fields.
func Rename(from, to string) Step {
	return Step{Name: fmt.Sprintf("%s becomes %s", from, to), Up: func(doc bson.D) (bson.D, error) {
		i := find(doc, from)
		if i < 0 {
			return doc, nil
		}
		if find(doc, to) >= 0 {
			return nil, fmt.Errorf("there is a field %s already", to)
		}
		doc[i].Key = to
		return doc, nil
	}}
}

// Remove returns a step that removes a field.
func Remove(field string) Step {
	return Step{Name: "without " + field, Up: func(doc bson.D) (bson.D, error) {
		return slices.DeleteFunc(doc, func(e bson.E) bool { return e.Key == field }), nil
	}}
}

// Group returns a step that moves fields into a subdocument at the position of the first of them. A
// reader can then skip the whole group by its length. The step fails for documents that already
// have a field with the group's name.
func Group(name string, fields ...string) Step {
	return Step{Name: "group " + name, Up: func(doc bson.D) (bson.D, error) {
		var group bson.D
		at := -1
		out := make(bson.D, 0, len(doc))
		for _, e := range doc {
			switch {
			case e.Key == name && !slices.Contains(fields, name):
				return nil, fmt.Errorf("there is a field %s already", name)
			case !slices.Contains(fields, e.Key):
				out = append(out, e)
			default:
				if at < 0 {
					at = len(out)
				}
				group = append(group, e)
			}
		}
		if at < 0 {
			return out, nil
		}
		return slices.Insert(out, at, bson.E{name, group}), nil
	}}
}

// Inspected returns the number of field names that a reader without an index compares until it
// finds a path in a document, or knows that the path does not exist. Array elements are addressed
// by their positions.
func Inspected(doc bson.Raw, path string) (int, error) {
	n := 0
	for {
		name, rest, below := strings.Cut(path, ".")
		elements, err := doc.Elements()
		if err != nil {
			return n, fmt.Errorf("schema: inspect a document: %w", err)
		}
		i := slices.IndexFunc(elements, func(e bson.RawElement) bool { return e.Key() == name })
		if i < 0 {
			return n + len(elements), nil
		}
		n += i + 1
		if !below {
			return n, nil
		}
		switch v := elements[i].Value(); v.Type {
		case bson.TypeEmbeddedDocument, bson.TypeArray:
			doc = bson.Raw(v.Value)
		default:
			return n, nil // the path does not exist
		}
		path = rest
	}
}

// isPosition reports whether a part of a path is a position in an array.
func isPosition(part string) bool {
	_, err := strconv.ParseUint(part, 10, 32)
	return err == nil || strings.HasPrefix(part, "$")
}
