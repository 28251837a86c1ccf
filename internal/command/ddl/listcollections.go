package ddl

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/table"
)

// ListCollectionsCommands returns the definitions of listCollections and listDatabases.
func ListCollectionsCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "listCollections", Help: "Lists the collections and views of a database.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Run: runListCollections,
			Fields: []command.Field{
				{Name: "cursor", Type: command.Object, Fields: command.CursorFields},
				{Name: "filter", Type: command.Object},
				{Name: "nameOnly", Type: command.Bool},
				{Name: "authorizedCollections", Type: command.Bool},
				{Name: "includePendingDrops", Type: command.SafeBool},
			},
		},
		{
			Name: "listDatabases", Help: "Lists the databases.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Run: runListDatabases,
			Fields: []command.Field{
				{Name: "filter", Type: command.Object},
				{Name: "nameOnly", Type: command.SafeBool},
				{Name: "authorizedDatabases", Type: command.Bool},
			},
		},
	}
}

func runListCollections(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	accept, err := listFilter(req)
	if err != nil {
		return err
	}
	nameOnly := req.Bool("nameOnly")
	entries := req.Service.Entries(req.DB)
	return command.ReplyList(ctx, req, reply, "$cmd.listCollections",
		read.List{N: len(entries), At: func(i int) (bsonx.Doc, error) {
			info := collectionInfo(entries[i], false)
			ok, err := accept(info)
			if err != nil || !ok {
				return nil, err
			}
			if nameOnly {
				info = collectionInfo(entries[i], true)
			}
			return info, nil
		}})
}

// listFilter returns a function that reports whether the command's filter matches a document.
func listFilter(req *command.Request) (func(bsonx.Doc) (bool, error), error) {
	doc := req.Doc("filter")
	if doc.IsEmpty() {
		return func(bsonx.Doc) (bool, error) { return true, nil }, nil
	}
	f, err := filter.Parse(doc, filter.Options{AllowExpr: true, Now: req.Now, Vars: req.BaseVars()})
	if err != nil {
		return nil, err
	}
	return f.Match, nil
}

// collectionInfo returns the document that listCollections shows for a catalog entry.
func collectionInfo(e *table.Entry, nameOnly bool) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	kind := e.Kind
	if kind == catalog.KindVirtual {
		kind = catalog.KindCollection // MongoDB has real collections here
	}
	b.String("name", e.Name)
	b.String("type", string(kind))
	if !nameOnly {
		b.Doc("options", shownOptions(e.Options))
		b.StartDocField("info")
		b.Bool("readOnly", e.Kind == catalog.KindView || e.Kind == catalog.KindVirtual)
		if kind == catalog.KindCollection {
			b.Value("uuid", bsonx.Binary(4, e.UUID[:]))
		}
		b.End()
		if spec := command.IDIndexOf(e.Options); spec != nil && kind == catalog.KindCollection &&
			command.ClusteredOption(e.Options) == nil {
			b.Doc("idIndex", spec)
		}
	}
	b.End()
	return b.Bytes()
}

func runListDatabases(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	accept, err := listFilter(req)
	if err != nil {
		return err
	}
	nameOnly := req.Bool("nameOnly")
	var total int64
	reply.StartArrayField("databases")
	for _, name := range req.Service.Databases() {
		if err := interrupt.Cause(ctx); err != nil {
			return err
		}
		size, err := req.Service.DatabaseSize(ctx, name)
		if err != nil {
			return err
		}
		info := bsonx.NewDoc("name", name, "sizeOnDisk", size, "empty", false)
		ok, err := accept(info)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		total += size
		if nameOnly {
			info = bsonx.NewDoc("name", name)
		}
		reply.Elem(bsonx.Document(info))
	}
	reply.End()
	if !nameOnly {
		reply.Int64("totalSize", total)
		reply.Int64("totalSizeMb", total>>20)
	}
	return nil
}
