package command

import (
	"bytes"
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/table"
)

func createIndexesCommands() []Definition {
	return []Definition{{
		Name: "createIndexes", Help: "Builds indexes on a collection.",
		InTransaction: true, Run: runCreateIndexes, Write: true, API1: true,
		Fields: []Field{
			{Name: "indexes", Type: Array, Required: true},
			{Name: "ignoreUnknownIndexOptions", Type: SafeBool, Unstable: true},
			{Name: "commitQuorum", Type: Any, Unstable: true},
			{Name: "returnOnStart", Type: OptionalBool},
			collectionUUID,
		},
	}}
}

func runCreateIndexes(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	specs, err := parseIndexSpecs(req)
	if err != nil {
		return err
	}
	existed, err := req.writable(req.DB, name)
	if err != nil {
		return err
	}
	if existed != nil && existed.Timeseries != nil {
		if specs, err = bucketIndexes(existed, specs); err != nil {
			return err
		}
	}
	build := buildMissing
	if req.work != nil {
		build = createMissing
	}
	before, missing, err := build(ctx, req, name, specs, existed != nil && existed.Timeseries != nil)
	if errors.Is(err, errBecameSeries) {
		return runCreateIndexes(ctx, req, reply)
	}
	if err != nil {
		return err
	}
	reply.Int32("numIndexesBefore", int32(before))
	reply.Int32("numIndexesAfter", int32(before+len(missing)))
	if len(missing) == 0 {
		reply.String("note", "all indexes already exist")
		return nil
	}
	reply.Bool("createdCollectionAutomatically", existed == nil)
	return nil
}

// buildMissing builds the indexes that do not exist yet. Those that someone else is building are waited for: who is told that
// an index exists may rely on it. It returns how many indexes there were, and the specifications of those that it built.
func buildMissing(ctx context.Context, req *Request, name string, specs []*indexSpec, onSeries bool) (before int, missing []bsonx.Doc, err error) {
	store := req.Service.Store
	names := make([]string, len(specs))
	for i, s := range specs {
		names[i] = s.name
	}
	for {
		c, err := req.ensure(req.DB, name)
		if err != nil {
			return 0, nil, err
		}
		if err := store.WaitIndexes(ctx, c, names...); err != nil {
			return 0, nil, err
		}
		if c = store.Current(c); c == nil {
			continue // dropped just now
		}
		if c.Timeseries != nil && !onSeries {
			return 0, nil, errBecameSeries
		}
		before = indexCount(c)
		missing, err = newIndexes(c, specs)
		if err != nil || len(missing) == 0 {
			return before, nil, err
		}
		switch err = store.CreateIndexes(ctx, c, missing); mongoerr.CodeOf(err) {
		case mongoerr.IndexBuildAlreadyInProgress, mongoerr.NamespaceNotFound: // begun or dropped just now
		default:
			return before, missing, err
		}
	}
}

// createMissing is buildMissing in a transaction, which makes indexes on new collections only.
func createMissing(_ context.Context, req *Request, name string, specs []*indexSpec, _ bool) (before int, missing []bsonx.Doc, err error) {
	c, err := req.ensure(req.DB, name)
	if err != nil {
		return 0, nil, err
	}
	before = len(c.Indexes) + 1
	if missing, err = newIndexes(c, specs); err != nil || len(missing) == 0 {
		return before, nil, err
	}
	return before, missing, req.txn().CreateIndexes(c, missing)
}

func parseIndexSpecs(req *Request) ([]*indexSpec, error) {
	docs, err := docsOf("createIndexes.indexes", req.Get("indexes"))
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one index to create")
	}
	var out []*indexSpec
	for _, doc := range docs {
		s, err := parseIndexSpec(doc)
		if err != nil {
			return nil, prefixError(err, "Error in specification %s :: caused by :: ", bsonx.FormatShell(bsonx.Document(doc)))
		}
		out = append(out, s)
	}
	return out, nil
}

// newIndexes returns the specifications of the indexes that do not exist yet. Ones that contradict existing indexes, or
// each other, are an error.
func newIndexes(c *table.Collection, specs []*indexSpec) ([]bsonx.Doc, error) {
	known := []bsonx.Doc{idIndexSpec}
	hasText := false
	for _, ix := range c.Indexes {
		known = append(known, ix.Spec)
		hasText = hasText || isText(ix.Key)
	}
	var missing []bsonx.Doc
	for _, s := range specs {
		if err := checkBesideClustered(c, s); err != nil {
			return nil, err
		}
		if s.isID() {
			continue
		}
		if err := s.checkCollation(c.Collation); err != nil {
			return nil, err
		}
		stored := s.stored(c.Collation)
		exists, err := compareSpecs(c, known, stored)
		if err != nil {
			return nil, err
		}
		if exists {
			continue
		}
		if hasText && isText(s.key) {
			return nil, cannotCreate("only one text index per collection allowed")
		}
		hasText = hasText || isText(s.key)
		known = append(known, stored)
		missing = append(missing, stored)
		if len(known) > maxIndexes {
			return nil, cannotCreate("add index fails, too many indexes for %s key:%s", c.Namespace(), bsonx.FormatShell(bsonx.Document(s.key)))
		}
	}
	return missing, nil
}

func isText(key bsonx.Doc) bool {
	for it := key.Iter(); it.Next(); {
		if v := it.Value(); v.Type == bsonx.TypeString && v.Str() == "text" {
			return true
		}
	}
	return false
}

// compareSpecs reports whether an index like spec exists.
func compareSpecs(c *table.Collection, known []bsonx.Doc, spec bsonx.Doc) (bool, error) {
	name := spec.Lookup("name").Str()
	for _, old := range known {
		sameName := old.Lookup("name").Str() == name
		sameKey := sameKeyPattern(old.Lookup("key").Doc(), spec.Lookup("key").Doc())
		sameIdentity := sameKey && sameOptions(old, spec, identityOptions)
		switch {
		case sameName && !sameIdentity:
			return false, mongoerr.New(mongoerr.IndexKeySpecsConflict,
				"An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: %s, existing index: %s",
				bsonx.FormatShell(bsonx.Document(spec)), bsonx.FormatShell(bsonx.Document(old)))
		case sameName && !sameOptions(old, spec, otherOptions):
			return false, mongoerr.New(mongoerr.IndexOptionsConflict, "An equivalent index already exists with the same name but different options. Requested index: %s, existing index: %s",
				bsonx.FormatShell(bsonx.Document(spec)), bsonx.FormatShell(bsonx.Document(old)))
		case sameName:
			return true, nil
		case sameIdentity:
			return false, mongoerr.New(mongoerr.IndexOptionsConflict, "Index already exists with a different name: %s", old.Lookup("name").Str())
		}
	}
	return false, nil
}

// identityOptions are those that, with the key, make an index another one; a difference in the others is a conflict.
var (
	identityOptions = []string{"unique", "sparse", "partialFilterExpression", "collation", "wildcardProjection"}
	otherOptions    = []string{"hidden", "expireAfterSeconds", "weights", "default_language", "language_override", "bits", "min", "max"}
)

func sameOptions(a, b bsonx.Doc, names []string) bool {
	for _, name := range names {
		if bsonx.CompareValues(a.Lookup(name), b.Lookup(name)) != 0 {
			return false
		}
	}
	return true
}

// sameKeyPattern compares two key patterns: fields in order, directions by value.
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
