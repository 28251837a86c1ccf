package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
)

func listIndexesCommands() []Definition {
	return []Definition{{
		Name: "listIndexes", ByUUID: true, Help: "Lists the indexes of a collection.",
		Run: runListIndexes, API1: true,
		Fields: []Field{
			{Name: "cursor", Type: Object, Fields: cursorFields},
			{Name: "includeIndexBuildInfo", Type: SafeBool},
			{Name: "includeBuildUUIDs", Type: SafeBool},
		},
	}}
}

func runListIndexes(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", req.DB, name)
	}
	if isVirtual(c) {
		return replyList(ctx, req, reply, name, []bsonx.Doc{idIndexSpec})
	}
	if _, err := req.existing(name); err != nil {
		return err
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		return replyList(ctx, req, reply, name, seriesIndexes(buckets))
	}
	var docs []bsonx.Doc
	if spec := clusteredIndexSpec(c.Options); spec != nil {
		docs = append(docs, spec)
	} else if spec := idIndexOf(c.Options); spec != nil {
		docs = append(docs, spec)
	}
	for _, ix := range c.Indexes {
		docs = append(docs, listedIndex(ix.Spec))
	}
	return replyList(ctx, req, reply, name, docs)
}

// listedOptions are the fields of a specification in the order in which listIndexes shows them.
var listedOptions = []string{
	"v", "key", "name", "background", "unique", "hidden", "partialFilterExpression", "sparse", "expireAfterSeconds",
	"storageEngine", "weights", "default_language", "language_override", "textIndexVersion", "2dsphereIndexVersion",
	"bits", "min", "max", "bucketSize", "collation", "wildcardProjection", "coarsestIndexedLevel", "finestIndexedLevel",
	"prepareUnique", "clustered", "originalSpec",
}

// listedIndex returns a specification with its fields in the order of the listing.
func listedIndex(spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, name := range listedOptions {
		b.Value(name, spec.Lookup(name))
	}
	b.End()
	return b.Bytes()
}

// replyList answers with a cursor over documents that are all in memory.
func replyList(ctx context.Context, req *Request, reply *bsonx.Builder, collection string, docs []bsonx.Doc) error {
	size := int64(-1)
	if cursor := req.Doc("cursor"); cursor != nil {
		err := ParseFields(req.Def.Name+".cursor", cursor, cursorFields, func(_ int, v bsonx.Value) error {
			size = saturatingInt64(v)
			return nil
		})
		if err != nil {
			return err
		}
	}
	src := &listSource{docs: docs}
	b := batch{
		req: req, field: "firstBatch", size: size, source: src, single: len(docs) == 0,
		cursor: &session.Cursor{Source: src, DB: req.DB, Collection: collection, Owner: req.Owner()},
	}
	return b.first(ctx, reply)
}

// listSource is a cursor over documents in memory.
type listSource struct{ docs []bsonx.Doc }

// Next implements session.Source.
func (s *listSource) Next(context.Context) (bsonx.Doc, error) {
	if len(s.docs) == 0 {
		return nil, nil
	}
	doc := s.docs[0]
	s.docs = s.docs[1:]
	return doc, nil
}

func (s *listSource) done() bool { return len(s.docs) == 0 }

// Save implements session.Source.
func (*listSource) Save() {}

// Restore implements session.Source.
func (*listSource) Restore(context.Context) error { return nil }

// Close implements session.Source.
func (*listSource) Close() {}
