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
			{Name: "index", Type: Object},
			{Name: "validator", Type: Object},
			{Name: "validationLevel", Type: String},
			{Name: "validationAction", Type: String},
			{Name: "viewOn", Type: String},
			{Name: "pipeline", Type: Array},
			{Name: "recordPreImages", Type: SafeBool},
			{Name: "changeStreamPreAndPostImages", Type: Object},
			{Name: "expireAfterSeconds", Type: OneOf(bsonx.TypeString, bsonx.TypeInt64, bsonx.TypeInt32, bsonx.TypeDouble, bsonx.TypeDecimal128)},
			{Name: "timeseries", Type: Object},
			{Name: "cappedSize", Type: SafeInt, Check: checkCappedSize},
			{Name: "cappedMax", Type: SafeInt, Check: checkCappedMax},
			{Name: "dryRun", Type: SafeBool},
		},
	}}
}

func runCollMod(_ context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c == nil {
		return mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s.%s", req.DB, name)
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		return modifySeries(req, c, buckets, reply)
	}
	if err := checkCollMod(req, c); err != nil {
		return err
	}
	if index := req.Doc("index"); index != nil {
		if err := modifyIndex(req, c, index, reply); err != nil {
			return err
		}
	}
	options, changed := modifiedOptions(req, c.Options)
	if req.Bool("dryRun") || !changed && req.Has("index") {
		return nil
	}
	return req.Service.Store.SetOptions(c, options)
}

func checkCollMod(req *Request, c *table.Collection) error {
	if req.Has("timeseries") {
		return mongoerr.New(mongoerr.InvalidOptions, "the option 'timeseries' does not apply to the collection %s", c.Namespace())
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
		options = withField(options, name, v)
	}
	return options, changed
}

// withField returns a document in which a field is replaced, appended, or removed where v is missing.
func withField(doc bsonx.Doc, name string, v bsonx.Value) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	found := false
	for it := doc.Iter(); it.Next(); {
		if string(it.Key()) == name {
			found = true
			b.Value(name, v)
			continue
		}
		b.ValueBytes(it.Key(), it.Value())
	}
	if !found {
		b.Value(name, v)
	}
	b.End()
	return b.Bytes()
}

// collModIndexFields are the fields of collMod's index option.
var collModIndexFields = []Field{
	{Name: "name", Type: String},
	{Name: "keyPattern", Type: Object},
	{Name: "expireAfterSeconds", Type: SafeInt},
	{Name: "hidden", Type: SafeBool},
	{Name: "unique", Type: SafeBool},
	{Name: "prepareUnique", Type: SafeBool},
	{Name: "forceNonUnique", Type: SafeBool},
}

func modifyIndex(req *Request, c *table.Collection, spec bsonx.Doc, reply *bsonx.Builder) error {
	set := map[string]bsonx.Value{}
	err := ParseFields("collMod.index", spec, collModIndexFields, func(i int, v bsonx.Value) error {
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
	for _, later := range []string{"unique", "prepareUnique", "forceNonUnique"} {
		if _, ok := set[later]; ok {
			return mongoerr.New(mongoerr.NotImplemented, "collMod with index option '%s' is not supported yet", later)
		}
	}
	changed := ix.Spec
	if v, ok := set["expireAfterSeconds"]; ok {
		if err := checkIndexTTL(v, ix.Key); err != nil {
			return err
		}
		appendChange(reply, "expireAfterSeconds", changed.Lookup("expireAfterSeconds"), bsonx.Int64(saturatingInt64(v)))
		changed = withField(changed, "expireAfterSeconds", bsonx.Int32(int32(saturatingInt64(v))))
	}
	if v, ok := set["hidden"]; ok {
		hidden := bsonx.Missing
		if v.Truthy() {
			hidden = bsonx.True
		}
		appendChange(reply, "hidden", bsonx.Bool(changed.Lookup("hidden").Truthy()), bsonx.Bool(v.Truthy()))
		changed = withField(changed, "hidden", hidden)
	}
	if req.Bool("dryRun") || changed.Equal(ix.Spec) {
		return nil
	}
	return req.Service.Store.SetIndexSpec(c, ix.Name, changed)
}

// appendChange reports an option's value before and after.
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
	case sameKeyPattern(idIndexSpec.Lookup("key").Doc(), key.Doc()):
		wanted = "_id_"
	}
	if wanted == "" {
		for _, ix := range c.Collection.Indexes {
			if sameKeyPattern(ix.Key, key.Doc()) {
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
		return nil, mongoerr.New(mongoerr.IndexNotFound, "cannot find index %s for ns %s", bsonx.FormatShell(bsonx.ValueOf(wanted)), c.Namespace())
	}
	return ix, nil
}
