package schema_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock/clocktest"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/schema/schematest"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// hookEngine calls hooks once, before and after a transaction opens an iterator over a range.
type hookEngine struct {
	storage.Engine
	mu     sync.Mutex
	prefix []byte
	before func()
	after  func()
}

func (e *hookEngine) Begin() storage.Txn { return hookTxn{e.Engine.Begin(), e} }

func (e *hookEngine) set(prefix []byte, before, after func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.prefix, e.before, e.after = prefix, before, after
}

func (e *hookEngine) take(lower []byte) (before, after func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.prefix == nil || !bytes.HasPrefix(lower, e.prefix) {
		return func() {}, func() {}
	}
	before, after = e.before, e.after
	e.prefix = nil
	return before, after
}

type hookTxn struct {
	storage.Txn
	e *hookEngine
}

func (t hookTxn) NewIter(lower, upper []byte) (storage.Iterator, error) {
	before, after := t.e.take(lower)
	before()
	it, err := t.Txn.NewIter(lower, upper)
	after()
	return it, err
}

// TestBuildLeavesUnlockedRecordsAlone inserts a record between the records that a step of a build
// has locked, and deletes it after the step has opened its iterator. The step must not write
// entries for it.
func TestBuildLeavesUnlockedRecordsAlone(t *testing.T) {
	t.Parallel()
	e := &hookEngine{Engine: mem.New()}
	s := schematest.Open(t, e)
	c, _ := schema.Ensure(s, "db", "c")
	for _, id := range []int{0, 10} {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", id, "n", id)); err != nil {
			t.Fatal(err)
		}
	}
	e.set(c.RecordPrefix(), func() {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", 5, "n", 5)); err != nil {
			t.Error(err)
		}
	}, func() {
		if err := schematest.Change(s, c, bsonx.Int32(5), func(bsonx.Doc) bsonx.Doc { return nil }); err != nil {
			t.Error(err)
		}
	})
	if err := schema.CreateIndexes(context.Background(), s, c,
		[]bsonx.Doc{schematest.Spec("n_1", bsonx.NewDoc("n", 1))}); err != nil {
		t.Fatal(err)
	}
	schematest.MustValid(t, s, c)
}

// TestBuildOfAnotherIndexOfTheSameName drops an index while it is built and builds another one with
// the same name. The first build must end without a trace, and must not make the second index
// ready.
func TestBuildOfAnotherIndexOfTheSameName(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, _ := schema.Ensure(s, "db", "c")
	for i := range 1000 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "a", i, "b", i)); err != nil {
			t.Fatal(err)
		}
	}
	release, second := make(chan struct{}), make(chan error, 1)
	first := &schematest.StepContext{Context: context.Background(), Step: func(n int) {
		if n != 3 {
			return
		}
		if err := schema.DropIndexes(s, s.Current(c), "x"); err != nil {
			t.Error(err)
		}
		started := make(chan struct{})
		ctx := &schematest.StepContext{Context: context.Background(), Step: func(n int) {
			if n == 2 {
				close(started)
				<-release
			}
		}}
		go func() {
			second <- schema.CreateIndexes(ctx, s, s.Current(c),
				[]bsonx.Doc{schematest.Spec("x", bsonx.NewDoc("b", 1))})
		}()
		<-started
	}}
	err := schema.CreateIndexes(first, s, c, []bsonx.Doc{schematest.Spec("x", bsonx.NewDoc("a", 1))})
	if mongoerr.CodeOf(err) != mongoerr.IndexBuildAborted {
		t.Errorf("the build of the dropped index: %v", err)
	}
	for _, ix := range s.Current(c).Indexes {
		if ix.Ready {
			t.Error("the second index is ready before it is built")
		}
	}
	close(release)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	if n := schematest.MustValid(t, s, c).KeysPerIndex["x"]; n != 1000 {
		t.Errorf("%d entries", n)
	}
}

// TestWaitForBuild creates an index that is already being built. The call must return only when the
// index is complete.
func TestWaitForBuild(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("fails=", fails), func(t *testing.T) {
			t.Parallel()
			s := schematest.Open(t, mem.New())
			c, _ := schema.Ensure(s, "db", "c")
			for i := range 600 {
				if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "a", i)); err != nil {
					t.Fatal(err)
				}
			}
			if fails {
				if err := schematest.Insert(s, c, bsonx.NewDoc("_id", "other", "a", 5)); err != nil {
					t.Fatal(err)
				}
			}
			release, started, built := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			ctx := &schematest.StepContext{Context: context.Background(), Step: func(n int) {
				if n == 2 {
					close(started)
					<-release
				}
			}}
			go func() {
				built <- schema.CreateIndexes(ctx, s, c,
					[]bsonx.Doc{schematest.Spec("a_1", bsonx.NewDoc("a", 1), "unique", true)})
			}()
			<-started
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			if err := schema.WaitIndexes(ended, s, c, "a_1"); err == nil {
				t.Error("a wait went on after its context had ended")
			}
			waited := make(chan error, 1)
			go func() { waited <- schema.WaitIndexes(context.Background(), s, c, "a_1", "b_1") }()
			select {
			case err := <-waited:
				t.Fatalf("the wait ended before the build: %v", err)
			default:
			}
			close(release)
			if err := <-waited; err != nil {
				t.Fatal(err)
			}
			if err := <-built; (err != nil) != fails {
				t.Errorf("the build: %v", err)
			}
			if n := len(s.Current(c).Indexes); fails == (n == 1) {
				t.Errorf("%d indexes", n)
			}
			if err := schema.WaitIndexes(context.Background(), s, c, "a_1", "b_1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBuildOfADroppedCollection drops a collection while one of its indexes is built.
func TestBuildOfADroppedCollection(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, _ := schema.Ensure(s, "db", "c")
	for i := range 600 {
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", i, "a", i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := &schematest.StepContext{Context: context.Background(), Step: func(n int) {
		if n == 2 {
			if err := schema.Drop(s, c); err != nil {
				t.Error(err)
			}
		}
	}}
	err := schema.CreateIndexes(ctx, s, c, []bsonx.Doc{schematest.Spec("a_1", bsonx.NewDoc("a", 1))})
	if mongoerr.CodeOf(err) != mongoerr.IndexBuildAborted {
		t.Errorf("got %v", err)
	}
	if _, err := s.BeginWrite(c); !errors.Is(err, table.ErrDropped) {
		t.Errorf("writing to a dropped collection: %v", err)
	}
}

// during is a compiler whose partial filters call a function once, with the first document that
// they are evaluated on.
type during struct {
	schematest.Compiler
	call func()
}

func (d *during) Partial(bsonx.Doc, *collation.Collator) (table.Predicate, error) { return d, nil }

func (d *during) Match(bsonx.Doc) (bool, error) {
	if call := d.call; call != nil {
		d.call = nil
		call()
	}
	return true, nil
}

// TestTransactionsBesideABuild writes in transactions that begin before and during the build of an
// index.
func TestTransactionsBesideABuild(t *testing.T) {
	hook := &during{}
	s, err := schema.Open(mem.New(), hook, slog.New(slog.DiscardHandler), table.Options{})
	schematest.NoError(t, err)
	defer s.Close()
	c, err := schema.Create(s, "d", "c", catalog.KindCollection, nil)
	schematest.NoError(t, err)
	schematest.NoError(t, schematest.Insert(s, c, bsonx.NewDoc("_id", 0, "a", 0)))
	begin := func(id int) *table.Txn {
		txn := s.BeginTxn(table.TxnOptions{})
		c, err := txn.Lookup("d", "c")
		schematest.NoError(t, err)
		w, err := txn.BeginWrite(c)
		schematest.NoError(t, err)
		defer w.Close()
		schematest.NoError(t, w.Insert(t.Context(), bsonx.NewDoc("_id", id, "a", id)))
		schematest.NoError(t, w.Commit(storage.Buffered))
		return txn
	}
	for i, unique := range []bool{false, true} {
		name := fmt.Sprint("a_", i)
		before := begin(100 + i)
		var within *table.Txn
		hook.call = func() { within = begin(200 + i) }
		schematest.NoError(t, schema.CreateIndexes(t.Context(), s, s.Current(c), []bsonx.Doc{bsonx.NewDoc(
			"key", bsonx.NewDoc("a", 1), "name", name, "unique", unique,
			"partialFilterExpression", bsonx.NewDoc("n", 1),
		)}))
		if err := before.Commit(storage.Buffered); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("the commit of who does not know the index: %v", err)
		}
		// A transaction that began before the unique index refused duplicates has not checked for
		// them.
		if err := within.Commit(storage.Buffered); unique != errors.Is(err,
			storage.ErrConflict) || !unique && err != nil {
			t.Errorf("unique %v: the commit of who maintains the index: %v", unique, err)
		}
		if got := s.Current(c); len(got.Indexes) != i+1 || !got.Indexes[i].Ready {
			t.Errorf("the indexes are %v", got.Indexes)
		}
		result, err := s.Validate(t.Context(), s.Current(c), true)
		if err != nil || len(result.Errors) > 0 {
			t.Errorf("validate: %+v, %v", result, err)
		}
	}
}

// TestFailedBuildRefusesNobody inserts duplicates at every step of the build of a unique index,
// which fails because of earlier duplicates. The index never exists, so none of the inserts may be
// refused.
func TestFailedBuildRefusesNobody(t *testing.T) {
	t.Parallel()
	s := schematest.Open(t, mem.New())
	c, _ := schema.Ensure(s, "db", "c")
	id := 0
	add := func() {
		id++
		if err := schematest.Insert(s, c, bsonx.NewDoc("_id", id, "a", 1)); err != nil {
			t.Errorf("insert of document %d: %v", id, err)
		}
	}
	add()
	add()
	building := false
	s.Interleave(func() {
		if building {
			building = false
			add()
			building = true
		}
	})
	building = true
	err := schema.CreateIndexes(t.Context(), s, c,
		[]bsonx.Doc{bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("a", 1), "name", "a", "unique", true)})
	building = false
	if code := mongoerr.CodeOf(err); code != mongoerr.DuplicateKey || id < 4 {
		t.Errorf("the build beside %d inserts: %v", id, err)
	}
	schematest.MustValid(t, s, s.Current(c))
}

// TestPauseFollowsTheClock checks that a build that lacks disk space waits by the clock of its
// store, and not after the store was closed.
func TestPauseFollowsTheClock(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Unix(1000, 0))
	s, err := schema.Open(mem.New(), schematest.Compiler{}, slog.New(slog.DiscardHandler), table.Options{Clock: clock})
	schematest.NoError(t, err)
	again := make(chan bool)
	wait := func() { again <- schema.Pause(s, schema.PauseForSpace) }
	go wait()
	clock.Wait(1)
	clock.Advance(schema.PauseForSpace)
	if !<-again {
		t.Error("the pause did not end with its time")
	}
	go wait()
	clock.Wait(2)
	s.Close()
	if <-again {
		t.Error("the build goes on after the store was closed")
	}
}
