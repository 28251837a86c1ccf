package ddl

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// CappedCommands returns the definitions of convertToCapped and cloneCollectionAsCapped.
func CappedCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "convertToCapped", Help: "Makes a collection capped.", Run: runConvertToCapped,
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{{Name: "size", Type: command.SafeInt, Required: true, Check: checkCappedSize}},
		},
		{
			Name: "cloneCollectionAsCapped", Loose: true,
			Help: "Copies a collection into a new capped one.", Run: runCloneAsCapped,
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Fields: []command.Field{
				{Name: "toCollection", Type: command.String, Required: true},
				{Name: "size", Type: command.SafeInt, Required: true, Check: checkCappedSize},
				{Name: "temp", Type: command.SafeBool},
			},
		},
	}
}

// checkCappedSize is the Check for the size of a capped collection, in bytes.
func checkCappedSize(name string, v bsonx.Value) error {
	return command.Between(1, limits.CappedBytes)(name, v)
}

// checkCappedMax is the Check for the largest number of documents of a capped collection.
func checkCappedMax(name string, v bsonx.Value) error {
	if n := bsonx.SaturatingInt64(v); n > limits.CappedDocuments {
		return mongoerr.New(mongoerr.BadValue, "BSON field '%s' value must be < %d, actual value '%d'",
			name, limits.CappedDocuments+1, n)
	}
	return nil
}

// cappedMax returns the option max to store for the max that the client sent. A max of zero or less
// means no limit, which is stored as the largest max.
func cappedMax(v bsonx.Value) int64 {
	if n := bsonx.SaturatingInt64(v); n > 0 {
		return n
	}
	return limits.CappedDocuments
}

// The error codes of MongoDB for options of capped collections.
const (
	codeCappedSizeOnClustered = mongoerr.Code(6049200)
	codeCappedMaxOnClustered  = mongoerr.Code(6049204)
	codeCappedClustered       = mongoerr.Code(6127800)
)

// checkCapped returns an error if create's options for capped collections contradict each other or
// other options.
func checkCapped(req *command.Request) error {
	if req.Has("clusteredIndex") && req.Has("size") {
		return mongoerr.New(codeCappedSizeOnClustered, "'size' field for capped collections is not allowed on clustered collections. "+
			"Did you mean 'capped: true' with 'expireAfterSeconds'?")
	}
	if req.Has("clusteredIndex") && req.Has("max") {
		return mongoerr.New(codeCappedMaxOnClustered, "'max' field for capped collections is not allowed on clustered collections. "+
			"Did you mean 'capped: true' with 'expireAfterSeconds'?")
	}
	if !req.Bool("capped") {
		if req.Has("size") || req.Has("max") {
			return mongoerr.New(mongoerr.InvalidOptions,
				"the 'capped' field needs to be true when either the 'size' or 'max' fields are present")
		}
		return nil
	}
	switch {
	case req.Get("clusteredIndex").Truthy():
		return mongoerr.New(codeCappedClustered, "Clustered capped collection only available with 'enableTestCommands' server parameter")
	case !req.Has("size"):
		return mongoerr.New(mongoerr.InvalidOptions, "the 'size' field is required when 'capped' is true")
	}
	return nil
}

// appendCapped appends the options of a capped collection, in the order and with the types that
// listCollections shows.
func appendCapped(b *bsonx.Builder, size int64, limit bsonx.Value) {
	b.Bool("capped", true)
	command.AppendNumber(b, "size", size)
	if !limit.IsMissing() {
		command.AppendNumber(b, "max", cappedMax(limit))
	}
}

// checkModifyCapped returns an error if collMod sets cappedSize or cappedMax and the collection is
// not capped.
func checkModifyCapped(req *command.Request, c *table.Collection) error {
	if (req.Has("cappedSize") || req.Has("cappedMax")) && c.Capped == nil {
		return mongoerr.New(mongoerr.InvalidOptions, "Collection must be capped.")
	}
	return nil
}

// modifyCapped returns the options with the limits that collMod sets, and whether it sets any.
func modifyCapped(req *command.Request, options bsonx.Doc) (bsonx.Doc, bool) {
	size, limit := req.Get("cappedSize"), req.Get("cappedMax")
	if !size.IsMissing() {
		options = options.With("size", number(bsonx.SaturatingInt64(size)))
	}
	if !limit.IsMissing() {
		options = options.With("max", number(cappedMax(limit)))
	}
	return options, !size.IsMissing() || !limit.IsMissing()
}

// number returns n as an int32 if it fits, otherwise as an int64.
func number(n int64) bsonx.Value {
	if int64(int32(n)) == n {
		return bsonx.Int32(int32(n))
	}
	return bsonx.Int64(n)
}

func runConvertToCapped(ctx context.Context, req *command.Request, _ *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	return OnNewest(req, req.DB, name, func(c *table.Collection) error {
		if err := checkCappedSource(req, c, name); err != nil {
			return err
		}
		if isClusteredCollection(c) {
			return mongoerr.New(mongoerr.InvalidOptions, "Cannot convert the clustered collection %s to a capped one", c.Namespace())
		}
		return schema.Convert(ctx, req.Service.Store, c, cappedCopy(c.Options, req))
	})
}

func runCloneAsCapped(ctx context.Context, req *command.Request, _ *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	return OnNewest(req, req.DB, name, func(c *table.Collection) error {
		if err := checkCappedSource(req, c, name); err != nil {
			return err
		}
		to := req.String("toCollection")
		if err := catalog.CheckWrite(req.DB, to); err != nil {
			return err
		}
		if req.Service.Store.Lookup(req.DB, to) != nil {
			if !req.Service.Store.IsCurrent(c) {
				return table.ErrChanged // the source may itself have the target name by now
			}
			return mongoerr.New(mongoerr.NamespaceExists, "cloneCollectionAsCapped failed - destination collection %s.%s already exists. "+
				"source collection: %s", req.DB, to, c.Namespace())
		}
		return schema.Clone(ctx, req.Service.Store, c, req.DB, to, cappedCopy(c.Options, req))
	})
}

// checkCappedSource returns an error if a collection cannot become a capped collection. c is nil if
// there is no collection or view of that name.
func checkCappedSource(r *command.Request, c *table.Collection, name string) error {
	if err := catalog.CheckWrite(r.DB, name); err != nil {
		return err
	}
	switch {
	case c == nil:
		return mongoerr.New(mongoerr.NamespaceNotFound, "source collection %s.%s does not exist", r.DB, name)
	case c.Kind != catalog.KindCollection || c.Timeseries != nil:
		return mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"%s not supported for views: %s", r.Def.Name, c.Namespace())
	}
	return nil
}

// cappedCopy returns the options for a capped copy of a collection. options are the options of the
// original collection; the size comes from the command.
func cappedCopy(options bsonx.Doc, req *command.Request) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	appendCapped(b, req.Int64("size", 0), options.Lookup("max"))
	if req.Bool("temp") {
		b.Bool("temp", true)
	}
	for it := options.Iter(); it.Next(); {
		switch string(it.Key()) {
		case "capped", "size", "max", "temp", "clusteredIndex", "expireAfterSeconds":
		default:
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}
