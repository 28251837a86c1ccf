package patterns_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/cart"
	"github.com/sheafdb/sheaf/patterns/catalog"
	"github.com/sheafdb/sheaf/patterns/eventlog"
	"github.com/sheafdb/sheaf/patterns/game"
	"github.com/sheafdb/sheaf/patterns/i18n"
	"github.com/sheafdb/sheaf/patterns/identity"
	"github.com/sheafdb/sheaf/patterns/ledger"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/patterns/metadata"
	"github.com/sheafdb/sheaf/patterns/paging"
	"github.com/sheafdb/sheaf/patterns/relation"
	"github.com/sheafdb/sheaf/patterns/schema"
	"github.com/sheafdb/sheaf/patterns/seating"
	"github.com/sheafdb/sheaf/patterns/slicecache"
	"github.com/sheafdb/sheaf/sheaftest"
)

type indexed interface{ Indexes() []patterns.Index }

// either returns the value of a constructor as an interface.
func either[T indexed](v T, err error) (indexed, error) { return v, err }

// works lists the types that work without EnsureIndexes. They have no unique index and no TTL
// index, and need no special collection: without the indexes, only their reads are slower.
func works(db *mongo.Database) map[string]func() (indexed, error) {
	return map[string]func() (indexed, error){
		"cart.Shop":       func() (indexed, error) { return either(cart.New(db, cart.Config{})) },
		"catalog.Catalog": func() (indexed, error) { return either(catalog.New(db, catalog.Config{})) },
		// Package eventlog creates its indexes in its first operation: see the variable itself.
		"eventlog.Log": func() (indexed, error) { return either(eventlog.New(db, eventlog.Config{})) },
		"game.Game":    func() (indexed, error) { return either(game.New(db, game.Config{})) },
		"i18n.Texts":   func() (indexed, error) { return either(i18n.New(db, i18n.Config{})) },
		// The only unique index is the index of _id.
		"identity.Identities": func() (indexed, error) { return either(identity.New(db, identity.Config{})) },
		"ledger.Ledger":       func() (indexed, error) { return either(ledger.New(db, ledger.Config{})) },
		"lock.Locks":          func() (indexed, error) { return either(lock.New(db, lock.Config{})) },
		"metadata.Store":      func() (indexed, error) { return either(metadata.New(db, metadata.Config{})) },
		"paging.Pager": func() (indexed, error) {
			return either(paging.New[bson.Raw](db, paging.Config{Collection: "items"}))
		},
		"relation.Bucketed": func() (indexed, error) {
			return either(relation.NewBuckets(db, relation.BucketConfig{}))
		},
		"relation.Relations": func() (indexed, error) { return either(relation.New(db, relation.Config{})) },
		"schema.Jobs":        func() (indexed, error) { return either(schema.NewJobs(db, schema.JobsConfig{})) },
		"schema.Schema":      func() (indexed, error) { return either(schema.New(db, schema.Config{})) },
		"seating.Seating":    func() (indexed, error) { return either(seating.New(db, seating.Config{})) },
		"slicecache.Latest": func() (indexed, error) {
			return either(slicecache.NewLatest(db, slicecache.LatestConfig[bson.Raw]{}))
		},
	}
}

// itself lists the packages that create their collections and indexes in the first operation, each
// with the name of its test.
var itself = map[string]string{"eventlog": "TestAppendMakesItsTTLIndex"}

// TestEveryPackageWithPromisesChecks finds the packages with indexes or collections that do more
// than make reads faster, in any configuration. The first operation of such a package without
// EnsureIndexes is refused, or creates the indexes and collections.
func TestEveryPackageWithPromisesChecks(t *testing.T) {
	t.Parallel()
	refused := map[string]bool{}
	for name := range uses(t, sheaftest.New(t).Database("app")) {
		pkg, _, _ := strings.Cut(name, ".")
		refused[pkg] = true
	}
	found := packagesWithPromises(t)
	if len(found) < 10 {
		t.Fatalf("only %v make promises", found)
	}
	for _, pkg := range found {
		if !refused[pkg] && itself[pkg] == "" {
			t.Errorf("package %s has a unique or TTL index or a special collection, and no case in uses", pkg)
		}
	}
}

// packagesWithPromises returns the packages below this folder that create a unique index, a TTL
// index, or a special collection.
func packagesWithPromises(t *testing.T) (names []string) {
	t.Helper()
	promise := regexp.MustCompile(`\.(SetUnique|SetExpireAfterSeconds|SetCapped|SetTimeSeriesOptions)\(`)
	eachSource(t, func(file *ast.File, text []byte) {
		if promise.Match(text) {
			names = append(names, file.Name.Name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// TestAppendMakesItsTTLIndex appends an event without EnsureIndexes: Append creates the TTL index
// that removes old events.
func TestAppendMakesItsTTLIndex(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("app")
	log, err := eventlog.New(db, eventlog.Config{Collection: "events", Retention: eventlog.TTL{Keep: time.Hour}})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(t.Context(), eventlog.Journaled, &eventlog.Event{Host: "h"}); err != nil {
		t.Fatal(err)
	}
	specs, err := db.Collection("events").Indexes().ListSpecifications(t.Context())
	isTTL := func(s mongo.IndexSpecification) bool {
		return s.ExpireAfterSeconds != nil && *s.ExpireAfterSeconds == 3600
	}
	if err != nil || !slices.ContainsFunc(specs, isTTL) {
		t.Errorf("the indexes are %v, %v", specs, err)
	}
}

// TestCappedLogInAnOrdinaryCollection appends an event to an ordinary collection, which would keep
// all events: Append and EnsureIndexes return ErrNotPrepared.
func TestCappedLogInAnOrdinaryCollection(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("app")
	if err := db.CreateCollection(t.Context(), "events"); err != nil {
		t.Fatal(err)
	}
	log, err := eventlog.New(db, eventlog.Config{Collection: "events", Retention: eventlog.Capped{Bytes: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	err = log.Append(t.Context(), eventlog.Journaled, &eventlog.Event{Host: "h"})
	if !errors.Is(err, patterns.ErrNotPrepared) {
		t.Errorf("an event was appended: %v", err)
	}
	if err := log.EnsureIndexes(t.Context()); !errors.Is(err, patterns.ErrNotPrepared) {
		t.Errorf("EnsureIndexes: %v", err)
	}
}

// TestEveryTypeWithIndexesHasAFirstUse finds the types with EnsureIndexes in the source. Each of
// them must be in uses, or in works.
func TestEveryTypeWithIndexesHasAFirstUse(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("app")
	cases := slices.Collect(maps.Keys(works(db)))
	for name := range uses(t, db) {
		typeName, _, _ := strings.Cut(name, " ")
		cases = append(cases, typeName)
	}
	slices.Sort(cases)
	cases, found := slices.Compact(cases), typesWithIndexes(t)
	if len(found) < 20 {
		t.Fatalf("only %v have EnsureIndexes", found)
	}
	for _, name := range found {
		if !slices.Contains(cases, name) {
			t.Errorf("%s has EnsureIndexes, and no case in uses or works", name)
		}
	}
	for _, name := range cases {
		if !slices.Contains(found, name) {
			t.Errorf("there is a case for %s, which has no EnsureIndexes", name)
		}
	}
}

// TestWorksWithoutPromises checks that the types in works have no unique index and no TTL index.
func TestWorksWithoutPromises(t *testing.T) {
	t.Parallel()
	for name, create := range works(sheaftest.New(t).Database("app")) {
		pattern, err := create()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, ix := range pattern.Indexes() {
			if ix.Model.Options != nil && promises(t, ix.Model.Options) {
				t.Errorf("%s has the unique or TTL index %v: its first use must ask patterns.Prepared", name, ix.Model.Keys)
			}
		}
	}
}

// promises reports whether an index does more than make reads faster.
func promises(t *testing.T, b *options.IndexOptionsBuilder) bool {
	t.Helper()
	var o options.IndexOptions
	for _, set := range b.List() {
		if err := set(&o); err != nil {
			t.Fatal(err)
		}
	}
	return o.Unique != nil && *o.Unique || o.ExpireAfterSeconds != nil
}

// typesWithIndexes returns the types below this folder that have a method EnsureIndexes.
func typesWithIndexes(t *testing.T) (names []string) {
	t.Helper()
	eachSource(t, func(file *ast.File, _ []byte) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && f.Name.Name == "EnsureIndexes" {
				names = append(names, file.Name.Name+"."+receiver(f.Recv.List[0].Type))
			}
		}
	})
	return names
}

// eachSource calls fn with each Go file below this folder, except the tests.
func eachSource(t *testing.T, fn func(file *ast.File, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		fn(file, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// receiver returns the name of the type of a method. The receiver may be a pointer or generic.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
