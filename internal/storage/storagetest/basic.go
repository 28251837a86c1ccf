package storagetest

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sheafdb/sheaf/internal/storage"
)

func testGetMissing(t *testing.T, e storage.Engine) {
	_, _, err := e.Get([]byte("missing"))
	wantError(t, err, storage.ErrNotFound)
	s := e.NewSnapshot()
	defer s.Close()
	_, _, err = s.Get([]byte("missing"))
	wantError(t, err, storage.ErrNotFound)
	for _, txn := range []storage.Txn{e.Begin(), e.BeginSnapshot()} {
		_, _, err = txn.Get([]byte("missing"))
		wantError(t, err, storage.ErrNotFound)
		txn.Rollback()
	}
}

func testPutGetDelete(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"}, pair{"b", "2"})
	wantValue(t, reader{e}, "a", "1")
	put(t, e, pair{"a", "3"})
	wantValue(t, reader{e}, "a", "3")
	remove(t, e, "a", "missing")
	wantValue(t, reader{e}, "a", "")
	wantScan(t, reader{e}, "", "", "b=2")
}

func testEmptyValues(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", ""}, pair{"\x00", "zero"}, pair{"\xff\xff", "last"}, pair{"b\x00c", "inner"})
	got, ok := value(t, reader{e}, "a")
	if got != "" || !ok {
		t.Fatalf("an empty value: got %q, %v", got, ok)
	}
	wantScan(t, reader{e}, "", "", "\x00=zero", "a=", "b\x00c=inner", "\xff\xff=last")
	txn := e.Begin()
	defer txn.Rollback()
	noError(t, txn.Put([]byte("c"), nil))
	if got, ok = value(t, txn, "c"); got != "" || !ok {
		t.Fatalf("an own empty value: got %q, %v", got, ok)
	}
}

func testInputsAreCopied(t *testing.T, e storage.Engine) {
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		key, value, counter := []byte("key"), []byte("value"), []byte("n")
		noError(t, txn.Lock(context.Background(), key))
		noError(t, txn.Put(key, value))
		noError(t, txn.Add(counter, storage.Counter{Count: 1}))
		copy(key, "xxx")
		copy(value, "xxxxx")
		copy(counter, "x")
		wantValue(t, txn, "key", "value")
		noError(t, txn.Commit(storage.Buffered))
		wantValue(t, reader{e}, "key", "value")
		wantValue(t, reader{e}, "xxx", "")
		remove(t, e, "key")
	}
	c, err := e.Counter([]byte("n"))
	noError(t, err)
	if c.Count != 2 {
		t.Fatalf("the counter is %d instead of 2", c.Count)
	}
}

func testCommitIsAtomic(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "0"}, pair{"z", "0"})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 300 {
			put(t, e, pair{"a", number(i)}, pair{"z", number(i)})
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		s := e.NewSnapshot()
		a, _ := value(t, s, "a")
		z, _ := value(t, s, "z")
		noError(t, s.Close())
		if a != z {
			t.Fatalf("a snapshot saw half a commit: %q and %q", a, z)
		}
	}
}

func testOwnWrites(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"}, pair{"b", "2"})
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		lockKey(t, txn, "a")
		noError(t, txn.Put([]byte("a"), []byte("x")))
		noError(t, txn.Put([]byte("a"), []byte("y")))
		noError(t, txn.Delete([]byte("b")))
		noError(t, txn.Put([]byte("c"), []byte("z")))
		wantValue(t, txn, "a", "y")
		wantValue(t, txn, "b", "")
		wantScan(t, txn, "", "", "a=y", "c=z")
		noError(t, txn.Delete([]byte("a")))
		noError(t, txn.Put([]byte("b"), []byte("again")))
		wantValue(t, txn, "a", "")
		wantValue(t, txn, "b", "again")
		wantScan(t, txn, "", "", "b=again", "c=z")
		wantScan(t, reader{e}, "", "", "a=1", "b=2")
		txn.Rollback()
		wantScan(t, reader{e}, "", "", "a=1", "b=2")
	}
}

func testOwnWritesMany(t *testing.T, e storage.Engine) {
	const n = 500
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		for i := range n {
			noError(t, txn.Put([]byte(number(i)), []byte(number(i))))
			if i%3 == 0 {
				noError(t, txn.Delete([]byte(number(i/2))))
			}
			if i%5 == 0 {
				noError(t, txn.Put([]byte(number(i/3)), []byte("new")))
			}
		}
		want := make([]string, n)
		for i := range n {
			want[i], _ = value(t, txn, number(i))
		}
		noError(t, txn.Commit(storage.Buffered))
		for i := range n {
			if got, _ := value(t, reader{e}, number(i)); got != want[i] {
				t.Fatalf("key %d: %q in the transaction, %q after it", i, want[i], got)
			}
		}
		noError(t, e.DeleteRange([]byte("0"), []byte("1")))
	}
}

func testStatementReadsNewest(t *testing.T, e storage.Engine) {
	txn := e.Begin()
	defer txn.Rollback()
	wantValue(t, txn, "a", "")
	put(t, e, pair{"a", "1"})
	wantValue(t, txn, "a", "1")
	put(t, e, pair{"a", "2"})
	wantValue(t, txn, "a", "2")
	wantScan(t, txn, "", "", "a=2")
}

func testEndedTransaction(t *testing.T, e storage.Engine) {
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		for _, end := range []func(storage.Txn){
			func(txn storage.Txn) { noError(t, txn.Commit(storage.Buffered)) },
			func(txn storage.Txn) { txn.Rollback() },
		} {
			txn := begin()
			noError(t, txn.Put([]byte("a"), []byte("1")))
			end(txn)
			// Other transactions may reuse the memory of a transaction that has ended.
			other := begin()
			noError(t, other.Put([]byte("b"), []byte("1")))
			txn.Rollback()
			txn.Rollback()
			wantError(t, txn.Commit(storage.Buffered), storage.ErrEnded)
			wantError(t, txn.Put([]byte("c"), nil), storage.ErrEnded)
			wantError(t, txn.Delete([]byte("c")), storage.ErrEnded)
			wantError(t, txn.Add([]byte("c"), storage.Counter{}), storage.ErrEnded)
			wantError(t, txn.Lock(context.Background(), []byte("c")), storage.ErrEnded)
			_, _, err := txn.Get([]byte("a"))
			wantError(t, err, storage.ErrEnded)
			_, err = txn.Has([]byte("a"))
			wantError(t, err, storage.ErrEnded)
			_, err = txn.NewIter(nil, nil)
			wantError(t, err, storage.ErrEnded)
			noError(t, other.Commit(storage.Buffered))
			wantValue(t, reader{e}, "b", "1")
			wantValue(t, reader{e}, "c", "")
		}
	}
}

func testSizeOfTransaction(t *testing.T, e storage.Engine) {
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		if txn.Len() != 0 || txn.Bytes() != 0 {
			t.Fatalf("a new transaction has %d changes of %d bytes", txn.Len(), txn.Bytes())
		}
		noError(t, txn.Put([]byte("a"), bytes.Repeat([]byte("x"), 100)))
		noError(t, txn.Delete([]byte("b")))
		noError(t, txn.Add([]byte("c"), storage.Counter{Count: 1}))
		noError(t, txn.Add([]byte("c"), storage.Counter{Count: 1}))
		if txn.Len() != 3 || txn.Bytes() != 101+1+17 {
			t.Fatalf("the transaction has %d changes of %d bytes, want 3 of 119", txn.Len(), txn.Bytes())
		}
		txn.Rollback()
	}
}

func testLargeTransaction(t *testing.T, e storage.Engine) {
	const n = 3000
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		v := []byte(strings.Repeat("v", 8<<10))
		for i := range n {
			noError(t, txn.Put([]byte(number(i)), v))
		}
		noError(t, txn.Put([]byte(number(n)), v))
		noError(t, txn.Delete([]byte(number(n))))
		noError(t, txn.Commit(storage.Buffered))
		if got := len(scan(t, reader{e}, "", "")); got != n {
			t.Fatalf("%d pairs instead of %d", got, n)
		}
		// A small transaction after the large one works normally.
		put(t, e, pair{"a", "1"})
		wantValue(t, reader{e}, "a", "1")
		noError(t, e.DeleteRange([]byte("0"), []byte("b")))
	}
}

func testCounters(t *testing.T, e storage.Engine) {
	want := func(key string, count, size int64) {
		t.Helper()
		c, err := e.Counter([]byte(key))
		noError(t, err)
		if c != (storage.Counter{Count: count, Bytes: size}) {
			t.Fatalf("counter %q is %+v, want %d and %d", key, c, count, size)
		}
	}
	want("n", 0, 0)
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		noError(t, txn.Add([]byte("n"), storage.Counter{Count: 3, Bytes: 300}))
		noError(t, txn.Add([]byte("m"), storage.Counter{Count: 1, Bytes: 7}))
		noError(t, txn.Add([]byte("n"), storage.Counter{Count: -1, Bytes: -100}))
		txn.Rollback()
	}
	want("n", 0, 0)
	for i, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		noError(t, txn.Add([]byte("n"), storage.Counter{Count: 3, Bytes: 300}))
		noError(t, txn.Add([]byte("m"), storage.Counter{Count: 1, Bytes: 7}))
		noError(t, txn.Add([]byte("n"), storage.Counter{Count: -1, Bytes: -400}))
		want("n", 2*int64(i), -100*int64(i))
		noError(t, txn.Commit(storage.Buffered))
		want("n", 2*int64(i+1), -100*int64(i+1))
		want("m", int64(i+1), 7*int64(i+1))
	}
	stored := storage.Counter{Count: 4, Bytes: -200}.Append(nil)
	wantValue(t, reader{e}, "n", string(stored))
}

func testCountersConcurrent(t *testing.T, e storage.Engine) {
	const writers, commits = 8, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range commits {
				txn := e.Begin()
				key := number(w*commits + i)
				lockKey(t, txn, key)
				noError(t, txn.Put([]byte("r"+key), []byte(key)))
				noError(t, txn.Add([]byte("n"), storage.Counter{Count: 1, Bytes: int64(len(key))}))
				if i%4 == 0 {
					txn.Rollback()
					continue
				}
				noError(t, txn.Commit(storage.Buffered))
			}
		}()
	}
	wg.Wait()
	c, err := e.Counter([]byte("n"))
	noError(t, err)
	records := len(scan(t, reader{e}, "r", "s"))
	if c.Count != int64(records) || records != writers*commits*3/4 || c.Bytes != 8*c.Count {
		t.Fatalf("the counter is %+v with %d records", c, records)
	}
}

func testCountersEnd(t *testing.T, e storage.Engine) {
	add := func() {
		txn := e.Begin()
		noError(t, txn.Add([]byte("n"), storage.Counter{Count: 5}))
		noError(t, txn.Commit(storage.Buffered))
	}
	wantCount := func(want int64) {
		t.Helper()
		c, err := e.Counter([]byte("n"))
		noError(t, err)
		if c.Count != want {
			t.Fatalf("the counter is %d, want %d", c.Count, want)
		}
	}
	add()
	wantCount(5)
	remove(t, e, "n")
	wantCount(0)
	add()
	add()
	wantCount(10)
	noError(t, e.DeleteRange([]byte("m"), []byte("o")))
	wantCount(0)
	add()
	wantCount(5)
}
