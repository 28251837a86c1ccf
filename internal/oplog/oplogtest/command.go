package oplogtest

import (
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// command applies the oplog entry of a command to the replica.
func (r *Replica) command(db string, op, o bsonx.Doc) error {
	first := o.First()
	name := string(first.Key)
	if name == "applyOps" {
		for it := first.Value.Doc().Iter(); it.Next(); {
			if err := r.operation(it.Value().Doc()); err != nil {
				return err
			}
		}
		return nil
	}
	if name == "dropDatabase" {
		return r.dropDatabase(db)
	}
	ns := db + "." + first.Value.Str()
	if name == "create" {
		return r.create(ns, op.Lookup("ui"), o)
	}
	if name == "renameCollection" {
		ns = first.Value.Str()
	}
	c := r.collections[ns]
	if c == nil || !c.uuid.Identical(op.Lookup("ui")) {
		return fmt.Errorf("%s of %s, which does not exist", name, ns)
	}
	switch name {
	case "drop":
		delete(r.collections, ns)
		return nil
	case "renameCollection":
		return r.rename(ns, o)
	case "createIndexes":
		return c.createIndex(o.Without("createIndexes"))
	case "dropIndexes":
		return c.dropIndex(o.Lookup("index").Str())
	case "collMod":
		return c.modify(o.Without("collMod"))
	default:
		return fmt.Errorf("unknown command %s", name)
	}
}

// dropDatabase checks that the database has no collections. Each collection is dropped by an oplog
// entry of its own before.
func (r *Replica) dropDatabase(db string) error {
	for ns := range r.collections {
		if strings.HasPrefix(ns, db+".") {
			return fmt.Errorf("%s is left in a dropped database", ns)
		}
	}
	return nil
}

func (r *Replica) create(ns string, uuid bsonx.Value, o bsonx.Doc) error {
	if r.collections[ns] != nil {
		return fmt.Errorf("create of %s, which exists", ns)
	}
	r.collections[ns] = &collection{
		uuid: uuid.Clone(), options: o.Without("create", "idIndex"),
		indexes: map[string]bsonx.Doc{}, docs: map[string]bsonx.Doc{},
	}
	return nil
}

func (r *Replica) rename(from string, o bsonx.Doc) error {
	to, target := o.Lookup("to").Str(), o.Lookup("dropTarget")
	replaced := r.collections[to]
	if (replaced != nil) != !target.IsMissing() || replaced != nil && !replaced.uuid.Identical(target) {
		return fmt.Errorf("rename to %s, which exists: %t", to, replaced != nil)
	}
	r.collections[to] = r.collections[from]
	delete(r.collections, from)
	return nil
}

func (c *collection) createIndex(spec bsonx.Doc) error {
	name := spec.Lookup("name").Str()
	if c.indexes[name] != nil {
		return fmt.Errorf("the index %s exists", name)
	}
	c.indexes[name] = spec
	return nil
}

func (c *collection) dropIndex(name string) error {
	if c.indexes[name] == nil {
		return fmt.Errorf("the index %s does not exist", name)
	}
	delete(c.indexes, name)
	return nil
}

// modify applies a collMod. The entry has the fields of the command.
func (c *collection) modify(o bsonx.Doc) error {
	for it := o.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		switch key {
		case "index":
			if err := c.modifyIndex(v.Doc()); err != nil {
				return err
			}
			continue
		case "cappedSize":
			key = "size"
		case "cappedMax":
			key = "max"
		case "validator":
			if v.Doc().IsEmpty() {
				v = bsonx.Missing
			}
		case "changeStreamPreAndPostImages":
			if !v.Doc().Lookup("enabled").Truthy() {
				v = bsonx.Missing
			}
		case "expireAfterSeconds":
			if v.Type == bsonx.TypeString {
				v = bsonx.Missing
			}
		}
		c.options = c.options.With(key, v)
	}
	return nil
}

func (c *collection) modifyIndex(o bsonx.Doc) error {
	spec := c.indexes[o.Lookup("name").Str()]
	if spec == nil {
		return fmt.Errorf("the index %v does not exist", o.Lookup("name"))
	}
	for it := o.Iter(); it.Next(); {
		v := it.Value()
		if v.Type == bsonx.TypeBool && !v.Bool() {
			v = bsonx.Missing
		}
		spec = spec.With(string(it.Key()), v)
	}
	c.indexes[o.Lookup("name").Str()] = spec
	return nil
}
