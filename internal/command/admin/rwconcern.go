package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// RWDefaultsCommands returns the definitions of getDefaultRWConcern and setDefaultRWConcern.
func RWDefaultsCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "getDefaultRWConcern", Help: "Tells the default read and write concern.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{{Name: "inMemory", Type: command.SafeBool}}, Run: runGetDefaultRWConcern,
		},
		{
			Name: "setDefaultRWConcern", Help: "Sets the default read and write concern.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{
				{Name: "defaultReadConcern", Type: command.Object},
				{Name: "defaultWriteConcern", Type: command.Object},
			},
			Run: runSetDefaultRWConcern,
		},
	}
}

func checkReplicated(s *command.Service, name string) error {
	if s.Replicates() {
		return nil
	}
	return mongoerr.New(command.CodeNotReplicated, "'%s' is not supported on standalone nodes.", name)
}

func runGetDefaultRWConcern(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	if err := checkReplicated(req.Service, req.Name); err != nil {
		return err
	}
	req.Service.RWDefaults.Load().Append(req.Service, reply)
	if req.Bool("inMemory") {
		reply.Bool("inMemory", true)
	}
	return nil
}

func runSetDefaultRWConcern(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	if err := checkReplicated(s, req.Name); err != nil {
		return err
	}
	next := *s.RWDefaults.Load()
	read, write := req.Doc("defaultReadConcern"), req.Doc("defaultWriteConcern")
	if read == nil && write == nil {
		return mongoerr.New(mongoerr.BadValue,
			"At least one of the \"defaultReadConcern\" or \"defaultWriteConcern\" fields must be present")
	}
	if err := next.SetRead(read); err != nil {
		return err
	}
	if err := next.SetWrite(write); err != nil {
		return err
	}
	next.At, next.Wall, next.Local = s.Order.Take(s.StampNow()), req.Now, req.Now
	if err := saveSetting(ctx, req, command.DefaultsCollection, next.Document()); err != nil {
		return err
	}
	s.RWDefaults.Store(&next)
	next.Append(s, reply)
	return nil
}

// saveSetting stores a document in a collection of settings and syncs it. It replaces the document
// with the same _id. The stamp of the commit becomes a part of the request's operation time.
func saveSetting(ctx context.Context, r *command.Request, collection string, doc bsonx.Doc) error {
	s := r.Service
	if s.Store == nil {
		return nil
	}
	return table.RetryOn(table.ErrDropped, func() error {
		c, err := schema.Ensure(s.Store, command.SettingsDB, collection)
		if err != nil {
			return err
		}
		stamp, err := replaceSetting(ctx, s, c, doc)
		r.Op.Stamp = max(r.Op.Stamp, stamp)
		return err
	})
}

func replaceSetting(ctx context.Context, s *command.Service, c *table.Collection,
	doc bsonx.Doc,
) (storage.Stamp, error) {
	w, err := s.Store.BeginWrite(c)
	if err != nil {
		return 0, err
	}
	defer w.Close()
	key := w.Collection().RecordKey(nil, doc.Lookup("_id"))
	old, err := w.Lock(ctx, key, nil)
	switch {
	case err != nil:
	case old == nil:
		err = w.Insert(ctx, doc)
	default:
		err = w.Update(ctx, key, old, doc, table.Replacement)
	}
	if err == nil {
		err = w.Commit(storage.Durable)
	}
	return w.Stamp(), err
}
