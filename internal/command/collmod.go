package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

func collModCommands() []Definition {
	return []Definition{{
		Name: "collMod", Help: "Changes the options of a collection, view or index.",
		Run: runCollMod, Write: true, API1: true,
		Fields: []Field{
			{Name: "index", Type: Object, Fields: collModIndexFields},
			{Name: "validator", Type: Object},
			{Name: "validationLevel", Type: String},
			{Name: "validationAction", Type: String},
			{Name: "viewOn", Type: String},
			{Name: "pipeline", Type: Array},
			{Name: "recordPreImages", Type: SafeBool},
			{Name: "changeStreamPreAndPostImages", Type: Object, Fields: imagesFields},
			{Name: "expireAfterSeconds", Type: OneOf(bsonx.TypeString, bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDouble, bsonx.TypeDecimal128)},
			{Name: "timeseries", Type: Object, Fields: seriesModFields},
			{Name: mixedSchema, Type: SafeBool},
			{Name: "cappedSize", Type: SafeInt, Check: checkCappedSize},
			{Name: "cappedMax", Type: SafeInt, Check: checkCappedMax},
			{Name: "dryRun", Type: SafeBool},
			collectionUUID,
		},
	}}
}

func runCollMod(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if err := checkCollModFields(req); err != nil {
		return err
	}
	return req.onNewest(req.DB, name, func(c *table.Collection) error {
		changes := bsonx.NewBuilder(nil) // what the reply tells of the version that is changed
		changes.StartDoc()
		if err := modifyCollection(ctx, req, name, c, changes); err != nil {
			return err
		}
		changes.End()
		reply.Fields(changes.Bytes())
		return nil
	})
}

// checkCollModFields judges each option by itself, whatever the collection is.
func checkCollModFields(req *Request) error {
	for _, option := range []Field{{Name: "index", Fields: collModIndexFields}, {Name: imagesOption, Fields: imagesFields}} {
		if !req.Has(option.Name) {
			continue
		}
		err := ParseFields("collMod."+option.Name, req.Doc(option.Name), option.Fields, func(int, bsonx.Value) error { return nil })
		if err != nil {
			return err
		}
	}
	if _, err := parseSeries("collMod.timeseries", req.Doc("timeseries"), seriesModFields); err != nil {
		return err
	}
	return checkValidationNames(req)
}

func modifyCollection(ctx context.Context, req *Request, name string, c *table.Collection, reply *bsonx.Builder) error {
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", req.DB, name)
	}
	if isVirtual(c) {
		return notStored(c)
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		return modifySeries(ctx, req, c, buckets, reply)
	}
	if c.Kind == catalog.KindTimeseries && !req.Service.Store.IsCurrent(c) {
		return table.ErrChanged // dropped with its buckets
	}
	if err := checkCollMod(req, c); err != nil {
		return err
	}
	m := new(table.CollMod)
	if err := modifyIndex(ctx, req, c, m, reply); err != nil {
		return err
	}
	if options, changed := modifiedOptions(req, c.Options); changed || !req.Has("index") {
		m.Options = options
	}
	if c.Kind == catalog.KindView {
		m.Check = func() error { return req.checkView(c.Name, c.Collation) }
	}
	if req.Bool("dryRun") || m.Options == nil && m.Index == "" {
		return nil
	}
	return req.Service.Store.Modify(c, m)
}

func checkCollMod(req *Request, c *table.Collection) error {
	for _, option := range []string{"timeseries", mixedSchema} {
		if req.Has(option) {
			return mongoerr.New(mongoerr.InvalidOptions, "the option '%s' does not apply to the collection %s", option, c.Namespace())
		}
	}
	if err := checkImages(req); err != nil {
		return err
	}
	if err := checkModifyCapped(req, c); err != nil {
		return err
	}
	if c.Kind != catalog.KindView {
		if req.Has("viewOn") || req.Has("pipeline") {
			return mongoerr.New(mongoerr.InvalidOptions, "'viewOn' and 'pipeline' are options of views: %s", c.Namespace())
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
	return req.checkView(c.Name, c.Collation)
}

// modifiedOptions returns the options with those of the command put in.
func modifiedOptions(req *Request, options bsonx.Doc) (bsonx.Doc, bool) {
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
			v = bsonx.Missing // an empty validator is none
		}
		options = options.With(name, v)
	}
	return options, changed
}
