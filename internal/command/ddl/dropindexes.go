package ddl

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// DropIndexesCommands returns the definition of dropIndexes.
func DropIndexesCommands() []command.Definition {
	return []command.Definition{{
		Name: "dropIndexes", Aliases: []string{"deleteIndexes"}, Help: "Removes indexes from a collection.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run:    runDropIndexes,
		Fields: []command.Field{{Name: "index", Type: indexNameTypes, Required: true}, command.CollectionUUID},
	}}
}

func runDropIndexes(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if err := checkIndexNames(req.Get("index")); err != nil {
		return err
	}
	return OnNewest(req, req.DB, name, func(*table.Collection) error { return dropIndexes(req, name, reply) })
}

// indexNameTypes are the types of dropIndexes' argument index. Like MongoDB's, the error message
// does not mention arrays.
var indexNameTypes = command.FieldType{
	Types: []bsonx.Type{bsonx.TypeString, bsonx.TypeDocument, bsonx.TypeArray}, Variant: true,
	Told: "types '[string, object]'",
}

// checkIndexNames returns an error if an array has an element that is not a string.
func checkIndexNames(v bsonx.Value) error {
	if v.Type != bsonx.TypeArray {
		return nil
	}
	for i, name := range v.Doc().Values() {
		switch {
		case name.Type == bsonx.TypeString:
		case i == 0: // the first element decides the array's type in the message
			return command.WrongType("dropIndexes.index", bsonx.TypeArray, command.FieldType{Told: "types '[string]'"})
		default:
			return command.WrongType("dropIndexes.index."+bsonx.IndexKey(i), name.Type, command.String)
		}
	}
	return nil
}

func dropIndexes(req *command.Request, name string, reply *bsonx.Builder) error {
	c, err := existing(req, name)
	if err != nil {
		return err
	}
	index := req.Get("index")
	if c.Timeseries != nil && index.Type == bsonx.TypeDocument {
		index = bsonx.Document(c.Timeseries.BucketKey(index.Doc()))
	}
	names, all, err := indexesToDrop(c, index)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if err := schema.DropIndexes(req.Service.Store, c, names...); err != nil {
			return err
		}
	}
	reply.Int32("nIndexesWas", int32(indexCount(c)))
	if all {
		reply.String("msg", "non-_id indexes dropped for collection")
	}
	return nil
}

// existing returns the collection that a write to name changes. It returns an error if the
// collection does not exist or is a view.
func existing(r *command.Request, name string) (*table.Collection, error) {
	c, err := command.ExistingTarget(r, r.DB, name)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns not found %s.%s", r.DB, name)
	}
	return c, nil
}

var errDropID = mongoerr.New(mongoerr.InvalidOptions, "cannot drop _id index")

// indexesToDrop returns the names of the indexes that the argument v selects. all is true for "*".
func indexesToDrop(c *table.Collection, v bsonx.Value) (names []string, all bool, err error) {
	switch v.Type {
	case bsonx.TypeDocument:
		name, err := indexByKey(c, v.Doc())
		return []string{name}, false, err
	case bsonx.TypeArray:
		for it := v.Doc().Iter(); it.Next(); {
			name, err := indexByName(c, it.Value().Str())
			if err != nil {
				return nil, false, err
			}
			names = append(names, name)
		}
		return names, false, nil
	default:
		if v.Str() != "*" {
			name, err := indexByName(c, v.Str())
			return []string{name}, false, err
		}
		for _, ix := range c.Indexes {
			names = append(names, ix.Name)
		}
		return names, true, nil
	}
}

func indexByName(c *table.Collection, name string) (string, error) {
	if name != "" {
		if err := refuseDrop(c, name); err != nil {
			return "", err
		}
	}
	if c.Index(name) == nil {
		return "", mongoerr.New(mongoerr.IndexNotFound, "index not found with name [%s]", name)
	}
	return name, nil
}

func indexByKey(c *table.Collection, key bsonx.Doc) (string, error) {
	if sameKeyPattern(key, command.IDIndexSpec.Lookup("key").Doc()) {
		return "", refuseDrop(c, "")
	}
	var found []string
	for _, ix := range c.Indexes {
		if sameKeyPattern(ix.Key, key) {
			found = append(found, ix.Name)
		}
	}
	spec := func(i int) string { return bsonx.FormatShell(bsonx.Document(c.Collection.Index(found[i]).Spec)) }
	switch len(found) {
	case 0:
		return "", mongoerr.New(mongoerr.IndexNotFound, "can't find index with key: %s",
			bsonx.FormatShell(bsonx.Document(key)))
	case 1:
		return found[0], nil
	}
	return "", mongoerr.New(mongoerr.AmbiguousIndexKeyPattern, "%d indexes found for key: %s, identify by name instead. Conflicting indexes: %s, %s",
		len(found), bsonx.FormatShell(bsonx.Document(key)), spec(0), spec(1))
}
