package oplogtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
)

// NewMirror returns a Replica that applies the events of a change stream of all databases with
// showExpandedEvents. Events do not tell the order of the fields of an updated document, and do not
// cover time series.
func NewMirror() *Replica {
	r := NewReplica()
	r.events = true
	return r
}

// ApplyEvent applies an event of the change stream.
func (r *Replica) ApplyEvent(event bsonx.Doc) error {
	r.applied++
	name := event.Lookup("operationType").Str()
	if name == "dropDatabase" {
		return r.dropDatabase(event.LookupPath("ns", "db").Str())
	}
	ns := event.LookupPath("ns", "db").Str() + "." + event.LookupPath("ns", "coll").Str()
	description, uuid := event.Lookup("operationDescription"), event.Lookup("collectionUUID")
	if name == "create" {
		return r.create(ns, uuid, description.Doc())
	}
	c := r.collections[ns]
	if c == nil || !c.uuid.Identical(uuid) {
		return fmt.Errorf("%s of %s, which does not exist", name, ns)
	}
	switch name {
	case "insert", "update", "replace", "delete":
		return c.event(name, event)
	case "drop":
		delete(r.collections, ns)
		return nil
	case "rename":
		to := event.LookupPath("to", "db").Str() + "." + event.LookupPath("to", "coll").Str()
		return r.rename(ns, description.Doc().With("to", bsonx.String(to)))
	case "modify":
		return c.modify(description.Doc())
	case "createIndexes", "dropIndexes":
		return c.indexEvent(name, description.Doc().Lookup("indexes").Doc().Values())
	default:
		return fmt.Errorf("unknown event %s", name)
	}
}

func (c *collection) indexEvent(name string, specs []bsonx.Value) error {
	for _, spec := range specs {
		err := error(nil)
		if name == "createIndexes" {
			err = c.createIndex(spec.Doc().Clone())
		} else {
			err = c.dropIndex(spec.Doc().Lookup("name").Str())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// event applies an event that describes the change of a document.
func (c *collection) event(name string, event bsonx.Doc) error {
	key := event.Lookup("documentKey").Doc()
	op := bsonx.NewDoc("o2", key)
	switch name {
	case "insert":
		return c.change(oplog.Insert, event.Lookup("fullDocument").Doc(), op)
	case "delete":
		return c.change(oplog.Delete, key, op)
	case "replace":
		return c.change(oplog.Update, event.Lookup("fullDocument").Doc(), op)
	}
	old, ok := c.docs[keyOf(key)]
	if !ok {
		return fmt.Errorf("update of a document that does not exist")
	}
	doc, err := updated(old, event.Lookup("updateDescription").Doc())
	if err != nil {
		return err
	}
	return c.change(oplog.Update, doc, op)
}

// updated returns doc after the update that an updateDescription describes.
func updated(doc, description bsonx.Doc) (bsonx.Doc, error) {
	ambiguous := description.Lookup("disambiguatedPaths").Doc()
	v := bsonx.Document(doc)
	var err error
	set := func(path string, change func(bsonx.Value) (bsonx.Value, error)) {
		if err == nil {
			v, err = at(v, components(path, ambiguous), change)
		}
	}
	for it := description.Lookup("truncatedArrays").Doc().Iter(); it.Next(); {
		size, _ := it.Value().Doc().Lookup("newSize").AsInt64()
		set(it.Value().Doc().Lookup("field").Str(), func(old bsonx.Value) (bsonx.Value, error) {
			if old.Type != bsonx.TypeArray || int64(old.Doc().Len()) < size {
				return old, fmt.Errorf("%v is truncated to %d elements", bsonx.FormatShell(old), size)
			}
			return bsonx.NewArray(anys(old.Doc().Values()[:size])...), nil
		})
	}
	for it := description.Lookup("removedFields").Doc().Iter(); it.Next(); {
		set(it.Value().Str(), func(old bsonx.Value) (bsonx.Value, error) {
			if old.IsMissing() {
				return old, fmt.Errorf("removal of the field %s, which is not there", it.Value().Str())
			}
			return bsonx.Missing, nil
		})
	}
	for it := description.Lookup("updatedFields").Doc().Iter(); it.Next(); {
		set(string(it.Key()), func(bsonx.Value) (bsonx.Value, error) { return it.Value(), nil })
	}
	return v.Doc(), err
}

func anys(values []bsonx.Value) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

// components splits a path.
func components(path string, ambiguous bsonx.Doc) (out []string) {
	parts := ambiguous.Lookup(path)
	if parts.IsMissing() {
		return strings.Split(path, ".")
	}
	for it := parts.Doc().Iter(); it.Next(); {
		if n, ok := it.Value().AsExactInt64(); ok {
			out = append(out, strconv.FormatInt(n, 10))
		} else {
			out = append(out, it.Value().Str())
		}
	}
	return out
}

// at replaces the value at a path of a document or an array.
func at(v bsonx.Value, path []string, change func(bsonx.Value) (bsonx.Value, error)) (bsonx.Value, error) {
	if len(path) == 0 {
		return change(v)
	}
	switch v.Type {
	case bsonx.TypeDocument:
		field, err := at(v.Doc().Lookup(path[0]), path[1:], change)
		return bsonx.Document(v.Doc().With(path[0], field)), err
	case bsonx.TypeArray:
		values := v.Doc().Values()
		i, err := strconv.Atoi(path[0])
		if err != nil || i < 0 || i > len(values) {
			return v, fmt.Errorf("element %s of an array of %d", path[0], len(values))
		}
		if i == len(values) {
			values = append(values, bsonx.Missing)
		}
		values[i], err = at(values[i], path[1:], change)
		return bsonx.NewArray(anys(values)...), err
	default:
		return v, fmt.Errorf("field %s of %v", path[0], bsonx.FormatShell(v))
	}
}

// sorted returns a value with all fields sorted by name.
func sorted(v bsonx.Value) bsonx.Value {
	switch v.Type {
	case bsonx.TypeDocument:
		var names []string
		for it := v.Doc().Iter(); it.Next(); {
			names = append(names, string(it.Key()))
		}
		b := bsonx.NewBuilder(nil)
		b.StartDoc()
		for _, name := range slices.Sorted(slices.Values(names)) {
			b.Value(name, sorted(v.Doc().Lookup(name)))
		}
		b.End()
		return bsonx.Document(b.Bytes())
	case bsonx.TypeArray:
		var values []any
		for _, e := range v.Doc().Values() {
			values = append(values, sorted(e))
		}
		return bsonx.NewArray(values...)
	default:
		return v
	}
}
