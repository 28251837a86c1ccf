package ddl

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// DropCommands returns the definitions of drop, dropDatabase and renameCollection.
func DropCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "drop", Help: "Removes a collection or a view.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Run: runDrop, Fields: []command.Field{command.CollectionUUID},
		},
		{
			Name: "dropDatabase", Help: "Removes a database with all its collections.",
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.No,
				Secret: feature.No, AdminOnly: feature.No,
			},
			CommandField: command.OneOf(bsonx.TypeInt32, bsonx.TypeDouble, bsonx.TypeDecimal128,
				bsonx.TypeInt64), Run: runDropDatabase,
		},
		{
			Name: "renameCollection", Help: "Gives a collection another name.", CommandField: command.String,
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Run: runRename,
			Fields: []command.Field{
				{Name: "to", Type: command.String, Required: true},
				{Name: "dropTarget", Type: command.Variant(bsonx.TypeBool, bsonx.TypeBinary), Check: checkDropTarget},
				{Name: "stayTemp", Type: command.Bool},
				command.CollectionUUID,
			},
		},
	}
}

func runDrop(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c, buckets, err := dropByName(req, name)
	if err != nil || c == nil {
		return err
	}
	switch {
	case buckets != nil:
		reply.Int32("nIndexesWas", int32(len(buckets.Indexes)))
	case c.Kind == catalog.KindCollection:
		reply.Int32("nIndexesWas", int32(indexCount(c)))
	}
	reply.String("ns", c.Namespace())
	return nil
}

// dropByName drops the collection or view name and returns it, with its buckets if it is a time
// series. If it does not exist, c is nil and, since MongoDB 7.0, this is not an error.
func dropByName(req *command.Request, name string) (c, buckets *table.Collection, err error) {
	err = OnNewest(req, req.DB, name, func(newest *table.Collection) error {
		c, buckets = newest, nil
		if c == nil {
			return nil
		}
		if read.IsVirtual(c) {
			return command.NotStored(c)
		}
		buckets = req.Service.Store.Buckets(c) // dropped together with c
		if name == catalog.Views {
			return schema.DropViews(req.Service.Store, c)
		}
		return schema.Drop(req.Service.Store, c)
	})
	return c, buckets, err
}

const codeNotOne = mongoerr.Code(5255100)

func runDropDatabase(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	if bsonx.SaturatingInt64(req.CommandValue()) != 1 {
		return mongoerr.New(codeNotOne, "Have to pass 1 as 'drop' parameter")
	}
	if catalog.IsInternalDatabase(req.DB) {
		return mongoerr.New(mongoerr.IllegalOperation, "Dropping the '%s' database is prohibited.", req.DB)
	}
	dropped, err := schema.DropDatabase(ctx, req.Service.Store, req.DB)
	if err != nil {
		return err
	}
	if dropped {
		reply.String("dropped", req.DB)
	}
	return nil
}

func runRename(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	from := req.CommandValue()
	fromDB, fromName, err := renamed("source", from.Str())
	if err != nil {
		return err
	}
	toDB, toName, err := renamed("target", req.String("to"))
	if err != nil {
		return err
	}
	if err := checkRenamable(fromName, toName); err != nil {
		return err
	}
	if err := checkRenameUUIDs(req, fromDB, fromName, toDB, toName); err != nil {
		return err
	}
	if fromDB == toDB && fromName == toName {
		return mongoerr.New(mongoerr.IllegalOperation, "Can't rename a collection to itself")
	}
	// The oplog has no entry that turns a collection of the database local into one of another
	// database.
	if req.Service.Replicates() && (fromDB == oplog.DB) != (toDB == oplog.DB) {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot rename collections between a replicated and an unreplicated database")
	}
	return OnNewest(req, fromDB, fromName, func(c *table.Collection) error {
		if c == nil && fromDB != toDB {
			return mongoerr.New(mongoerr.NamespaceNotFound, "source namespace does not exist")
		}
		if c == nil {
			return mongoerr.New(mongoerr.NamespaceNotFound, "Source collection %s does not exist", from.Str())
		}
		if err := checkRename(c); err != nil {
			return err
		}
		return schema.RenameOver(req.Service.Store, c, toDB, toName, req.Bool("stayTemp"), mayDrop(req, toDB, toName))
	})
}

// checkDropTarget returns an error if dropTarget is binary and not a UUID.
func checkDropTarget(_ string, v bsonx.Value) error {
	if _, ok := command.UUIDOf(v); v.Type == bsonx.TypeBinary && !ok {
		return mongoerr.New(mongoerr.InvalidUUID, "uuid must be a 16-byte binary field with UUID (4) subtype")
	}
	return nil
}

// checkRenameUUIDs checks the UUIDs that the command expects of the source and target collections.
func checkRenameUUIDs(r *command.Request, fromDB, fromName, toDB, toName string) error {
	source := r.Get(command.CollectionUUID.Name)
	target, drops := command.UUIDOf(r.Get("dropTarget"))
	if (drops || !source.IsMissing()) && fromDB != toDB {
		return mongoerr.New(mongoerr.InvalidOptions, "Cannot provide an expected collection UUID when renaming across databases")
	}
	if !source.IsMissing() {
		if err := command.BindUUID(r, fromDB, fromName, source); err != nil {
			return err
		}
	}
	m := &read.Meaning{DB: toDB, Name: toName, ID: target}
	if drops && !m.Of(toDB, toName, r.Service.Store.Lookup(toDB, toName)) {
		return m.Mismatch(r.Service.Store)
	}
	return nil
}

// mayDrop returns the check for the collection that has the target's name, which may be nil. If
// dropTarget is a UUID, the target must exist and have this UUID.
func mayDrop(r *command.Request, db, name string) func(target *table.Entry) error {
	v := r.Get("dropTarget")
	id, ok := command.UUIDOf(v)
	if !ok {
		return schema.Droppable(v.Truthy())
	}
	return func(target *table.Entry) error {
		if target == nil || target.Kind != catalog.KindCollection || target.UUID != id {
			m := &read.Meaning{DB: db, Name: name, ID: id}
			return m.Mismatch(r.Service.Store)
		}
		return nil
	}
}

// OnNewest calls fn with the collection or view db.name, or nil if it does not exist. If fn returns
// ErrChanged, because another client changed the collection first, OnNewest calls it again with the
// new version.
func OnNewest(r *command.Request, db, name string, fn func(c *table.Collection) error) error {
	return table.RetryOn(table.ErrChanged, func() error {
		c := r.Service.Store.Lookup(db, name)
		if err := command.CheckMeant(r, db, name, c); err != nil {
			return err
		}
		return fn(c)
	})
}

// checkRename returns an error if the collection c cannot be renamed. The target is checked when
// the rename commits.
func checkRename(c *table.Collection) error {
	if read.IsVirtual(c) {
		return command.NotStored(c)
	}
	if c.Kind != catalog.KindCollection {
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "cannot rename view: %s", c.Namespace())
	}
	if c.Timeseries != nil {
		return mongoerr.New(mongoerr.IllegalOperation, "Renaming system.buckets collections is not allowed")
	}
	return nil
}

// renamed parses and checks a namespace of renameCollection. which is "source" or "target", for the
// error.
func renamed(which, ns string) (db, name string, err error) {
	db, name, valid, err := catalog.ParseNamespace(ns)
	if err == nil && !valid {
		err = mongoerr.New(mongoerr.InvalidNamespace, "Invalid %s namespace: %s", which, strings.TrimSuffix(ns, "."))
	}
	if err != nil {
		return "", "", err
	}
	if catalog.CheckDatabaseName(db) != nil {
		err = mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace: %s", ns)
	} else {
		err = catalog.CheckWrite(db, name)
	}
	if err != nil {
		return "", "", mongoerr.New(mongoerr.IllegalOperation, "error with %s namespace: %s", which,
			command.UserError(err).Message)
	}
	return db, name, nil
}

// checkRenamable returns an error if one of the names is the name of a system collection.
func checkRenamable(names ...string) error {
	for _, name := range names {
		if catalog.IsSystem(name) {
			return mongoerr.New(mongoerr.IllegalOperation,
				"renaming %s collection or renaming to %s is not allowed", name, name)
		}
	}
	return nil
}
