package crashtest

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
)

const workers = 8

// fleet is all workers of a test.
type fleet struct {
	t       *testing.T
	rng     *rand.Rand
	workers []*worker
	catalog *catalogWorker
	indexes *indexWorker
	// shared has the values of the shared counters at the start of the round.
	shared map[int]int64
}

// TestKill kills a server under load with SIGKILL, again and again on one directory. After each
// restart it checks that no acknowledged write is lost and that all data are consistent.
func TestKill(t *testing.T) {
	run := torture.Begin(t)
	dir, follower := t.TempDir(), newFollower(false)
	f := newFleet(t, run.Rand(0))
	srv := start(t, dir)
	f.attach(srv)
	f.prepare(t.Context())
	resumed := 0
	for run.Next(shortRounds+2, patience) {
		f.load(srv, time.Duration(50+f.rng.IntN(550))*time.Millisecond)
		if t.Failed() {
			t.Fatalf("round %d:\n%s", run.Rounds(), srv.log)
		}
		for f.rng.IntN(3) == 0 {
			launchAndKill(t, dir, time.Duration(f.rng.IntN(60))*time.Millisecond)
		}
		srv = start(t, dir)
		f.attach(srv)
		f.verify(t.Context())
		follower.check(t, srv.client)
		resumed += srv.resumed()
	}
	srv.stop()
	checkStorage(t, dir)
	acks, ddl := 0, f.catalog.acks+f.indexes.acks
	for _, w := range f.workers {
		acks += w.acks
	}
	t.Logf("%d rounds: %d acknowledged operations on documents, %d on the catalog; %d interrupted index builds resumed",
		run.Rounds(), acks, ddl, resumed)
	if acks < 5*run.Rounds() {
		t.Errorf("only %d operations were acknowledged", acks)
	}
}

func newFleet(t *testing.T, rng *rand.Rand) *fleet {
	fork := func() *rand.Rand { return rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())) }
	f := &fleet{t: t, rng: rng, shared: map[int]int64{}}
	for i := range workers {
		f.workers = append(f.workers,
			&worker{
				t: t, id: int32(i), rng: fork(), docs: map[string]*document{},
				added: map[int]int64{}, tried: map[int]int64{},
			})
	}
	f.catalog = &catalogWorker{t: t, rng: fork(), dbs: []string{"one", "two"}, states: []catalogState{{}}}
	f.indexes = &indexWorker{t: t, rng: fork(), states: []uint{0}}
	return f
}

func (f *fleet) attach(srv *child) {
	for _, w := range f.workers {
		w.srv = srv
	}
	f.catalog.srv, f.indexes.srv = srv, srv
}

// prepare creates the data for the first round: a unique index, documents to index, and duplicates.
func (f *fleet) prepare(ctx context.Context) {
	f.t.Helper()
	_, err := f.indexes.coll().Indexes().CreateOne(ctx, mongo.IndexModel{
		Keys: bson.D{{"u", 1}}, Options: options.Index().SetUnique(true),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	var dups []bson.D
	for i := range 2000 {
		dups = append(dups, bson.D{{"_id", i}, {"d", i % 1999}})
	}
	if _, err := f.indexes.dups().InsertMany(ctx, dups); err != nil {
		f.t.Fatal(err)
	}
	for _, w := range f.workers {
		for range 8 {
			insertMany(ctx, w)
		}
	}
}

// load runs the workers for some time, kills the server, and waits until all workers have noticed.
func (f *fleet) load(srv *child, d time.Duration) {
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for _, w := range f.workers {
		wg.Go(func() { w.run(ctx) })
	}
	wg.Go(func() { f.catalog.run(ctx) })
	wg.Go(func() { f.indexes.run(ctx) })
	time.Sleep(d)
	srv.kill()
	cancel()
	wg.Wait()
	srv.disconnect()
}

// verify checks a restarted server.
func (f *fleet) verify(ctx context.Context) {
	f.t.Helper()
	f.indexes.verify(ctx)
	f.catalog.verify(ctx)
	f.verifyDocuments(ctx)
	f.verifyShared(ctx)
	f.validateAll(ctx)
}

func (f *fleet) verifyDocuments(ctx context.Context) {
	f.t.Helper()
	coll := f.indexes.coll()
	all, err := readAll(ctx, coll, bson.D{}, options.Find().SetHint(bson.D{{"$natural", 1}}))
	if err != nil {
		f.t.Fatal(err)
	}
	fast, err := coll.EstimatedDocumentCount(ctx)
	if err != nil || fast != int64(len(all)) {
		f.t.Fatalf("the collection has %d documents, its count says %d: %v", len(all), fast, err)
	}
	byWorker := make([]map[string]string, len(f.workers))
	for id, state := range all {
		w := parse(state).Worker
		if byWorker[w] == nil {
			byWorker[w] = map[string]string{}
		}
		byWorker[w][id] = state
	}
	for i, w := range f.workers {
		// The unique index must give the same documents as the scan.
		byIndex, err := readAll(ctx, coll, bson.D{{"w", w.id}}, options.Find().SetHint("u_1"))
		if err != nil {
			f.t.Fatal(err)
		}
		if !maps.Equal(byIndex, byWorker[i]) && len(byIndex)+len(byWorker[i]) > 0 {
			f.t.Fatalf("by the index worker %d has %d documents, by a scan %d", i, len(byIndex), len(byWorker[i]))
		}
		w.verify(byWorker[i])
	}
}

// verifyShared checks that the shared counters include everything acknowledged, and nothing that
// was not requested.
func (f *fleet) verifyShared(ctx context.Context) {
	f.t.Helper()
	for id := range 3 {
		var doc struct{ N int64 }
		err := f.indexes.srv.client.Database(workDB).Collection(sharedName).
			FindOne(ctx, bson.D{{"_id", id}}).Decode(&doc)
		if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
			f.t.Fatal(err)
		}
		low, high := f.shared[id], f.shared[id]
		for _, w := range f.workers {
			low, high = low+w.added[id], high+w.tried[id]
			w.added[id], w.tried[id] = 0, 0
		}
		if doc.N < low || doc.N > high {
			f.t.Fatalf("shared counter %d is %d, between %d and %d were added", id, doc.N, low, high)
		}
		f.shared[id] = doc.N
	}
}

// validateAll validates every collection of the server.
func (f *fleet) validateAll(ctx context.Context) {
	f.t.Helper()
	client := f.indexes.srv.client
	dbs, err := client.ListDatabaseNames(ctx, bson.D{})
	if err != nil {
		f.t.Fatal(err)
	}
	if !slices.Contains(dbs, workDB) {
		f.t.Fatalf("databases %v", dbs)
	}
	for _, db := range dbs {
		names, err := client.Database(db).ListCollectionNames(ctx, bson.D{})
		if err != nil {
			f.t.Fatal(err)
		}
		for _, name := range names {
			validate(ctx, f.t, client.Database(db), name)
		}
	}
}

func validate(ctx context.Context, t *testing.T, db *mongo.Database, name string) {
	t.Helper()
	var v struct {
		Valid  bool
		Errors []string
	}
	if err := db.RunCommand(ctx,
		bson.D{{"validate", name}, {"full", true}}).Decode(&v); err != nil {
		t.Fatal(err)
	}
	if !v.Valid {
		t.Fatalf("%s.%s is not valid: %q", db.Name(), name, v.Errors)
	}
}
