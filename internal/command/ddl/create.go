package ddl

import (
	"context"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// CreateCommands returns the definition of create.
func CreateCommands() []command.Definition {
	return []command.Definition{{
		Name: "create", Help: "Makes a collection or a view.", Lacks: "encryptedFields",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runCreate, Fields: createFields,
	}}
}

var createFields = []command.Field{
	{Name: "capped", Type: command.SafeBool},
	{Name: "autoIndexId", Type: command.SafeBool},
	{Name: "idIndex", Type: command.Object},
	{Name: "size", Type: command.SafeInt, Check: checkCappedSize, Unstable: true},
	{Name: "max", Type: command.SafeInt, Check: checkCappedMax, Unstable: true},
	{Name: "storageEngine", Type: command.Object, Unstable: true},
	{Name: "validator", Type: command.Object},
	{Name: "validationLevel", Type: command.String},
	{Name: "validationAction", Type: command.String},
	{Name: indexDefaults, Type: command.Object, Fields: indexDefaultsFields, Unstable: true},
	{Name: "viewOn", Type: command.String},
	{Name: "pipeline", Type: command.Array},
	{Name: "collation", Type: command.Object},
	{Name: "recordPreImages", Type: command.SafeBool},
	{Name: "changeStreamPreAndPostImages", Type: command.Object, Fields: imagesFields, Unstable: true},
	{Name: "timeseries", Type: command.Object, Fields: TimeseriesFields},
	{Name: "clusteredIndex", Type: command.Variant(bsonx.TypeBool, bsonx.TypeDocument), Fields: clusteredIndexFields},
	{Name: "expireAfterSeconds", Type: command.SafeInt},
	{Name: "encryptedFields", Type: command.Object},
	{Name: "temp", Type: command.SafeBool},
	{Name: "flags", Type: command.SafeInt, Unstable: true},
}

func runCreate(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	collationSpec, err := createCollation(req)
	if err != nil {
		return err
	}
	for _, check := range []func(*command.Request) error{checkCreateFields, checkIDIndex} {
		if err := check(req); err != nil {
			return err
		}
	}
	if err := checkSystemCollection(req, name); err != nil {
		return err
	}
	for _, check := range []func(*command.Request) error{checkCapped, checkPipelineOfView} {
		if err := check(req); err != nil {
			return err
		}
	}
	if req.Has("timeseries") {
		if req.Work != nil {
			return command.NotInTransaction("Cannot create a time-series collection in a multi-document transaction.")
		}
		return createTimeseries(req, name)
	}
	options, err := createOptions(req)
	if err != nil {
		return err
	}
	kind := catalog.KindCollection
	var co *collation.Collator
	if req.Has("viewOn") {
		if req.Work != nil {
			return command.NotInTransaction("Cannot create a view in a multi-document transaction.")
		}
		kind, options = catalog.KindView, viewOptions(options)
		if co, err = read.CollationFor(&req.Service.Read.Collations, collationSpec, nil); err != nil {
			return err
		}
		if err := checkView(req, name, co); err != nil {
			return err
		}
	}
	if txn := req.Txn(); txn != nil { // as in MongoDB, the same collection twice is an error here
		_, err := txn.Create(req.DB, name, options)
		return err
	}
	made := &schema.NewCollection{DB: req.DB, Name: name, Kind: kind, Options: options}
	if kind == catalog.KindView {
		made.Check = func() error { return checkView(req, name, co) }
	}
	return createOnce(req, name, kind, options, func() error {
		_, err := schema.CreateNew(req.Service.Store, made)
		return err
	})
}

// maxCreateAttempts limits how often create tries again. Trying again cannot help if the
// conflicting collection has another name, as the buckets of a time series have.
const maxCreateAttempts = 10

// createOnce calls create unless the collection already exists. If it exists with the same kind and
// options, that is not an error, also if another client creates it at the same time.
func createOnce(req *command.Request, name string, kind catalog.Kind, options bsonx.Doc, create func() error) error {
	attempts := 0
	return table.RetryOn(table.ErrChanged, func() error {
		if c := req.Service.Store.Lookup(req.DB, name); c != nil {
			if c.Kind == kind && equalOptions(options, c.Options) {
				return nil
			}
			return alreadyExists(c)
		}
		err := create()
		if attempts++; mongoerr.CodeOf(err) == mongoerr.NamespaceExists && attempts < maxCreateAttempts {
			return table.ErrChanged
		}
		return err
	})
}

// equalOptions reports whether two collections have the same options. The order does not matter,
// and numbers are compared by value.
func equalOptions(a, b bsonx.Doc) bool {
	if a.Len() != b.Len() {
		return false
	}
	for it := a.Iter(); it.Next(); {
		if bsonx.CompareValues(it.Value(), b.Lookup(string(it.Key()))) != 0 {
			return false
		}
	}
	return true
}

// createTimeseries creates a time-series collection.
func createTimeseries(req *command.Request, name string) error {
	options, err := seriesOptions(req)
	if err != nil {
		return err
	}
	return createOnce(req, name, catalog.KindTimeseries, options, func() error {
		_, err := createSeries(req.Service, req.DB, name, options)
		return err
	})
}

func alreadyExists(c *table.Collection) error {
	if c.Kind == catalog.KindView {
		return mongoerr.New(mongoerr.NamespaceExists, "A view already exists. NS: %s", c.Namespace())
	}
	return mongoerr.New(mongoerr.NamespaceExists, "Collection %s already exists.", c.Namespace())
}

// createOptions checks the options and returns the options to store, in the order in which the
// client sent them.
func createOptions(req *command.Request) (bsonx.Doc, error) {
	co, err := storedCollation(req)
	if err != nil {
		return nil, err
	}
	if err := checkCreate(req); err != nil {
		return nil, err
	}
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, arg := range req.Args() {
		switch name := string(arg.Key); name {
		case "capped":
			if arg.Value.Truthy() {
				appendCapped(b, req.Int64("size", 0), req.Get("max"))
			}
		case "recordPreImages", "temp":
			if arg.Value.Truthy() {
				b.Bool(name, true)
			}
		case "collation":
			if co.Doc().Len() > 1 { // the simple collation is not stored
				b.Value(name, co)
			}
		case "idIndex":
			if bsonx.SaturatingInt64(arg.Value.Doc().Lookup("v")) == 1 { // a client can only choose the version
				b.Doc(name, command.OldIDIndexSpec)
			}
		case "autoIndexId":
			if !arg.Value.Truthy() {
				b.Bool(name, false)
			}
		case "size", "max", "flags":
		case "validator", "storageEngine":
			if !arg.Value.Doc().IsEmpty() {
				b.Value(name, arg.Value)
			}
		case indexDefaults:
			if !req.Has("viewOn") && !arg.Value.Doc().IsEmpty() {
				b.Value(name, arg.Value)
			}
		case "clusteredIndex":
			if arg.Value.Type == bsonx.TypeDocument {
				b.Doc(name, clusteredIndexOption(arg.Value.Doc()))
			}
		case "expireAfterSeconds":
			b.Int64(name, bsonx.SaturatingInt64(arg.Value))
		case imagesOption:
			if imagesEnabled(req) {
				b.Value(name, arg.Value)
			}
		default:
			b.Value(name, arg.Value)
		}
	}
	b.End()
	return b.Bytes(), nil
}

// checkCreateFields checks options on their own. Contradictions between options are checked later.
func checkCreateFields(req *command.Request) error {
	if err := checkClusteredFields(req.Doc("clusteredIndex")); err != nil {
		return err
	}
	if doc := req.Doc(imagesOption); doc != nil {
		if err := command.ParseFields("create."+imagesOption, doc, imagesFields,
			func(int, bsonx.Value) error { return nil }); err != nil {
			return err
		}
	}
	if doc := req.Doc("timeseries"); doc != nil {
		if _, err := ParseSeries("create.timeseries", doc, TimeseriesFields); err != nil {
			return err
		}
	}
	if err := checkViewFields(req); err != nil {
		return err
	}
	return checkValidationNames(req)
}

// checkViewFields returns an error if a stage of the view's pipeline is not a document, or if
// viewOn is empty.
func checkViewFields(req *command.Request) error {
	for it := req.Get("pipeline").Doc().Iter(); it.Next(); {
		if v := it.Value(); v.Type != bsonx.TypeDocument {
			return command.WrongType(req.Def.Name+".pipeline."+string(it.Key()), v.Type, command.Object)
		}
	}
	if req.Has("viewOn") && req.String("viewOn") == "" {
		return mongoerr.New(mongoerr.BadValue, "'viewOn' cannot be empty")
	}
	return nil
}

// checkPipelineOfView returns an error if create has a pipeline but no viewOn.
func checkPipelineOfView(req *command.Request) error {
	if req.Has("pipeline") && !req.Has("viewOn") {
		return mongoerr.New(mongoerr.InvalidOptions, "'pipeline' requires 'viewOn' to also be specified")
	}
	return nil
}

// viewOptions returns the options that the catalog stores for a view. They always have a pipeline.
func viewOptions(options bsonx.Doc) bsonx.Doc {
	for _, arg := range createFields {
		if arg.Name != "viewOn" && arg.Name != "pipeline" && arg.Name != "collation" {
			options = options.With(arg.Name, bsonx.Missing)
		}
	}
	if options.Lookup("pipeline").IsMissing() {
		options = options.With("pipeline", bsonx.Array(bsonx.Empty))
	}
	return options
}

func checkCreate(req *command.Request) error {
	if v := req.Get("autoIndexId"); !v.IsMissing() && !v.Truthy() && req.DB != "local" {
		return mongoerr.New(mongoerr.InvalidOptions, "The 'autoIndexId' option is not allowed to be false")
	}
	for _, check := range []func(*command.Request) error{
		checkClustered, checkValidation, checkCreateTTL,
		checkImages, checkEngineOptions,
	} {
		if err := check(req); err != nil {
			return err
		}
	}
	for _, later := range []string{"encryptedFields"} {
		if req.Has(later) {
			return mongoerr.New(mongoerr.NotImplemented, "the option '%s' of create is not supported yet", later)
		}
	}
	return nil
}

// checkView checks the definition of a view: viewOn, its pipeline, and the views that it reads.
// checkViewFields must have checked the fields before.
func checkView(r *command.Request, name string, co *collation.Collator) error {
	on := r.String("viewOn")
	if err := catalog.CheckCollectionName(r.DB, on); err != nil {
		return err
	}
	if strings.IndexByte(on, '$') >= 0 {
		return mongoerr.New(mongoerr.InvalidNamespace, "invalid name for 'viewOn': %s", on)
	}
	stages := r.Get("pipeline")
	if !stages.IsMissing() {
		switch err := checkViewPipeline(r, name, stages); mongoerr.CodeOf(err) {
		case 0:
		case 40323, 40324: // unknown or malformed stage: MongoDB reports it without the view
			return err
		default:
			return command.PrefixError(err, "Invalid pipeline for view %s.%s :: caused by :: ", r.DB, name)
		}
	}
	return checkViewGraph(r.Service, r.DB, name, on, stages, co)
}
