package ttl_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/ttl"
	"github.com/sheafdb/sheaf/internal/write"
)

// now is the time of all tests.
var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// ago returns the date of that many seconds before now.
func ago(seconds int64) bsonx.Value { return bsonx.Date(now.UnixMilli() - seconds*1000) }

type fixture struct {
	*testing.T
	store   *table.Store
	writes  *write.Executor
	coll    *table.Collection
	monitor *ttl.Monitor
}

func newFixture(t *testing.T, options bsonx.Doc) *fixture {
	t.Helper()
	store, err := schema.Open(mem.New(), ddl.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	c, err := schema.Create(store, "db", "c", "collection", options)
	if err != nil {
		t.Fatal(err)
	}
	writes := write.New(store, plan.New(plan.Options{}))
	m := ttl.New(store, writes, clock.Fixed(now), slog.New(slog.DiscardHandler))
	return &fixture{T: t, store: store, writes: writes, coll: c, monitor: m}
}

func (f *fixture) index(spec bsonx.Doc) {
	f.Helper()
	if err := schema.CreateIndexes(f.Context(), f.store, f.coll, []bsonx.Doc{spec}); err != nil {
		f.Fatal(err)
	}
	f.coll = f.store.Current(f.coll)
}

func (f *fixture) insert(docs ...bsonx.Doc) {
	f.Helper()
	opts := write.Options{View: f.store.Newest()}
	_, err := f.writes.Insert(f.Context(), f.writes.Only(f.coll), docs, opts,
		func(_ int, err error) { f.Error(err) })
	if err != nil {
		f.Fatal(err)
	}
}

// ids returns the _ids of the remaining documents, sorted.
func (f *fixture) ids() string {
	f.Helper()
	snap := f.store.Engine().NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(f.coll.RecordPrefix(), keyspace.PrefixEnd(f.coll.RecordPrefix()))
	if err != nil {
		f.Fatal(err)
	}
	defer it.Close()
	var out []string
	for ok := it.First(); ok; ok = it.Next() {
		doc, err := it.Value()
		if err != nil {
			f.Fatal(err)
		}
		out = append(out, bsonx.FormatShell(bsonx.Doc(doc).Lookup("_id")))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func (f *fixture) pass(want string) {
	f.Helper()
	f.monitor.Pass(f.Context())
	if got := f.ids(); got != want {
		f.Errorf("left are %s; want %s", got, want)
	}
}

func spec(key bsonx.Doc, more ...any) bsonx.Doc {
	return bsonx.NewDoc(append([]any{"v", 2, "key", key, "name", "ttl"}, more...)...)
}

// documents returns documents with dates around 100 seconds before now, and with values that are
// not dates.
func documents() []bsonx.Doc {
	return []bsonx.Doc{
		bsonx.NewDoc("_id", 1, "at", ago(101), "keep", false),
		bsonx.NewDoc("_id", 2, "at", ago(100), "keep", true),
		bsonx.NewDoc("_id", 3, "at", ago(99)),
		bsonx.NewDoc("_id", 4, "at", bsonx.NewArray(ago(5), ago(200), "text")),
		bsonx.NewDoc("_id", 5, "at", bsonx.NewArray(ago(5), 7)),
		bsonx.NewDoc("_id", 6, "at", "2020-01-01"),
		bsonx.NewDoc("_id", 7),
		bsonx.NewDoc("_id", 8, "at", int64(0)),
		bsonx.NewDoc("_id", 9, "at", bsonx.Date(-1<<63), "keep", false),
		bsonx.NewDoc("_id", 10, "at", bsonx.NewArray()),
	}
}

func TestIndexes(t *testing.T) {
	t.Parallel()
	at := bsonx.NewDoc("at", 1)
	for name, c := range map[string]struct {
		spec    bsonx.Doc
		options bsonx.Doc
		want    string
	}{
		"the lowest date of an array counts": {spec: spec(at, "expireAfterSeconds", 100), want: "10 3 5 6 7 8"},
		"descending":                         {spec: spec(bsonx.NewDoc("at", -1), "expireAfterSeconds", 100), want: "10 3 5 6 7 8"},
		"at once":                            {spec: spec(at, "expireAfterSeconds", 0), want: "10 6 7 8"},
		"never":                              {spec: spec(at, "expireAfterSeconds", 1<<31-1), want: "1 10 2 3 4 5 6 7 8"},
		"partial": {
			spec: spec(at, "expireAfterSeconds", 0, "partialFilterExpression",
				bsonx.NewDoc("keep", false)), want: "10 2 3 4 5 6 7 8",
		},
		"hidden, sparse": {spec: spec(at, "expireAfterSeconds", 100, "hidden", true,
			"sparse", true), want: "10 3 5 6 7 8"},
		"no TTL":   {spec: spec(at), want: "1 10 2 3 4 5 6 7 8 9"},
		"wildcard": {spec: spec(bsonx.NewDoc("at.$**", 1), "expireAfterSeconds", 0), want: "1 10 2 3 4 5 6 7 8 9"},
		"capped": {
			spec:    spec(at, "expireAfterSeconds", 100),
			options: bsonx.NewDoc("capped", true, "size", 1<<20), want: "10 3 5 6 7 8",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, c.options)
			f.insert(documents()...)
			f.index(c.spec)
			f.pass(c.want)
		})
	}
}

func TestSubdocuments(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.index(spec(bsonx.NewDoc("a.at", 1), "expireAfterSeconds", 10))
	f.insert(
		bsonx.NewDoc("_id", 1, "a", bsonx.NewArray(bsonx.NewDoc("at", ago(5)), bsonx.NewDoc("at", ago(15)))),
		bsonx.NewDoc("_id", 2, "a", bsonx.NewDoc("at", ago(5))),
	)
	f.pass("2")
}

// TestClustered checks that documents of a clustered collection expire by their _id.
func TestClustered(t *testing.T) {
	t.Parallel()
	clustered := bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("_id", 1), "name", "_id_", "unique", true)
	f := newFixture(t, bsonx.NewDoc("clusteredIndex", clustered, "expireAfterSeconds", 100))
	f.insert(bsonx.NewDoc("_id", ago(101)), bsonx.NewDoc("_id", ago(100)),
		bsonx.NewDoc("_id", ago(99)), bsonx.NewDoc("_id", 1))
	f.pass("1 " + bsonx.FormatShell(ago(99)))
}

// TestChangedRule checks that the monitor uses the current rule: it changes the rule as collMod
// does, and drops it.
func TestChangedRule(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	key := bsonx.NewDoc("at", 1)
	f.index(spec(key, "expireAfterSeconds", 100))
	f.insert(bsonx.NewDoc("_id", 1, "at", ago(150)), bsonx.NewDoc("_id", 2, "at", ago(50)),
		bsonx.NewDoc("_id", 3, "at", ago(20)))
	f.pass("2 3")
	if err := schema.Modify(f.store, f.coll,
		&schema.CollMod{Index: "ttl", Spec: spec(key, "expireAfterSeconds", 30)}); err != nil {
		t.Fatal(err)
	}
	f.pass("3")
	f.coll = f.store.Current(f.coll)
	if err := schema.DropIndexes(f.store, f.coll, "ttl"); err != nil {
		t.Fatal(err)
	}
	f.insert(bsonx.NewDoc("_id", 4, "at", ago(1000)))
	f.pass("3 4")
}

// TestMany checks that a pass removes more than a batch, by an index with several entries per
// document.
func TestMany(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.index(spec(bsonx.NewDoc("at", 1), "expireAfterSeconds", 100))
	var docs []bsonx.Doc
	for i := range int64(1000) {
		docs = append(docs, bsonx.NewDoc("_id", i, "at", bsonx.NewArray(ago(200+i), ago(300+i), ago(10))))
	}
	f.insert(docs...)
	f.insert(bsonx.NewDoc("_id", "new", "at", ago(0)))
	f.pass(`"new"`)
	if got, want := f.monitor.Stats(), (ttl.Stats{Deleted: 1000, Passes: 1, SubPasses: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if c, err := f.store.Count(f.coll); err != nil || c.Count != 1 {
		t.Errorf("%d documents are counted: %v", c.Count, err)
	}
}

// TestHeldRecord checks that the monitor removes the expired documents except one that another
// writer has locked.
func TestHeldRecord(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.index(spec(bsonx.NewDoc("at", 1), "expireAfterSeconds", 0))
	f.insert(bsonx.NewDoc("_id", 1, "at", ago(2)), bsonx.NewDoc("_id", 2, "at", ago(1)))
	w, err := f.store.BeginWrite(f.coll)
	if err != nil {
		t.Fatal(err)
	}
	key := f.coll.RecordKey(nil, bsonx.Int32(1))
	old, err := w.Lock(t.Context(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.pass("1")
	// The locked document is updated before it is released, so it stays.
	if err := w.Update(t.Context(), key, old, bsonx.NewDoc("_id", 1, "at", ago(-60)), table.Modification); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	w.Close()
	f.pass("1")
}

// TestTurns checks that the documents of several targets are removed in turns that are shorter than
// a target.
func TestTurns(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.monitor.SetTurn(200)
	for _, path := range []string{"a", "b"} {
		f.index(bsonx.NewDoc("v", 2, "key", bsonx.NewDoc(path, 1), "name", path, "expireAfterSeconds", 100))
	}
	var docs []bsonx.Doc
	for i := range int64(1000) {
		docs = append(docs, bsonx.NewDoc("_id", i, "a", ago(1000-i/10)))
	}
	f.insert(docs...)
	f.insert(bsonx.NewDoc("_id", "b", "b", ago(150)))
	f.pass("")
	if got, want := f.monitor.Stats(), (ttl.Stats{Deleted: 1001, Passes: 1, SubPasses: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	f.monitor.SetEnabled(false)
	f.insert(bsonx.NewDoc("_id", 2, "a", ago(150)))
	f.pass("2")
}

// TestRun checks that Run makes passes, and that a change of the sleep takes effect immediately.
func TestRun(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.index(spec(bsonx.NewDoc("at", 1), "expireAfterSeconds", 100))
	f.insert(bsonx.NewDoc("_id", 1, "at", ago(150)))
	c := clocktest.New(now)
	m := ttl.New(f.store, f.writes, c, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	c.Wait(1)
	m.SetSleep(1)
	c.Wait(2)
	c.Advance(time.Second)
	c.Wait(3) // the monitor rests after its pass
	cancel()
	<-done
	if got := f.ids(); got != "" {
		t.Errorf("left are %s", got)
	}
}
