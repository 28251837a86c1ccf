package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func listIndexesCommands() []Definition {
	return []Definition{{
		Name: "listIndexes", ByUUID: true, Help: "Lists the indexes of a collection.",
		Run: runListIndexes, API1: true,
		Fields: []Field{
			{Name: "cursor", Type: Object, Fields: cursorFields},
			{Name: "includeIndexBuildInfo", Type: SafeBool, Unstable: true},
			{Name: "includeBuildUUIDs", Type: SafeBool, Unstable: true},
		},
	}}
}

func runListIndexes(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if _, err := req.listBatch(); err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", req.DB, name)
	}
	if isVirtual(c) {
		return replyList(ctx, req, reply, name, listOf([]bsonx.Doc{idIndexSpec}))
	}
	if _, err := req.existing(name); err != nil {
		return err
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		return replyList(ctx, req, reply, name, listOf(seriesIndexes(buckets)))
	}
	var first []bsonx.Doc
	if spec := clusteredIndexSpec(c.Options); spec != nil {
		first = append(first, spec)
	} else if spec := idIndexOf(c.Options); spec != nil {
		first = append(first, spec)
	}
	return replyList(ctx, req, reply, name, list{n: len(first) + len(c.Indexes), at: func(i int) (bsonx.Doc, error) {
		if i < len(first) {
			return first[i], nil
		}
		return listedIndex(c.Indexes[i-len(first)].Spec), nil
	}})
}

// listedOptions are the fields of a specification in the order in which listIndexes shows them.
var listedOptions = []string{
	"v", "key", "name", "background", "unique", "hidden", "partialFilterExpression", "sparse", "expireAfterSeconds",
	"storageEngine", "weights", "default_language", "language_override", "textIndexVersion", "2dsphereIndexVersion",
	"bits", "min", "max", "bucketSize", "collation", "wildcardProjection", "coarsestIndexedLevel", "finestIndexedLevel",
	"prepareUnique", "clustered", "originalSpec",
}

// listedIndex returns a specification with its fields in the order and the types of the listing: the catalog has
// the numbers as the client gave them, and so have the errors that repeat a specification.
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
		return bsonx.Int32(int32(saturatingInt64(v)))
	default:
		return v
	}
}
