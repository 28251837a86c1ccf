package pebble

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/torture"
)

func gapKey(n int) []byte { return fmt.Appendf(nil, "key%06d", n) }

// putAndDelete commits a transaction that puts and deletes keys.
func putAndDelete(t testing.TB, e *Engine, put, del []int) {
	t.Helper()
	txn := e.Begin()
	defer txn.Rollback()
	for _, n := range put {
		if err := txn.Put(gapKey(n), []byte("v")); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range del {
		if err := txn.Delete(gapKey(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := txn.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
}

func numbers(from, to int) []int {
	var list []int
	for n := from; n < to; n++ {
		list = append(list, n)
	}
	return list
}

// settle waits until no range waits for its survey.
func (g *gaps) settle() {
	for {
		g.mu.Lock()
		surveying := g.surveying
		g.mu.Unlock()
		if !surveying {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// seeks counts how many keys Pebble steps over for the first and the last key in a reader's range.
func seeks(t testing.TB, r storage.Reader) (first, last string, steps int) {
	t.Helper()
	opened, err := r.NewIter([]byte("key"), []byte("kez"))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	it := opened.(*iterator)
	if it.First() {
		first = string(it.Key())
	}
	if it.Last() {
		last = string(it.Key())
	}
	return first, last, it.steps()
}

// TestGaps checks that deleted keys are crossed only once, and that older views and new keys are
// handled correctly.
func TestGaps(t *testing.T) {
	t.Parallel()
	e := open(t, "store", Options{FS: vfs.NewMem()})
	putAndDelete(t, e, numbers(0, 1000), nil)
	old := e.NewSnapshot()
	defer old.Close()
	putAndDelete(t, e, nil, numbers(0, 400))
	putAndDelete(t, e, nil, numbers(600, 1000))
	look := func(what, first, last string, most int) {
		t.Helper()
		snap := e.NewSnapshot()
		defer snap.Close()
		f, l, steps := seeks(t, snap)
		if f != first || l != last || steps > most {
			t.Errorf("%s: %s to %s after %d steps, not %s to %s after %d at most", what, f, l, steps, first, last, most)
		}
		e.gaps.settle()
	}
	look("deleted", "key000400", "key000599", 2000)
	look("surveyed", "key000400", "key000599", 4)
	if first, last, _ := seeks(t, old); first != "key000000" || last != "key000999" {
		t.Errorf("the snapshot of before has %s to %s", first, last)
	}
	past := e.Scratch(old)
	if first, last, _ := seeks(t, past); first != "key000000" || last != "key000999" {
		t.Errorf("a transaction over the snapshot of before has %s to %s", first, last)
	}
	past.Rollback()
	putAndDelete(t, e, []int{100, 900}, nil)
	look("put again", "key000100", "key000900", 400)
	putAndDelete(t, e, nil, []int{100, 900})
	look("deleted again", "key000400", "key000599", 1000)
	look("joined", "key000400", "key000599", 32)
	putAndDelete(t, e, nil, numbers(400, 600))
	look("empty", "", "", 2000)
	look("known to be empty", "", "", 4)
}

// TestGapsOfBefore checks that a view taken before the last survey still leaps over the gaps that
// were known when it was taken.
func TestGapsOfBefore(t *testing.T) {
	t.Parallel()
	e := open(t, "store", Options{FS: vfs.NewMem()})
	putAndDelete(t, e, numbers(0, 2000), nil)
	for taken := 0; taken < 1500; taken += 100 {
		putAndDelete(t, e, nil, numbers(taken, taken+100))
		before := e.NewSnapshot()
		for range 2 {
			snap := e.NewSnapshot()
			seeks(t, snap)
			_ = snap.Close()
			e.gaps.settle()
		}
		if first, _, steps := seeks(t, before); first != string(gapKey(taken+100)) || steps > 250 {
			t.Errorf("%s after %d steps", first, steps)
		}
		_ = before.Close()
	}
	if n := len(e.gaps.list); n > settled+2 {
		t.Errorf("%d gaps where one would do", n)
	}
}

// TestGapsOwnWrites checks that a transaction sees its own put into a gap, and its deletion.
func TestGapsOwnWrites(t *testing.T) {
	t.Parallel()
	e := open(t, "store", Options{FS: vfs.NewMem()})
	putAndDelete(t, e, numbers(0, 500), nil)
	putAndDelete(t, e, nil, numbers(0, 499))
	for range 2 {
		snap := e.NewSnapshot()
		seeks(t, snap)
		e.gaps.settle()
		_ = snap.Close()
	}
	for _, txn := range []storage.Txn{e.Begin(), e.BeginSnapshot()} {
		if err := txn.Put(gapKey(7), []byte("own")); err != nil {
			t.Fatal(err)
		}
		it, err := txn.NewIter([]byte("key"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if !it.First() || !bytes.Equal(it.Key(), gapKey(7)) || !it.Next() || !bytes.Equal(it.Key(), gapKey(499)) ||
			!it.Prev() || !bytes.Equal(it.Key(), gapKey(7)) {
			t.Errorf("the transaction is at %q", it.Key())
		}
		_ = it.Close()
		txn.Rollback()
	}
}

// TestGapsConcurrent changes a few keys from many goroutines. In each view it compares reads with
// gaps and reads of Pebble itself.
func TestGapsConcurrent(t *testing.T) {
	t.Parallel()
	for _, flush := range []bool{false, true} {
		t.Run(fmt.Sprintf("flush=%t", flush), func(t *testing.T) {
			t.Parallel()
			e := open(t, "store", Options{FS: vfs.NewMem(), MemoryBudget: minMemoryBudget})
			raceGaps(t, e, flush)
		})
	}
}

const gapUniverse = 400

func raceGaps(t *testing.T, e *Engine, flush bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	enough := time.AfterFunc(torture.Time(2*time.Second), cancel)
	defer enough.Stop()
	var wg sync.WaitGroup
	var leaps, views atomic.Int64
	for seed := range uint64(3) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for ctx.Err() == nil {
				changeAtRandom(t, e, rnd)
			}
		})
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 2))
			for ctx.Err() == nil && !t.Failed() {
				leaps.Add(int64(compareView(t, e, rnd)))
				views.Add(1)
			}
		})
	}
	if flush {
		wg.Go(func() {
			for ctx.Err() == nil {
				_ = e.db.Flush()
				_ = e.db.Compact(ctx, []byte("a"), []byte("z"), false)
			}
		})
	}
	wg.Wait()
	if leaps.Load() == 0 {
		t.Errorf("no gap was used in %d views", views.Load())
	}
	t.Logf("%d views, %d gaps were used", views.Load(), leaps.Load())
}

// changeAtRandom deletes a run of keys, or puts some.
func changeAtRandom(t *testing.T, e *Engine, rnd *rand.Rand) {
	var put, del []int
	from := rnd.IntN(gapUniverse)
	switch rnd.IntN(4) {
	case 0:
		del = numbers(from, min(from+rnd.IntN(gapUniverse), gapUniverse))
	case 1:
		del = []int{from}
	default:
		put = numbers(from, min(from+1+rnd.IntN(3), gapUniverse))
	}
	putAndDelete(t, e, put, del)
}

// compareView compares one view's seeks with Pebble's own. It returns how many gaps the view may
// use.
func compareView(t *testing.T, e *Engine, rnd *rand.Rand) (usable int) {
	taken := e.NewSnapshot()
	defer taken.Close()
	snap := taken.(*snapshot)
	if rnd.IntN(8) == 0 {
		time.Sleep(time.Duration(rnd.IntN(5)) * time.Millisecond)
	}
	from := rnd.IntN(gapUniverse)
	lower, upper := gapKey(from), gapKey(from+1+rnd.IntN(gapUniverse))
	opened, err := taken.NewIter(lower, upper)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer opened.Close()
	p, _ := e.pins.acquire()
	plain, err := e.newSource(snap.inner, snap.state, lower, upper, p)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer func() { _ = plain.close(e) }()
	for range 12 {
		key := gapKey(rnd.IntN(gapUniverse + 2))
		var what string
		var got, want bool
		switch rnd.IntN(6) {
		case 0:
			what, got, want = "First", opened.First(), plain.First()
		case 1:
			what, got, want = "Last", opened.Last(), plain.Last()
		case 2:
			what, got, want = "SeekGE "+string(key), opened.SeekGE(key), plain.SeekGE(key)
		case 3:
			what, got, want = "SeekLT "+string(key), opened.SeekLT(key), plain.SeekLT(key)
		case 4:
			what, got, want = "Next", opened.Next(), plain.Next()
		case 5:
			what, got, want = "Prev", opened.Prev(), plain.Prev()
		}
		if got != want || got && !bytes.Equal(opened.Key(), plain.Key()) {
			t.Errorf("%s in [%s, %s): %t %q, not %t %q", what, lower, upper, got, opened.Key(), want, plain.Key())
			return 0
		}
	}
	e.gaps.mu.RLock()
	defer e.gaps.mu.RUnlock()
	for _, g := range e.gaps.list {
		if g.state <= snap.state && bytes.Compare(g.from, upper) < 0 && bytes.Compare(lower, g.to) < 0 {
			usable++
		}
	}
	return usable
}

// BenchmarkQueue puts keys at one end of an index and deletes them at the other, while snapshots of
// the last seconds are open. steps/op is the number of keys that a delete in the last tenth steps
// over.
func BenchmarkQueue(b *testing.B) {
	e := open(b, b.TempDir(), Options{})
	putAndDelete(b, e, numbers(0, 100), nil)
	var held []storage.Snapshot
	steps, counted := 0, 0
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			held = append(held, e.NewSnapshot())
			if len(held) > 20 {
				_ = held[0].Close()
				held = held[1:]
			}
		}
		snap := e.NewSnapshot()
		first, _, n := seeks(b, snap)
		_ = snap.Close()
		var key int
		if _, err := fmt.Sscanf(first, "key%d", &key); err != nil {
			b.Fatal(err)
		}
		putAndDelete(b, e, []int{100 + i}, []int{key})
		if i%10 == 0 {
			steps, counted = 0, 0
		}
		steps += n
		counted++
	}
	b.ReportMetric(float64(steps)/float64(counted), "steps/op")
	for _, s := range held {
		_ = s.Close()
	}
}

// TestGapsWaitForCommits checks that a survey does not read before all commits that may not know
// its range have ended.
func TestGapsWaitForCommits(t *testing.T) {
	t.Parallel()
	var g gaps
	commit := g.commits.enter()
	if !g.request([]byte("a"), []byte("b")) || g.request([]byte("a"), []byte("c")) {
		t.Fatal("two surveys of one range")
	}
	var ended atomic.Bool
	began := make(chan bool)
	go func() {
		_, ok := g.begin()
		began <- ok && ended.Load()
	}()
	time.Sleep(10 * time.Millisecond)
	ended.Store(true)
	g.commits.leave(commit)
	if !<-began {
		t.Error("the survey began while a commit went on that did not know of it")
	}
	later := g.commits.enter()
	g.cut([]byte("aa"))
	g.commits.leave(later)
	g.end([]byte("b"), 1)
	if start, _ := g.ahead([]byte("a"), 1); string(start) != "aa" {
		t.Errorf("the gap goes up to %q", start)
	}
	if _, ok := g.begin(); ok || g.surveying {
		t.Error("the surveys go on")
	}
}

// TestGapsAreBounded checks that the number of gaps is limited, and that the gaps in use are kept
// longest.
func TestGapsAreBounded(t *testing.T) {
	t.Parallel()
	var g gaps
	const useful = 7
	for n := range 10 * maxGaps {
		g.request(gapKey(10*n), gapKey(10*n+5))
		g.begin()
		g.end(gapKey(10*n+5), 1)
		if start, _ := g.ahead(gapKey(10*useful), 1); n >= useful && !bytes.Equal(start, gapKey(10*useful+5)) {
			t.Fatalf("the gap in use was given up for gap %d", n)
		}
	}
	if len(g.list) != maxGaps || g.active.Load() != maxGaps {
		t.Errorf("%d gaps, of which %d count", len(g.list), g.active.Load())
	}
	if g.request(make([]byte, maxGapKey+1), []byte("b")) {
		t.Error("a long key is remembered")
	}
}
