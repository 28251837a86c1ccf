package ddl

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
)

// ListIndexesCommands returns the definition of listIndexes.
func ListIndexesCommands() []command.Definition {
	return []command.Definition{{
		Name: "listIndexes", ByUUID: true, Help: "Lists the indexes of a collection.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runListIndexes,
		Fields: []command.Field{
			{Name: "cursor", Type: command.Object, Fields: command.CursorFields},
			{Name: "includeIndexBuildInfo", Type: command.SafeBool, Unstable: true},
			{Name: "includeBuildUUIDs", Type: command.SafeBool, Unstable: true},
		},
	}}
}

func runListIndexes(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if _, err := req.ListBatch(); err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", req.DB, name)
	}
	if read.IsVirtual(c) {
		return command.ReplyList(ctx, req, reply, name, read.ListOf([]bsonx.Doc{command.IDIndexSpec}))
	}
	if _, err := existing(req, name); err != nil {
		return err
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		return command.ReplyList(ctx, req, reply, name, read.ListOf(seriesIndexes(buckets)))
	}
	var first []bsonx.Doc
	if spec := command.ClusteredIndexSpec(c.Options); spec != nil {
		first = append(first, spec)
	} else if spec := command.IDIndexOf(c.Options); spec != nil {
		first = append(first, spec)
	}
	return command.ReplyList(ctx, req, reply, name,
		read.List{N: len(first) + len(c.Indexes), At: func(i int) (bsonx.Doc, error) {
			if i < len(first) {
				return first[i], nil
			}
			return listedIndex(c.Indexes[i-len(first)].Spec), nil
		}})
}

// listedOptions are the fields of an index specification, in the order of listIndexes.
var listedOptions = []string{
	"v", "key", "name", "background", "unique", "hidden", "partialFilterExpression", "sparse", "expireAfterSeconds",
	"storageEngine", "weights", "default_language", "language_override", "textIndexVersion", "2dsphereIndexVersion",
	"bits", "min", "max", "bucketSize", "collation", "wildcardProjection", "coarsestIndexedLevel", "finestIndexedLevel",
	"prepareUnique", "clustered", "originalSpec",
}

// listedIndex returns a specification with the field order and the number types of listIndexes. The
// catalog keeps the numbers as the client sent them, because error messages show the numbers
// unchanged.
func listedIndex(spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, name := range listedOptions {
		b.Value(name, listedOption(name, spec.Lookup(name)))
	}
	b.End()
	return b.Bytes()
}

func listedOption(name string, v bsonx.Value) bsonx.Value {
	if !v.Type.IsNumber() {
		return v
	}
	switch name {
	case "min", "max":
		f, _ := v.AsFloat64()
		return bsonx.Double(f)
	case "bits", "textIndexVersion", "2dsphereIndexVersion", "coarsestIndexedLevel", "finestIndexedLevel":
		return bsonx.Int32(int32(bsonx.SaturatingInt64(v)))
	default:
		return v
	}
}
