package ddl

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// collModIndexFields are the fields of collMod's option index.
var collModIndexFields = []command.Field{
	{Name: "name", Type: command.String},
	{Name: "keyPattern", Type: command.Object},
	{Name: "expireAfterSeconds", Type: command.SafeInt},
	{Name: "hidden", Type: command.SafeBool},
	{Name: "unique", Type: command.SafeBool},
	{Name: "prepareUnique", Type: command.SafeBool},
	{Name: "forceNonUnique", Type: command.SafeBool},
}

// modifyIndex adds the change of an index to m, and appends the changed options to reply.
func modifyIndex(ctx context.Context, req *command.Request, c *table.Collection,
	m *schema.CollMod, reply *bsonx.Builder,
) error {
	spec := req.Doc("index")
	if spec == nil {
		return nil
	}
	set := map[string]bsonx.Value{}
	err := command.ParseFields("collMod.index", spec, collModIndexFields, func(i int, v bsonx.Value) error {
		set[collModIndexFields[i].Name] = v
		return nil
	})
	if err != nil {
		return err
	}
	ix, err := indexToModify(c, set)
	if err != nil {
		return err
	}
	convert, err := checkConversion(req, ix, set)
	if err != nil {
		return err
	}
	changed, err := modifiedSpec(ix, set, reply)
	if err != nil {
		return err
	}
	if convert {
		if err := checkNoDuplicates(ctx, req, c, ix, reply); err != nil {
			return err
		}
		changed = changed.With("prepareUnique", bsonx.Missing).With("unique", bsonx.True)
	}
	if !changed.Equal(ix.Spec) {
		m.Index, m.Spec = ix.Name, changed
	}
	return nil
}

// checkConversion checks the options about uniqueness. It returns true if the index becomes unique.
func checkConversion(req *command.Request, ix *catalog.Index, set map[string]bsonx.Value) (bool, error) {
	unique, hasUnique := set["unique"]
	prepare := set["prepareUnique"]
	switch {
	case hasUnique && set["forceNonUnique"].Truthy():
		return false, mongoerr.New(mongoerr.InvalidOptions, "collMod does not support 'unique' and 'forceNonUnique' being specified together")
	case req.Bool("dryRun") && (!hasUnique || len(set) > 2):
		return false, mongoerr.New(mongoerr.InvalidOptions, "dry run mode is only supported for the index option 'unique'")
	case hasUnique && !unique.Truthy():
		return false, mongoerr.New(mongoerr.BadValue, "collMod does not support converting an index to 'unique: false'")
	}
	if (hasUnique || prepare.Truthy()) && index.KindOf(ix.Key).Definition().Unique == feature.No {
		return false, cannotCreate("Index '%s' is of a type that cannot be unique", ix.Name)
	}
	return hasUnique && !ix.Unique, nil
}

// modifiedSpec returns the specification of the index with changes of options that do not affect
// its entries. It appends the old and new values to reply.
func modifiedSpec(ix *catalog.Index, set map[string]bsonx.Value, reply *bsonx.Builder) (bsonx.Doc, error) {
	changed := ix.Spec
	if v, ok := set["expireAfterSeconds"]; ok {
		if err := checkIndexTTL(v, ix.Key); err != nil {
			return nil, err
		}
		appendChange(reply, "expireAfterSeconds", changed.Lookup("expireAfterSeconds"),
			bsonx.Int64(bsonx.SaturatingInt64(v)))
		changed = changed.With("expireAfterSeconds", bsonx.Int32(int32(bsonx.SaturatingInt64(v))))
	}
	if v, ok := set["hidden"]; ok {
		appendChange(reply, "hidden", bsonx.Bool(ix.Hidden), bsonx.Bool(v.Truthy()))
		changed = changed.With("hidden", flag(v))
	}
	if v, ok := set["prepareUnique"]; ok && !ix.Unique && v.Truthy() != ix.PrepareUnique {
		appendChange(reply, "prepareUnique", bsonx.Bool(ix.PrepareUnique), bsonx.Bool(v.Truthy()))
		changed = changed.With("prepareUnique", flag(v))
	}
	if v := set["forceNonUnique"]; v.Truthy() && ix.Unique {
		reply.Bool("forceNonUnique_new", true)
		changed = changed.With("unique", bsonx.Missing)
	}
	return changed, nil
}

// flag returns an option as specifications store it: true, or a missing value for false.
func flag(v bsonx.Value) bsonx.Value {
	if v.Truthy() {
		return bsonx.True
	}
	return bsonx.Missing
}

// checkNoDuplicates returns an error if an index that becomes unique has duplicates. New duplicates
// are already refused, because the index has prepareUnique.
func checkNoDuplicates(ctx context.Context, req *command.Request, c *table.Collection,
	ix *catalog.Index, reply *bsonx.Builder,
) error {
	duplicates, err := schema.Violations(ctx, req.Service.Store, c, ix.Name)
	if err != nil {
		return err
	}
	if len(duplicates) > 0 {
		list := bsonx.NewBuilder(nil)
		list.StartArray()
		for _, ids := range duplicates {
			list.Elem(bsonx.Document(bsonx.NewDoc("ids", ids)))
		}
		list.End()
		return mongoerr.New(mongoerr.CannotConvertIndexToUnique, "Cannot convert the index to unique. Please resolve conflicting "+
			"documents before running collMod again.").WithInfo(bsonx.NewDoc("violations", bsonx.Array(list.Bytes())))
	}
	if !req.Bool("dryRun") {
		reply.Bool("unique_new", true)
	}
	return nil
}

// appendChange appends the value of an option before and after the change.
func appendChange(reply *bsonx.Builder, option string, before, after bsonx.Value) {
	if n, ok := before.AsInt64(); ok {
		before = bsonx.Int64(n)
	}
	reply.Value(option+"_old", before)
	reply.Value(option+"_new", after)
}

func indexToModify(c *table.Collection, set map[string]bsonx.Value) (*catalog.Index, error) {
	name, byName := set["name"]
	key, byKey := set["keyPattern"]
	switch {
	case byName && byKey:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Cannot specify both key pattern and name.")
	case !byName && !byKey:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "Must specify either index name or key pattern.")
	case len(set) == 1:
		return nil, mongoerr.New(mongoerr.InvalidOptions, "no expireAfterSeconds, hidden, unique, or prepareUnique field")
	}
	wanted := ""
	switch {
	case byName:
		wanted = name.Str()
	case isClusteredCollection(c):
	case sameKeyPattern(command.IDIndexSpec.Lookup("key").Doc(), key.Doc()):
		wanted = "_id_"
	}
	if wanted == "" {
		for _, ix := range c.Indexes {
			switch {
			case !sameKeyPattern(ix.Key, key.Doc()):
			case wanted != "":
				return nil, mongoerr.New(mongoerr.AmbiguousIndexKeyPattern,
					"index keyPattern %s matches 2 indexes, must use index name. Conflicting indexes:%s, %s", bsonx.FormatShell(key),
					bsonx.FormatShell(bsonx.Document(c.Collection.Index(wanted).Spec)),
					bsonx.FormatShell(bsonx.Document(ix.Spec)))
			default:
				wanted = ix.Name
			}
		}
	}
	if wanted == "_id_" && !isClusteredCollection(c) {
		if _, ok := set["expireAfterSeconds"]; ok {
			return nil, mongoerr.New(mongoerr.InvalidOptions, "the _id field does not support TTL indexes")
		}
		return nil, mongoerr.New(mongoerr.BadValue, "can't hide _id index")
	}
	ix := c.Collection.Index(wanted)
	if ix == nil {
		return nil, mongoerr.New(mongoerr.IndexNotFound, "cannot find index %s for ns %s",
			bsonx.FormatShell(bsonx.ValueOf(wanted)), c.Namespace())
	}
	return ix, nil
}
