package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// catalogState is the set of names that exist: "db.collection", "db.collection/marker" for a
// document of the collection, and "db.collection@index".
type catalogState map[string]bool

func (s catalogState) with(names ...string) catalogState {
	out := maps.Clone(s)
	for _, n := range names {
		out[n] = true
	}
	return out
}

// without returns the state without a collection, its documents and its indexes.
func (s catalogState) without(ns string) catalogState {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(name string, _ bool) bool {
		return name == ns || strings.HasPrefix(name, ns+"/") || strings.HasPrefix(name, ns+"@")
	})
	return out
}

// renamed returns the state after renaming from to to, which replaces an existing collection.
func (s catalogState) renamed(from, to string) catalogState {
	out := s.without(to).without(from)
	for name := range s {
		if rest, ok := strings.CutPrefix(name, from); ok && (rest == "" || rest[0] == '/' || rest[0] == '@') {
			out[to+rest] = true
		}
	}
	return out
}

func (s catalogState) String() string { return strings.Join(slices.Sorted(maps.Keys(s)), " ") }

// catalogWorker creates, renames and drops collections of databases that no one else uses.
type catalogWorker struct {
	t      *testing.T
	rng    *rand.Rand
	srv    *child
	dbs    []string
	states []catalogState
	next   int
	acks   int
}

// change runs do, which changes the catalog. after are the states through which the catalog may go;
// the last one is the result. It reports whether do succeeded.
func (w *catalogWorker) change(do func() error, after ...catalogState) bool {
	w.states = append(w.states[:1:1], after...)
	if err := do(); err != nil {
		if !w.srv.killed.Load() {
			w.t.Errorf("catalog worker: %v", err)
		}
		return false
	}
	w.acks++
	w.states = after[len(after)-1:]
	return true
}

func (w *catalogWorker) coll(ns string) *mongo.Collection {
	db, name, _ := strings.Cut(ns, ".")
	return w.srv.client.Database(db).Collection(name)
}

func (w *catalogWorker) run(ctx context.Context) {
	for ctx.Err() == nil && !w.t.Failed() && w.step(ctx) {
	}
}

func (w *catalogWorker) step(ctx context.Context) bool {
	ns := func() string { return w.dbs[w.rng.IntN(len(w.dbs))] + "." + string(rune('a'+w.rng.IntN(4))) }
	now, a, b := w.states[0], ns(), ns()
	switch n := w.rng.IntN(10); {
	case n < 4 && !now[a]:
		return w.insert(ctx, a, now)
	case n < 4:
		return w.drop(ctx, a, now)
	case n < 6 && !now[a]:
		return w.create(ctx, a, now)
	case n < 6:
		return w.index(ctx, a, now)
	case n < 9 && now[a] && a != b:
		return w.rename(ctx, a, b, now)
	case n == 9 && w.rng.IntN(4) == 0:
		return w.dropDatabase(ctx, now)
	}
	return true
}

func (w *catalogWorker) create(ctx context.Context, ns string, now catalogState) bool {
	return w.change(func() error {
		db, name, _ := strings.Cut(ns, ".")
		return w.srv.client.Database(db).CreateCollection(ctx, name)
	}, now.with(ns))
}

// insert creates a collection with a document that identifies it. These are two changes, and after
// a kill possibly only the first one exists.
func (w *catalogWorker) insert(ctx context.Context, ns string, now catalogState) bool {
	w.next++
	return w.change(func() error {
		_, err := w.coll(ns).InsertOne(ctx,
			bson.D{{"_id", w.next}, {"tags", bson.A{1, 2, w.next}}})
		return err
	}, now.with(ns), now.with(ns, fmt.Sprintf("%s/%d", ns, w.next)))
}

func (w *catalogWorker) drop(ctx context.Context, ns string, now catalogState) bool {
	return w.change(func() error { return w.coll(ns).Drop(ctx) }, now.without(ns))
}

func (w *catalogWorker) index(ctx context.Context, ns string, now catalogState) bool {
	return w.change(func() error {
		_, err := w.coll(ns).Indexes().CreateOne(ctx, mongo.IndexModel{Keys: bson.D{{"tags", 1}}})
		return err
	}, now.with(ns+"@tags_1"))
}

func (w *catalogWorker) rename(ctx context.Context, from, to string, now catalogState) bool {
	return w.change(func() error {
		return w.srv.client.Database("admin").RunCommand(ctx, bson.D{
			{"renameCollection", from}, {"to", to}, {"dropTarget", true},
		}).Err()
	}, now.renamed(from, to))
}

func (w *catalogWorker) dropDatabase(ctx context.Context, now catalogState) bool {
	db := w.dbs[w.rng.IntN(len(w.dbs))]
	after := maps.Clone(now)
	maps.DeleteFunc(after, func(name string, _ bool) bool { return strings.HasPrefix(name, db+".") })
	return w.change(func() error { return w.srv.client.Database(db).Drop(ctx) }, after)
}

// verify compares the catalog of a restarted server with the possible states in the model. The
// state that it finds becomes the only possible state.
func (w *catalogWorker) verify(ctx context.Context) {
	w.t.Helper()
	found := catalogState{}
	for _, db := range w.dbs {
		names, err := w.srv.client.Database(db).ListCollectionNames(ctx, bson.D{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, name := range names {
			ns := db + "." + name
			found[ns] = true
			w.inspect(ctx, ns, found)
		}
	}
	for _, s := range w.states {
		if maps.Equal(s, found) {
			w.states = []catalogState{found}
			return
		}
	}
	w.t.Fatalf("found catalog\n  %v\nit may be\n  %v", found, w.states)
}

func (w *catalogWorker) inspect(ctx context.Context, ns string, found catalogState) {
	w.t.Helper()
	cursor, err := w.coll(ns).Find(ctx, bson.D{})
	if err != nil {
		w.t.Fatal(err)
	}
	var docs []bson.Raw
	if err := cursor.All(ctx, &docs); err != nil {
		w.t.Fatal(err)
	}
	for _, d := range docs {
		found[fmt.Sprintf("%s/%d", ns, d.Lookup("_id").AsInt64())] = true
	}
	for _, name := range indexNames(ctx, w.t, w.coll(ns)) {
		found[ns+"@"+name] = true
	}
}

func indexNames(ctx context.Context, t *testing.T, coll *mongo.Collection) []string {
	t.Helper()
	specs, err := coll.Indexes().ListSpecifications(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, s := range specs {
		if s.Name != "_id_" {
			out = append(out, s.Name)
		}
	}
	return out
}

// indexModels are the indexes that the index worker builds on the collection that the workers
// change.
var indexModels = []mongo.IndexModel{
	{Keys: bson.D{{"n", 1}}, Options: options.Index().SetName("n")},
	{Keys: bson.D{{"tags", 1}}, Options: options.Index().SetName("multikey")},
	{
		Keys:    bson.D{{"w", 1}, {"g", -1}, {"tags", 1}},
		Options: options.Index().SetName("compound"),
	},
	{Keys: bson.D{{"g", 1}}, Options: options.Index().SetName("partial").
		SetPartialFilterExpression(bson.D{{"p", bson.D{{"$gte", 5}}}})},
	{
		Keys:    bson.D{{"pad", -1}, {"u", 1}},
		Options: options.Index().SetName("unique").SetUnique(true),
	},
	{Keys: bson.D{{"missing", 1}}, Options: options.Index().SetName("sparse").SetSparse(true)},
	{Keys: bson.D{{"w", 1}, {"n", "hashed"}}, Options: options.Index().SetName("hashed")},
	{
		Keys:    bson.D{{"$**", 1}},
		Options: options.Index().SetName("wildcard").SetWildcardProjection(bson.D{{"pad", 0}}),
	},
	{
		Keys:    bson.D{{"g", 1}, {"tags.$**", -1}},
		Options: options.Index().SetName("compound wildcard"),
	},
	{Keys: bson.D{{"at", "2dsphere"}}, Options: options.Index().SetName("sphere")},
	{
		Keys:    bson.D{{"g", 1}, {"at", "2dsphere"}, {"tags", 1}},
		Options: options.Index().SetName("compound sphere"),
	},
	{Keys: bson.D{{"xy", "2d"}, {"n", 1}}, Options: options.Index().SetName("plane")},
	{
		Keys: bson.D{{"text", "text"}, {"pad", "text"}, {"n", -1}},
		Options: options.Index().SetName(textName).
			SetWeights(bson.D{{"text", 5}}),
	},
}

const textName = "text"

// kindQueries has queries by the name of an index. The query index by the index and the query scan
// by a scan must give the same documents. An empty scan means the same query.
var kindQueries = map[string]struct{ index, scan bson.D }{
	"sphere":          {index: withinCap},
	"compound sphere": {index: append(bson.D{{"g", 3}}, withinCap...)},
	"plane": {index: bson.D{{"xy", bson.D{{"$geoWithin", bson.D{
		{"$box", bson.A{bson.A{3, 3}, bson.A{9, 12}}},
	}}}}}},
	textName: {
		bson.D{{"$text", bson.D{{"$search", words[2]}}}},
		bson.D{{"text", bson.Regex{Pattern: words[2]}}},
	},
}

var withinCap = bson.D{{
	"at",
	bson.D{{"$geoWithin", bson.D{{"$centerSphere", bson.A{bson.A{8, 8}, 0.08}}}}},
}}

const dupsName = "dups"

// indexWorker builds and drops indexes while the workers run. It also builds unique indexes on a
// collection with duplicates, which must fail.
type indexWorker struct {
	t      *testing.T
	rng    *rand.Rand
	srv    *child
	states []uint // possible sets of indexes; bit i stands for indexModels[i]
	acks   int
}

func (w *indexWorker) coll() *mongo.Collection {
	return w.srv.client.Database(workDB).Collection(docsName)
}

func (w *indexWorker) dups() *mongo.Collection {
	return w.srv.client.Database(workDB).Collection(dupsName)
}

func (w *indexWorker) run(ctx context.Context) {
	for ctx.Err() == nil && !w.t.Failed() {
		var err error
		switch now := w.states[0]; {
		case w.rng.IntN(5) == 0:
			err = w.fail(ctx)
		case w.rng.IntN(3) == 0 && now != 0:
			err = w.drop(ctx, now)
		default:
			err = w.create(ctx, now)
		}
		if err != nil {
			if !w.srv.killed.Load() {
				w.t.Errorf("index worker: %v", err)
			}
			return
		}
		w.acks++
		w.states = w.states[len(w.states)-1:]
	}
}

func (w *indexWorker) create(ctx context.Context, now uint) error {
	var models []mongo.IndexModel
	after := now
	for i, m := range indexModels {
		if now&(1<<i) == 0 && w.rng.IntN(3) == 0 {
			models = append(models, m)
			after |= 1 << i
		}
	}
	if len(models) == 0 {
		return nil
	}
	w.states = []uint{now, after}
	_, err := w.coll().Indexes().CreateMany(ctx, models)
	return err
}

func (w *indexWorker) drop(ctx context.Context, now uint) error {
	i := w.rng.IntN(len(indexModels))
	for now&(1<<i) == 0 {
		i = (i + 1) % len(indexModels)
	}
	w.states = []uint{now, now &^ (1 << i)}
	return w.coll().Indexes().DropOne(ctx, modelName(i))
}

func modelName(i int) string {
	var o options.IndexOptions
	for _, set := range indexModels[i].Options.List() {
		_ = set(&o)
	}
	return *o.Name
}

// fail builds a unique index on a collection with duplicates. The build must fail.
func (w *indexWorker) fail(ctx context.Context) error {
	_, err := w.dups().Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys: bson.D{{"d", 1}}, Options: options.Index().SetUnique(true),
	})
	if mongo.IsDuplicateKeyError(err) {
		return nil
	}
	return fmt.Errorf("a unique index over duplicates: %w", errors.Join(err, ctx.Err()))
}

// verify waits until a restarted server has completed its index builds, and compares the indexes
// with the model.
func (w *indexWorker) verify(ctx context.Context) {
	w.t.Helper()
	const longest = 30 * time.Second
	for end := time.Now().Add(longest); len(indexNames(ctx, w.t, w.dups())) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal("a unique index over duplicates was not given up after the restart")
		}
	}
	var found uint
	for _, name := range indexNames(ctx, w.t, w.coll()) {
		i := 0
		for i < len(indexModels) && modelName(i) != name {
			i++
		}
		if i == len(indexModels) {
			continue // this is the index on _id
		}
		found |= 1 << i
		for end := time.Now().Add(longest); !w.usable(ctx, name); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				w.t.Fatalf("the build of index %s did not end after the restart", name)
			}
		}
		w.compare(ctx, name)
	}
	if !slices.Contains(w.states, found) {
		w.t.Fatalf("found the indexes %b, which may be %b", found, w.states)
	}
	w.states = []uint{found}
}

// compare runs the queries of an index with the index and with a scan. Both must give the same
// result.
func (w *indexWorker) compare(ctx context.Context, name string) {
	w.t.Helper()
	q, ok := kindQueries[name]
	if !ok {
		return
	}
	by := options.Find().SetHint(name)
	if name == textName {
		by = options.Find() // a hint of a text index is refused
	}
	if q.scan == nil {
		q.scan = q.index
	}
	got, err := readAll(ctx, w.coll(), q.index, by)
	if err != nil {
		w.t.Fatal(err)
	}
	want, err := readAll(ctx, w.coll(), q.scan, options.Find().SetHint(bson.D{{"$natural", 1}}))
	if err != nil {
		w.t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		w.t.Fatalf("index %s finds %d documents, a scan %d", name, len(got), len(want))
	}
}

// codeNoPlans is the planner's error code for the hint of a wildcard index without a path.
const codeNoPlans = 291

// usable reports whether an index is complete: the planner accepts it as a hint, or searches text
// in it.
func (w *indexWorker) usable(ctx context.Context, name string) bool {
	filter, opts := bson.D{}, options.FindOne().SetHint(name)
	if name == textName {
		filter, opts = kindQueries[name].index, options.FindOne()
	}
	err := w.coll().FindOne(ctx, filter, opts).Err()
	var refused mongo.CommandError
	return err == nil || errors.Is(err, mongo.ErrNoDocuments) || errors.As(err, &refused) && refused.Code == codeNoPlans
}
