package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

// The records of every collection are clustered by _id, except capped collections. The
// option clusteredIndex of create records this explicitly, as in MongoDB.

// clusteredIndexFields are the fields of the clusteredIndex option.
var clusteredIndexFields = []command.Field{
	{Name: "v", Type: command.SafeInt},
	{Name: "key", Type: command.Object, Required: true},
	{Name: "name", Type: command.String},
	{Name: "unique", Type: command.SafeBool, Required: true},
}

// The error codes of MongoDB for clusteredIndex.
const (
	codeClusteredNotUnique  = mongoerr.Code(5979700)
	codeClusteredLegacy     = mongoerr.Code(5979703)
	codeClusteredVersion    = mongoerr.Code(5979704)
	codeClusteredView       = mongoerr.Code(6026500)
	codeClusteredDrop       = mongoerr.Code(5979800)
	codeClusteredOnExisting = mongoerr.Code(6243700)
	codeClusteredFalse      = mongoerr.Code(6492800)
	codeClusteredName       = mongoerr.Code(6100906)
)

// checkClustered checks create's option clusteredIndex, alone and together with other options.
func checkClustered(req *command.Request) error {
	v := req.Get("clusteredIndex")
	switch {
	case v.Truthy() && req.Has("viewOn"):
		return mongoerr.New(codeClusteredView, "The 'clusteredIndex' option is not supported with views")
	case v.Type == bsonx.TypeBool && v.Truthy():
		return mongoerr.New(codeClusteredLegacy, "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for "+
			"specific internal collections and vice versa")
	case v.Type != bsonx.TypeDocument:
		return nil
	}
	if err := checkClusteredIndex(v.Doc()); err != nil {
		return err
	}
	if req.Has("idIndex") {
		return mongoerr.New(mongoerr.InvalidOptions, "The 'clusteredIndex' option is not supported with the 'idIndex' option")
	}
	return nil
}

// checkClusteredFields checks the types of the fields of clusteredIndex. As in MongoDB, the values
// are checked before missing fields.
func checkClusteredFields(spec bsonx.Doc) error {
	switch {
	case spec == nil:
		return nil
	case spec.Lookup("key").Type != bsonx.TypeDocument || spec.Lookup("unique").IsMissing():
		return checkClusteredIndex(spec)
	}
	return command.ParseFields("create.clusteredIndex", spec, clusteredIndexFields,
		func(int, bsonx.Value) error { return nil })
}

func checkClusteredIndex(spec bsonx.Doc) error {
	return command.ParseFields("create.clusteredIndex", spec, clusteredIndexFields, func(i int, v bsonx.Value) error {
		switch clusteredIndexFields[i].Name {
		case "key":
			if !sameKeyPattern(v.Doc(), command.IDIndexSpec.Lookup("key").Doc()) {
				return mongoerr.New(mongoerr.InvalidIndexSpecificationOption, "The clusteredIndex option is only supported for key: {_id: 1}")
			}
		case "unique":
			if !v.Truthy() {
				return mongoerr.New(codeClusteredNotUnique, "The clusteredIndex option requires unique: true to be specified")
			}
		case "v":
			if n := bsonx.SaturatingInt64(v); n != 2 {
				return mongoerr.New(codeClusteredVersion, "Invalid clusteredIndex specification %s; cannot create a clusteredIndex with v=%d",
					bsonx.FormatShell(bsonx.Document(spec)), n)
			}
		}
		return nil
	})
}

// clusteredIndexOption returns the option with defaults for the missing fields, as listCollections
// shows it.
func clusteredIndexOption(spec bsonx.Doc) bsonx.Doc {
	name := spec.Lookup("name")
	if name.Type != bsonx.TypeString || name.Str() == "" { // null and undefined count as absent
		name = bsonx.String("_id_")
	}
	return bsonx.NewDoc("v", 2, "key", spec.Lookup("key"), "name", name, "unique", true)
}

func isClusteredCollection(c *table.Collection) bool {
	return command.ClusteredOption(c.Options) != nil
}

// checkBesideClustered returns an error if the specification s contradicts the clustered index of
// c, or if it is a clustered index and c has none.
func checkBesideClustered(c *table.Collection, s *indexSpec) error {
	clustered := command.ClusteredOption(c.Options)
	switch {
	case s.clustered && (clustered == nil || !s.isID()):
		return inSpecification(mongoerr.New(codeClusteredOnExisting, "Cannot create index with option 'clustered' that does not match an existing clustered index"),
			completeSpec(s.raw))
	case clustered != nil && !s.isID() && s.name == clustered.Lookup("name").Str():
		return mongoerr.New(codeClusteredName, "Cannot create an index where the name matches the clusteredIndex but the key does not - "+
			"indexSpec: %s, clusteredIndex: %s", bsonx.FormatShell(bsonx.Document(s.raw)),
			bsonx.FormatShell(bsonx.Document(clustered)))
	}
	return nil
}

// refuseDrop returns the error for dropping the _id index or the clustered index. name is the name
// of the index to drop, or "" if the client gave the key {_id: 1}. It returns nil for the name of
// another index.
func refuseDrop(c *table.Collection, name string) error {
	clustered := command.ClusteredOption(c.Options)
	switch {
	case clustered != nil && (name == "" || name == clustered.Lookup("name").Str()):
		return mongoerr.New(codeClusteredDrop, "It is illegal to drop the clusteredIndex")
	case clustered == nil && (name == "" || name == "_id_"):
		return errDropID
	}
	return nil
}

// indexCount returns the number of indexes of a collection. The clustering key of a clustered
// collection or of a bucket collection does not count as an index.
func indexCount(c *table.Collection) int {
	if isClusteredCollection(c) || c.Timeseries != nil {
		return len(c.Indexes)
	}
	return len(c.Indexes) + 1
}
