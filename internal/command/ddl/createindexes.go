package ddl

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/table"
)

// CreateIndexesCommands returns the definition of createIndexes.
func CreateIndexesCommands() []command.Definition {
	return []command.Definition{{
		Name: "createIndexes", Help: "Builds indexes on a collection.",
		Properties: command.Properties{
			Writes: feature.Yes, Transactions: feature.Yes, StableAPI: feature.Yes, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.No,
		},
		Run: runCreateIndexes,
		Fields: []command.Field{
			{Name: "indexes", Type: command.Array, Required: true},
			{Name: "ignoreUnknownIndexOptions", Type: command.SafeBool, Unstable: true},
			{Name: "commitQuorum", Type: commitQuorumTypes, Check: checkQuorum, Unstable: true},
			{Name: "returnOnStart", Type: command.OptionalBool, Unstable: true},
			command.CollectionUUID,
		},
	}}
}

func runCreateIndexes(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	if req.DB == "config" && name == "transactions" {
		return mongoerr.New(mongoerr.IllegalOperation, "not allowed to create index on config.transactions")
	}
	specs, err := parseIndexSpecs(req)
	if err != nil {
		return err
	}
	if err := checkCommitQuorum(req); err != nil {
		return err
	}
	build := buildMissing
	if req.Work != nil {
		build = createMissing
	}
	res, err := build(ctx, req, name, specs)
	if err != nil {
		return err
	}
	reply.Int32("numIndexesBefore", int32(res.before))
	reply.Int32("numIndexesAfter", int32(res.before+res.built))
	if res.built > 0 || res.created {
		reply.Bool("createdCollectionAutomatically", res.created)
	}
	if res.built == 0 {
		reply.String("note", "all indexes already exist")
	}
	return nil
}

// createdIndexes is the result of createIndexes: the number of indexes before, the number of new
// indexes, and whether it created the collection.
type createdIndexes struct {
	before, built int
	created       bool
}

// buildMissing builds the indexes that do not exist yet. It waits for another client that builds
// one of them, and starts again if another client changes the collection. So if it reports that an
// index exists, the index is complete.
func buildMissing(ctx context.Context, req *command.Request, name string, specs []*indexSpec) (createdIndexes, error) {
	store := req.Service.Store
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.name
	}
	var res createdIndexes
	err := table.RetryOn(table.ErrChanged, func() error {
		res = createdIndexes{}
		c, err := command.WriteTarget(req, req.DB, name)
		if err != nil {
			return err
		}
		if c != nil {
			if err := schema.WaitIndexes(ctx, store, c, names...); err != nil {
				return err
			}
			if c = store.Current(c); c == nil {
				return table.ErrChanged // dropped while waiting
			}
		}
		res, err = tryBuild(ctx, req, name, c, specs)
		switch code := mongoerr.CodeOf(err); {
		case code == mongoerr.IndexBuildAlreadyInProgress, c == nil && code == mongoerr.NamespaceExists:
			return table.ErrChanged
		}
		return err
	})
	return res, err
}

// tryBuild builds indexes on c. If c is nil, it creates the collection with the indexes. If another
// client has changed the collection meanwhile, it does nothing and returns an error.
func tryBuild(ctx context.Context, req *command.Request, name string, c *table.Collection,
	specs []*indexSpec,
) (res createdIndexes, err error) {
	created := c == nil
	if created {
		c = table.NotCreated(req.DB, name)
	}
	if c.Timeseries != nil {
		if specs, err = bucketIndexes(c, specs); err != nil {
			return res, err
		}
	}
	missing, err := newIndexes(c, specs)
	res = createdIndexes{before: indexCount(c), built: len(missing), created: created}
	switch {
	case err != nil:
	case created:
		_, err = schema.CreateNew(req.Service.Store,
			&schema.NewCollection{DB: req.DB, Name: name, Kind: catalog.KindCollection, Indexes: missing})
		res.before = 1
	case len(missing) > 0:
		err = schema.CreateIndexes(ctx, req.Service.Store, c, missing)
	}
	return res, err
}

// createMissing is buildMissing in a transaction, which can only create indexes on new collections.
func createMissing(_ context.Context, req *command.Request, name string,
	specs []*indexSpec,
) (res createdIndexes, err error) {
	existed, err := command.WriteTarget(req, req.DB, name)
	if err != nil {
		return res, err
	}
	if existed != nil && existed.Timeseries != nil {
		if specs, err = bucketIndexes(existed, specs); err != nil {
			return res, err
		}
	}
	c, err := command.EnsureTarget(req, req.DB, name)
	if err != nil {
		return res, err
	}
	missing, err := newIndexes(c, specs)
	res = createdIndexes{before: len(c.Indexes) + 1, built: len(missing), created: existed == nil}
	if err != nil || len(missing) == 0 {
		return res, err
	}
	return res, req.Txn().CreateIndexes(c, missing)
}

func parseIndexSpecs(req *command.Request) ([]*indexSpec, error) {
	docs, err := command.DocsOf("createIndexes.indexes", req.Get("indexes"))
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one index to create")
	}
	var out []*indexSpec
	for _, doc := range docs {
		if req.Bool("ignoreUnknownIndexOptions") {
			doc = knownOptions(doc)
		}
		s, err := parseIndexSpec(doc)
		if req.Generic.APIStrict == command.BoolTrue {
			err = cmp.Or(checkStable(doc), err)
		}
		if err != nil {
			return nil, err
		}
		if err := s.readCollation(); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// checkStable returns an error for an index of a type that version 1 of the stable API does not
// have.
func checkStable(spec bsonx.Doc) error {
	key := spec.Lookup("key")
	if key.Type != bsonx.TypeDocument && key.Type != bsonx.TypeArray {
		return nil
	}
	kind, found := index.Having(key.Doc(), (*index.Definition).Unstable)
	if !found {
		return nil
	}
	return inSpecification(mongoerr.New(mongoerr.APIStrictError,
		"%s indexes cannot be created with apiStrict: true", kind.Definition().Name), spec)
}

// knownOptions returns a specification without unknown options.
func knownOptions(spec bsonx.Doc) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		if _, known := indexOptions[string(it.Key())]; known {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return b.Bytes()
}

// newIndexes returns the specifications of the indexes that do not exist yet. A specification that
// contradicts an existing index or another specification is an error, and so is the same new index
// twice.
func newIndexes(c *table.Collection, specs []*indexSpec) ([]bsonx.Doc, error) {
	known := []bsonx.Doc{command.IDIndexSpec}
	for _, ix := range c.Indexes {
		known = append(known, ix.Spec)
	}
	existing := len(known)
	var missing []bsonx.Doc
	for _, s := range specs {
		if err := checkBesideClustered(c, s); err != nil {
			return nil, err
		}
		if s.isID() {
			if err := s.checkIDCollation(c.Collation); err != nil {
				return nil, err
			}
			continue
		}
		if err := s.checkCollation(c.Collation); err != nil {
			return nil, err
		}
		stored := s.stored(c.Collation)
		at, err := findSpec(known, stored)
		switch {
		case err != nil && at >= existing:
			return nil, schema.RefuseBuild(c, err)
		case err != nil:
			return nil, err
		case at >= existing:
			return nil, schema.RefuseBuild(c,
				mongoerr.New(mongoerr.IndexAlreadyExists, "Identical index already exists: %s", s.name))
		case at >= 0:
			continue
		}
		if err := checkOnly(known, s.key); err != nil {
			return nil, err
		}
		if err := s.checkBuild(); err != nil {
			return nil, schema.RefuseBuild(c, err)
		}
		known = append(known, stored)
		missing = append(missing, stored)
		if len(known) > limits.Indexes {
			return nil, cannotCreate("add index fails, too many indexes for %s key:%s", c.Namespace(),
				bsonx.FormatShell(bsonx.Document(s.key)))
		}
	}
	return missing, nil
}

// checkOnly returns an error if an index with the key pattern has a type of which a collection can
// have only one index, and known has such an index.
func checkOnly(known []bsonx.Doc, key bsonx.Doc) error {
	kind, found := index.Having(key, func(d *index.Definition) bool { return d.Several != feature.Yes })
	if !found {
		return nil
	}
	for _, spec := range known {
		if index.Has(spec.Lookup("key").Doc(), kind) {
			name := kind.Definition().Name
			return cannotCreate("only one %s index per collection allowed, found existing %s index %q",
				name, name, spec.Lookup("name").Str())
		}
	}
	return nil
}

// findSpec returns the position of an index in known that is the same as spec, or -1. With an
// error, it returns the position of the index that contradicts spec.
func findSpec(known []bsonx.Doc, spec bsonx.Doc) (int, error) {
	name := spec.Lookup("name").Str()
	for i, old := range known {
		sameName := old.Lookup("name").Str() == name
		sameKey := sameKeyPattern(old.Lookup("key").Doc(), spec.Lookup("key").Doc())
		sameIdentity := sameKey && sameOptions(old, spec, identityOptions)
		switch {
		case sameName && !sameIdentity:
			return i, mongoerr.New(mongoerr.IndexKeySpecsConflict,
				"An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: %s, existing index: %s",
				formatSpec(spec), formatSpec(old))
		case sameName && !sameOptions(old, spec, otherOptions):
			return i, mongoerr.New(mongoerr.IndexOptionsConflict, "An equivalent index already exists with the same name but different options. Requested index: %s, existing index: %s",
				formatSpec(spec), formatSpec(old))
		case sameName:
			return i, nil
		case sameIdentity && !sameOptions(old, spec, otherOptions):
			return i, mongoerr.New(mongoerr.IndexOptionsConflict, "An equivalent index already exists with a different name and options. Requested index: %s, existing index: %s",
				formatSpec(spec), formatSpec(old))
		case sameIdentity:
			return i, mongoerr.New(mongoerr.IndexOptionsConflict,
				"Index already exists with a different name: %s", old.Lookup("name").Str())
		}
	}
	return -1, nil
}

// formatSpec formats an index specification for an error message. As in MongoDB, the flags come
// before the key.
func formatSpec(spec bsonx.Doc) string {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for _, name := range leadingOptions {
		b.Value(name, spec.Lookup(name))
	}
	for it := spec.Iter(); it.Next(); {
		if !slices.Contains(leadingOptions, string(it.Key())) {
			b.ValueBytes(it.Key(), it.Value())
		}
	}
	b.End()
	return bsonx.FormatShell(bsonx.Document(b.Bytes()))
}

var leadingOptions = []string{"v", "unique", "hidden", "prepareUnique"}

// Two indexes with the same key are different if one of the identityOptions differs. If only the
// otherOptions differ, they conflict.
var (
	identityOptions = []string{"unique", "sparse", "partialFilterExpression", "collation", "wildcardProjection"}
	otherOptions    = []string{
		"hidden", "expireAfterSeconds", "weights", "default_language",
		"language_override", "bits", "min", "max",
	}
)

func sameOptions(a, b bsonx.Doc, names []string) bool {
	for _, name := range names {
		x, y := a.Lookup(name), b.Lookup(name)
		same := bsonx.CompareValues(x, y) == 0
		switch {
		case same:
		case name == "sparse" || name == "hidden" || name == "unique":
			same = x.Truthy() == y.Truthy()
		case name == "partialFilterExpression":
			same = sameFilter(x, y)
		case name == "wildcardProjection":
			same = x.Type == y.Type && index.NewWildcardPaths(a.Lookup("key").Doc(), a).
				Equal(index.NewWildcardPaths(b.Lookup("key").Doc(), b))
		}
		if !same {
			return false
		}
	}
	return true
}

// sameFilter reports whether two partial filters have the same normal form.
func sameFilter(x, y bsonx.Value) bool {
	if x.Type != bsonx.TypeDocument || y.Type != bsonx.TypeDocument {
		return false
	}
	var normal [2]bsonx.Doc
	for i, v := range []bsonx.Value{x, y} {
		f, err := filter.Parse(v.Doc(), filter.Options{})
		if err != nil {
			return false
		}
		normal[i] = filter.Serialize(f.Normalize().Root)
	}
	return bsonx.CompareValues(bsonx.Document(normal[0]), bsonx.Document(normal[1])) == 0
}

// sameKeyPattern reports whether two key patterns have the same fields in the same order, and equal
// values. Numbers are compared by value.
func sameKeyPattern(a, b bsonx.Doc) bool {
	ia, ib := a.Iter(), b.Iter()
	for {
		na, nb := ia.Next(), ib.Next()
		if !na || !nb {
			return na == nb
		}
		if !bytes.Equal(ia.Key(), ib.Key()) || bsonx.CompareValues(ia.Value(), ib.Value()) != 0 {
			return false
		}
	}
}
