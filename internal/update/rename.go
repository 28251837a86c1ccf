package update

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// rename compiles one field of $rename into two leaves. The leaf at the destination copies the
// value of the source. The leaf at the source removes the value. Both leaves see the original
// document, because no other operator can change either path.
func (p *parser) rename(def *definition, from string, arg bsonx.Value) error {
	fromParts, err := parsePath(nil, from)
	if err != nil {
		return err
	}
	// MongoDB reports a conflict at the source first.
	if err := p.add(def, fromParts, from, renameSource{}); err != nil {
		return err
	}
	to, toParts, err := renameDestination(from, arg)
	if err != nil {
		return err
	}
	if err := checkRename(from, fromParts, to, toParts); err != nil {
		return err
	}
	return p.add(def, toParts, to, &renameTarget{from: strings.Split(from, "."), to: strings.Split(to, ".")})
}

// renameDestination parses the argument of $rename for the path from.
func renameDestination(from string, arg bsonx.Value) (string, []component, error) {
	if arg.Type != bsonx.TypeString {
		return "", nil, mongoerr.New(mongoerr.BadValue,
			"The 'to' field for $rename must be a string: %s: %s", from, shell(arg))
	}
	to := arg.Str()
	if strings.ContainsRune(to, 0) {
		return "", nil, mongoerr.New(mongoerr.BadValue, "The 'to' field for $rename cannot contain an embedded null byte")
	}
	parts, err := parsePath(nil, to)
	return to, parts, err
}

// checkRename checks that neither path contains the other, and that neither has steps through
// arrays.
func checkRename(from string, fromParts []component, to string, toParts []component) error {
	switch {
	case from == to:
		return mongoerr.New(mongoerr.BadValue, "The source and target field for $rename must differ: %s: \"%s\"", from, to)
	case related(from, to):
		return mongoerr.New(mongoerr.BadValue,
			"The source and target field for $rename must not be on the same path: %s: \"%s\"", from, to)
	}
	dynamic := func(c component) bool { return c.step != stepField }
	if slices.ContainsFunc(fromParts, dynamic) {
		return mongoerr.New(mongoerr.BadValue, "The source field for $rename may not be dynamic: %s", from)
	}
	if slices.ContainsFunc(toParts, dynamic) {
		return mongoerr.New(mongoerr.BadValue, "The destination field for $rename may not be dynamic: %s", to)
	}
	return nil
}

// renameSource removes the value at the source path of a $rename. renameTarget handles a source
// that is missing or inside an array.
type renameSource struct{ ignoresMissing }

func (renameSource) existing(*applier, bsonx.Value) (change, error) {
	return change{kind: changeRemove, shrunk: true}, nil
}

func (renameSource) tolerant() bool { return true }

// renameTarget sets the destination of a $rename to the value at the source.
type renameTarget struct{ from, to []string }

func (op *renameTarget) existing(a *applier, _ bsonx.Value) (change, error) {
	source, found, err := op.source(a)
	if err != nil || !found {
		return change{}, err
	}
	return set(source), nil
}

func (op *renameTarget) missing(a *applier) (bsonx.Value, bool, error) { return op.source(a) }

// tolerant returns true, because without a source value nothing happens, whatever the destination
// is.
func (op *renameTarget) tolerant() bool { return true }

// source returns the value to move. It fails if one of the paths leads through an array.
func (op *renameTarget) source(a *applier) (bsonx.Value, bool, error) {
	doc := a.doc
	v := bsonx.Document(doc)
	array, name := "", ""
	for i, part := range op.from {
		if v.Type == bsonx.TypeArray {
			array = name
		}
		// All bytes count, because the search for a field begins at the first field.
		if err := a.did(len(v.Data)); err != nil {
			return bsonx.Value{}, false, err
		}
		next, viable := stepInto(v, part)
		if !viable {
			return bsonx.Value{}, false, mongoerr.New(mongoerr.PathNotViable,
				"cannot use the part (%s of %s) to traverse the element ({%s: %s})", op.from[i-1], strings.Join(op.from, "."), name, shell(v))
		}
		if next.IsMissing() {
			return bsonx.Value{}, false, nil
		}
		v, name = next, part
	}
	if array != "" {
		return bsonx.Value{}, false, throughArray("source", op.from, array, doc)
	}
	container := bsonx.Document(doc)
	for i, part := range op.to {
		if err := a.did(len(container.Data)); err != nil {
			return bsonx.Value{}, false, err
		}
		next, _ := stepInto(container, part)
		if container.Type == bsonx.TypeArray {
			return bsonx.Value{}, false, throughArray("destination", op.to, op.to[i-1], doc)
		}
		if next.IsMissing() {
			break
		}
		container = next
	}
	return v, true, nil
}

func throughArray(role string, path []string, array string, doc bsonx.Doc) error {
	return mongoerr.New(mongoerr.BadValue, "The %s field cannot be an array element, '%s' in doc with %s has an array field called '%s'",
		role, strings.Join(path, "."), idElem(doc), array)
}

// stepInto returns a field of a document or an element of an array. viable is false for any other
// value.
func stepInto(v bsonx.Value, part string) (next bsonx.Value, viable bool) {
	switch v.Type {
	case bsonx.TypeDocument:
		return v.Doc().Lookup(part), true
	case bsonx.TypeArray:
		if i := arrayIndex(part); i >= 0 {
			return v.Doc().Index(i), true
		}
	default:
	}
	return bsonx.Value{}, false
}
