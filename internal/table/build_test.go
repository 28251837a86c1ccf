package table_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// hookEngine calls a hook, once, around the opening of a transaction's iterator over a range.
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

// TestBuildLeavesUnlockedRecordsAlone inserts a record between those that a step of a build has locked, and deletes it
// after the step has opened its iterator: the step must not write entries for it.
func TestBuildLeavesUnlockedRecordsAlone(t *testing.T) {
	t.Parallel()
	e := &hookEngine{Engine: mem.New()}
	s := open(t, e)
	c, _ := s.Ensure("db", "c")
	for _, id := range []int{0, 10} {
		if err := insert(s, c, bsonx.NewDoc("_id", id, "n", id)); err != nil {
			t.Fatal(err)
		}
	}
	e.set(c.RecordPrefix(), func() {
		if err := insert(s, c, bsonx.NewDoc("_id", 5, "n", 5)); err != nil {
			t.Error(err)
		}
	}, func() {
		if err := change(s, c, bsonx.Int32(5), func(bsonx.Doc) bsonx.Doc { return nil }); err != nil {
			t.Error(err)
		}
	})
	if err := s.CreateIndexes(context.Background(), c, []bsonx.Doc{spec("n_1", bsonx.NewDoc("n", 1))}); err != nil {
		t.Fatal(err)
	}
	mustValid(t, s, c)
}

// stepContext calls a function each time a build looks whether it was interrupted: between two steps.
type stepContext struct {
	context.Context
	step func(n int)
	n    atomic.Int32
}

func (c *stepContext) Done() <-chan struct{} {
	c.step(int(c.n.Add(1)))
	return c.Context.Done()
}

// TestBuildOfAnotherIndexOfTheSameName drops an index while it is built and builds another one of its name: the first
// build must end without a trace, and must not make the second one ready.
func TestBuildOfAnotherIndexOfTheSameName(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, _ := s.Ensure("db", "c")
	for i := range 1000 {
		if err := insert(s, c, bsonx.NewDoc("_id", i, "a", i, "b", i)); err != nil {
			t.Fatal(err)
		}
	}
	release, second := make(chan struct{}), make(chan error, 1)
	first := &stepContext{Context: context.Background(), step: func(n int) {
		if n != 3 {
			return
		}
		if err := s.DropIndexes(s.Current(c), "x"); err != nil {
			t.Error(err)
		}
		started := make(chan struct{})
		ctx := &stepContext{Context: context.Background(), step: func(n int) {
			if n == 2 {
				close(started)
				<-release
			}
		}}
		go func() { second <- s.CreateIndexes(ctx, s.Current(c), []bsonx.Doc{spec("x", bsonx.NewDoc("b", 1))}) }()
		<-started
	}}
	err := s.CreateIndexes(first, c, []bsonx.Doc{spec("x", bsonx.NewDoc("a", 1))})
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
	if n := mustValid(t, s, c).KeysPerIndex["x"]; n != 1000 {
		t.Errorf("%d entries", n)
	}
}

// TestWaitForBuild asks for an index that is being built: the answer comes when it is complete.
func TestWaitForBuild(t *testing.T) {
	t.Parallel()
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("fails=", fails), func(t *testing.T) {
			t.Parallel()
			s := open(t, mem.New())
			c, _ := s.Ensure("db", "c")
			for i := range 600 {
				if err := insert(s, c, bsonx.NewDoc("_id", i, "a", i)); err != nil {
					t.Fatal(err)
				}
			}
			if fails {
				if err := insert(s, c, bsonx.NewDoc("_id", "other", "a", 5)); err != nil {
					t.Fatal(err)
				}
			}
			release, started, built := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			ctx := &stepContext{Context: context.Background(), step: func(n int) {
				if n == 2 {
					close(started)
					<-release
				}
			}}
			go func() {
				built <- s.CreateIndexes(ctx, c, []bsonx.Doc{spec("a_1", bsonx.NewDoc("a", 1), "unique", true)})
			}()
			<-started
			ended, cancel := context.WithCancel(context.Background())
			cancel()
			if err := s.WaitIndexes(ended, c, "a_1"); err == nil {
				t.Error("a wait went on after its context had ended")
			}
			waited := make(chan error, 1)
			go func() { waited <- s.WaitIndexes(context.Background(), c, "a_1", "b_1") }()
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
			if err := s.WaitIndexes(context.Background(), c, "a_1", "b_1"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBuildOfADroppedCollection drops a collection while an index of it is built.
func TestBuildOfADroppedCollection(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, _ := s.Ensure("db", "c")
	for i := range 600 {
		if err := insert(s, c, bsonx.NewDoc("_id", i, "a", i)); err != nil {
			t.Fatal(err)
		}
	}
	ctx := &stepContext{Context: context.Background(), step: func(n int) {
		if n == 2 {
			if err := s.Drop(c); err != nil {
				t.Error(err)
			}
		}
	}}
	err := s.CreateIndexes(ctx, c, []bsonx.Doc{spec("a_1", bsonx.NewDoc("a", 1))})
	if mongoerr.CodeOf(err) != mongoerr.IndexBuildAborted {
		t.Errorf("got %v", err)
	}
	if _, err := s.BeginWrite(c); !errors.Is(err, table.ErrDropped) {
		t.Errorf("writing to a dropped collection: %v", err)
	}
}

// during is a compiler whose partial indexes call a function, once, with the first document that they are asked about.
type during struct {
	compiler
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

// TestTransactionsBesideABuild writes in transactions that begin before and within the build of an index.
func TestTransactionsBesideABuild(t *testing.T) {
	hook := &during{}
	s, err := table.Open(mem.New(), hook, slog.New(slog.DiscardHandler))
	noError(t, err)
	defer s.Close()
	c, err := s.Create("d", "c", catalog.KindCollection, nil)
	noError(t, err)
	noError(t, insert(s, c, bsonx.NewDoc("_id", 0, "a", 0)))
	begin := func(id int) *table.Txn {
		txn := s.BeginTxn(table.TxnOptions{})
		c, err := txn.Lookup("d", "c")
		noError(t, err)
		w, err := txn.BeginWrite(c)
		noError(t, err)
		defer w.Close()
		noError(t, w.Insert(t.Context(), bsonx.NewDoc("_id", id, "a", id)))
		noError(t, w.Commit(storage.Buffered))
		return txn
	}
	for i, unique := range []bool{false, true} {
		name := fmt.Sprint("a_", i)
		before := begin(100 + i)
		var within *table.Txn
		hook.call = func() { within = begin(200 + i) }
		noError(t, s.CreateIndexes(t.Context(), s.Current(c), []bsonx.Doc{bsonx.NewDoc(
			"key", bsonx.NewDoc("a", 1), "name", name, "unique", unique, "partialFilterExpression", bsonx.NewDoc("n", 1),
		)}))
		if err := before.Commit(storage.Buffered); !errors.Is(err, storage.ErrConflict) {
			t.Errorf("the commit of who does not know the index: %v", err)
		}
		// Who began before a unique index refused duplicates has not looked for them.
		if err := within.Commit(storage.Buffered); unique != errors.Is(err, storage.ErrConflict) || !unique && err != nil {
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

// TestFailedBuildRefusesNobody inserts duplicates at every step of the build of a unique index that
// fails because of the duplicates from before. The index never exists, so that it must refuse none
// of them.
func TestFailedBuildRefusesNobody(t *testing.T) {
	t.Parallel()
	s := open(t, mem.New())
	c, _ := s.Ensure("db", "c")
	id := 0
	add := func() {
		id++
		if err := insert(s, c, bsonx.NewDoc("_id", id, "a", 1)); err != nil {
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
	err := s.CreateIndexes(t.Context(), c, []bsonx.Doc{bsonx.NewDoc("v", 2, "key", bsonx.NewDoc("a", 1), "name", "a", "unique", true)})
	building = false
	if code := mongoerr.CodeOf(err); code != mongoerr.DuplicateKey || id < 4 {
		t.Errorf("the build beside %d inserts: %v", id, err)
	}
	mustValid(t, s, s.Current(c))
}
