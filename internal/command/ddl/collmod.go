package ddl

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// CollModCommands returns the definition of collMod.
func CollModCommands() []command.Definition {
	return []command.Definition{{
		Name: "collMod", Help: "Changes the options of a collection, view or index.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runCollMod,
		Fields: []command.Field{
			{Name: "index", Type: command.Object, Fields: collModIndexFields},
			{Name: "validator", Type: command.Object},
			{Name: "validationLevel", Type: command.String},
			{Name: "validationAction", Type: command.String},
			{Name: "viewOn", Type: command.String},
			{Name: "pipeline", Type: command.Array},
			{Name: "recordPreImages", Type: command.SafeBool},
			{Name: "changeStreamPreAndPostImages", Type: command.Object, Fields: imagesFields},
			{
				Name: "expireAfterSeconds",
				Type: command.OneOf(bsonx.TypeString, bsonx.TypeInt64, bsonx.TypeInt32,
					bsonx.TypeDouble, bsonx.TypeDecimal128),
			},
			{Name: "timeseries", Type: command.Object, Fields: seriesModFields},
			{Name: mixedSchema, Type: command.SafeBool},
			{Name: "cappedSize", Type: command.SafeInt, Check: checkCappedSize},
			{Name: "cappedMax", Type: command.SafeInt, Check: checkCappedMax},
			{Name: "dryRun", Type: command.SafeBool},
			command.CollectionUUID,
		},
	}}
}

func runCollMod(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if err := checkCollModFields(req); err != nil {
		return err
	}
	return OnNewest(req, req.DB, name, func(c *table.Collection) error {
		changes := bsonx.NewBuilder(nil) // fields of the reply for the collection version that is changed
		changes.StartDoc()
		if err := modifyCollection(ctx, req, name, c, changes); err != nil {
			return err
		}
		changes.End()
		reply.Fields(changes.Bytes())
		return nil
	})
}

// checkCollModFields checks options on their own, independent of the collection.
func checkCollModFields(req *command.Request) error {
	for _, option := range []command.Field{
		{Name: "index", Fields: collModIndexFields},
		{Name: imagesOption, Fields: imagesFields},
	} {
		if !req.Has(option.Name) {
			continue
		}
		err := command.ParseFields("collMod."+option.Name, req.Doc(option.Name), option.Fields,
			func(int, bsonx.Value) error { return nil })
		if err != nil {
			return err
		}
	}
	if _, err := ParseSeries("collMod.timeseries", req.Doc("timeseries"), seriesModFields); err != nil {
		return err
	}
	return checkValidationNames(req)
}

func modifyCollection(ctx context.Context, req *command.Request, name string,
	c *table.Collection, reply *bsonx.Builder,
) error {
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", req.DB, name)
	}
	if read.IsVirtual(c) {
		return command.NotStored(c)
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		return modifySeries(ctx, req, c, buckets, reply)
	}
	if c.Kind == catalog.KindTimeseries && !req.Service.Store.IsCurrent(c) {
		return table.ErrChanged // dropped together with its buckets
	}
	if err := checkCollMod(req, c); err != nil {
		return err
	}
	m := new(schema.CollMod)
	if err := modifyIndex(ctx, req, c, m, reply); err != nil {
		return err
	}
	if options, changed := modifiedOptions(req, c.Options); changed || !req.Has("index") {
		m.Options = options
	}
	if c.Kind == catalog.KindView {
		m.Check = func() error { return checkView(req, c.Name, c.Collation) }
	}
	if req.Bool("dryRun") || m.Options == nil && m.Index == "" {
		return nil
	}
	return schema.Modify(req.Service.Store, c, m)
}

func checkCollMod(req *command.Request, c *table.Collection) error {
	for _, option := range []string{"timeseries", mixedSchema} {
		if req.Has(option) {
			return mongoerr.New(mongoerr.InvalidOptions,
				"the option '%s' does not apply to the collection %s", option, c.Namespace())
		}
	}
	if err := checkModifiedImages(req); err != nil {
		return err
	}
	if err := checkModifyCapped(req, c); err != nil {
		return err
	}
	if c.Kind != catalog.KindView {
		if req.Has("viewOn") || req.Has("pipeline") {
			return mongoerr.New(mongoerr.InvalidOptions,
				"'viewOn' and 'pipeline' are options of views: %s", c.Namespace())
		}
		if err := checkModifyTTL(req, c.Options); err != nil {
			return err
		}
		return checkValidation(req)
	}
	switch {
	case req.Has("validator") || req.Has("index") || req.Has("validationLevel") || req.Has("validationAction") ||
		req.Has("expireAfterSeconds") || req.Has("changeStreamPreAndPostImages"):
		return mongoerr.New(mongoerr.InvalidOptions, "option not supported on a view: %s", c.Namespace())
	case !req.Has("viewOn") || !req.Has("pipeline"):
		return mongoerr.New(mongoerr.InvalidOptions, "Must specify both 'viewOn' and 'pipeline' when modifying a view")
	}
	if err := checkViewFields(req); err != nil {
		return err
	}
	return checkView(req, c.Name, c.Collation)
}

// modifiedOptions returns the options with the changes that the command asks for, and whether there
// are any.
func modifiedOptions(req *command.Request, options bsonx.Doc) (bsonx.Doc, bool) {
	options, changed := modifyCapped(req, options)
	options, expires := modifyTTL(req, options)
	options, images := modifyImages(req, options)
	changed = changed || expires || images
	for _, name := range []string{"viewOn", "pipeline", "validator", "validationLevel", "validationAction"} {
		v := req.Get(name)
		if v.IsMissing() {
			continue
		}
		changed = true
		if v.Type == bsonx.TypeDocument && v.Doc().IsEmpty() {
			v = bsonx.Missing // an empty validator removes the validator
		}
		options = options.With(name, v)
	}
	return options, changed
}
