package storagetest

import (
	"testing"

	"github.com/sheafdb/sheaf/internal/storage"
)

// readers calls run with each kind of reader over the same pairs.
func readers(t *testing.T, e storage.Engine, pairs []pair, run func(t *testing.T, r storage.Reader)) {
	put(t, e, pairs...)
	t.Run("Snapshot", func(t *testing.T) {
		s := e.NewSnapshot()
		defer s.Close()
		run(t, s)
	})
	t.Run("Statement", func(t *testing.T) {
		txn := e.Begin()
		defer txn.Rollback()
		run(t, txn)
	})
	t.Run("SnapshotTxn", func(t *testing.T) {
		txn := e.BeginSnapshot()
		defer txn.Rollback()
		run(t, txn)
	})
	for i, p := range pairs {
		if i%2 == 1 {
			remove(t, e, p.key)
		}
	}
	for name, begin := range map[string]func() storage.Txn{"StatementOwn": e.Begin, "SnapshotTxnOwn": e.BeginSnapshot} {
		t.Run(name, func(t *testing.T) {
			txn := begin()
			defer txn.Rollback()
			for i, p := range pairs {
				if i%2 == 1 {
					noError(t, txn.Put([]byte(p.key), []byte(p.value)))
				}
			}
			run(t, txn)
		})
	}
}

var letters = []pair{{"b", "1"}, {"d", "2"}, {"f", "3"}, {"h", "4"}, {"j", "5"}}

// at checks the position of an iterator. want "" means that it is not at a key.
func at(t *testing.T, it storage.Iterator, moved bool, want string) {
	t.Helper()
	noError(t, it.Err())
	if moved != (want != "") {
		t.Fatalf("the move reported %v, want a key: %q", moved, want)
	}
	if !moved {
		return
	}
	if got := here(t, it); got[:1] != want {
		t.Fatalf("the iterator is at %q, want %q", got, want)
	}
}

func testIterator(t *testing.T, e storage.Engine) {
	readers(t, e, letters, func(t *testing.T, r storage.Reader) {
		it, err := r.NewIter(nil, nil)
		noError(t, err)
		defer it.Close()
		at(t, it, it.First(), "b")
		at(t, it, it.Next(), "d")
		at(t, it, it.Last(), "j")
		at(t, it, it.Prev(), "h")
		at(t, it, it.SeekGE([]byte("d")), "d")
		at(t, it, it.SeekGE([]byte("e")), "f")
		at(t, it, it.SeekLT([]byte("d")), "b")
		at(t, it, it.SeekLT([]byte("e")), "d")
		at(t, it, it.SeekGE([]byte("a")), "b")
		at(t, it, it.SeekLT([]byte("z")), "j")
		at(t, it, it.SeekGE([]byte("k")), "")
		at(t, it, it.SeekLT([]byte("b")), "")
		wantScan(t, r, "", "", "b=1", "d=2", "f=3", "h=4", "j=5")
	})
}

func testIteratorBounds(t *testing.T, e storage.Engine) {
	readers(t, e, letters, func(t *testing.T, r storage.Reader) {
		wantScan(t, r, "d", "h", "d=2", "f=3")
		wantScan(t, r, "c", "i", "d=2", "f=3", "h=4")
		wantScan(t, r, "", "d", "b=1")
		wantScan(t, r, "i", "", "j=5")
		wantScan(t, r, "k", "")
		wantScan(t, r, "d", "d")
		lower, upper := []byte("d"), []byte("h")
		it, err := r.NewIter(lower, upper)
		noError(t, err)
		defer it.Close()
		at(t, it, it.SeekGE([]byte("a")), "d")
		at(t, it, it.SeekLT([]byte("z")), "f")
		at(t, it, it.Next(), "")
		at(t, it, it.SeekGE([]byte("h")), "")
		at(t, it, it.SeekLT([]byte("d")), "")
		at(t, it, it.First(), "d")
		at(t, it, it.Prev(), "")
		// The caller may use the memory of bounds again.
		lower[0], upper[0] = 'a', 'z'
		at(t, it, it.First(), "d")
		at(t, it, it.Last(), "f")
		at(t, it, it.Next(), "")
	})
}

func testIteratorTurns(t *testing.T, e storage.Engine) {
	readers(t, e, letters, func(t *testing.T, r storage.Reader) {
		it, err := r.NewIter(nil, nil)
		noError(t, err)
		defer it.Close()
		at(t, it, it.SeekGE([]byte("f")), "f")
		at(t, it, it.Prev(), "d")
		at(t, it, it.Next(), "f")
		at(t, it, it.Next(), "h")
		at(t, it, it.Prev(), "f")
		// After moving past an end, the opposite move goes to that end.
		at(t, it, it.Last(), "j")
		at(t, it, it.Next(), "")
		at(t, it, it.Next(), "")
		at(t, it, it.Prev(), "j")
		at(t, it, it.First(), "b")
		at(t, it, it.Prev(), "")
		at(t, it, it.Prev(), "")
		at(t, it, it.Next(), "b")
		at(t, it, it.SeekGE([]byte("z")), "")
		at(t, it, it.Prev(), "j")
	})
}

func testIteratorIgnoresLaterWrites(t *testing.T, e storage.Engine) {
	put(t, e, letters...)
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		noError(t, txn.Put([]byte("c"), []byte("own")))
		it, err := txn.NewIter(nil, nil)
		noError(t, err)
		at(t, it, it.First(), "b")
		noError(t, txn.Put([]byte("bb"), []byte("later")))
		noError(t, txn.Delete([]byte("c")))
		put(t, e, pair{"bc", "other"})
		at(t, it, it.Next(), "c")
		at(t, it, it.Next(), "d")
		noError(t, it.Close())
		wantValue(t, txn, "bb", "later")
		txn.Rollback()
		remove(t, e, "bc")
	}
}

func testIteratorOverOwnWrites(t *testing.T, e storage.Engine) {
	put(t, e, letters...)
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		noError(t, txn.Delete([]byte("d")))
		noError(t, txn.Put([]byte("e"), []byte("own")))
		noError(t, txn.Put([]byte("f"), []byte("changed")))
		wantScan(t, txn, "c", "i", "e=own", "f=changed", "h=4")
		noError(t, txn.Delete([]byte("e")))
		noError(t, txn.Put([]byte("g"), []byte("more")))
		wantScan(t, txn, "c", "i", "f=changed", "g=more", "h=4")
		txn.Rollback()
	}
}

// testIteratorsOverOwnWrites opens iterators between the writes of a transaction. Each keeps the
// state at its opening.
func testIteratorsOverOwnWrites(t *testing.T, e storage.Engine) {
	put(t, e, pair{number(1000), "old"})
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		txn := begin()
		var open []storage.Iterator
		for i := range 200 {
			noError(t, txn.Put([]byte(number(7*i%200)), []byte(number(i))))
			if i%3 == 0 {
				// Most iterators are closed before the next write.
				wantScan(t, txn, number(7*i%200), number(7*i%200+1), number(7*i%200)+"="+number(i))
			}
			if i%40 == 0 {
				it, err := txn.NewIter(nil, nil)
				noError(t, err)
				open = append(open, it)
			}
		}
		noError(t, txn.Delete([]byte(number(1000))))
		for i, it := range open {
			wantOwn(t, it, 40*i)
			noError(t, it.Close())
		}
		txn.Rollback()
	}
}

// wantOwn checks that an iterator has the writes 0 to last of testIteratorsOverOwnWrites, and the
// committed pair.
func wantOwn(t *testing.T, it storage.Iterator, last int) {
	t.Helper()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	if n != last+2 {
		t.Fatalf("after write %d the iterator has %d pairs", last, n)
	}
	for i := 0; i <= last; i++ {
		key := number(7 * i % 200)
		if !it.SeekGE([]byte(key)) || here(t, it) != key+"="+number(i) {
			t.Fatalf("after write %d the iterator has %q for write %d", last, here(t, it), i)
		}
	}
	if !it.Last() || here(t, it) != number(1000)+"=old" {
		t.Fatalf("after write %d the last pair is %q", last, here(t, it))
	}
}

// testIteratorOutlivesTxn reads from an iterator over own writes after its transaction has ended
// and other transactions have begun.
func testIteratorOutlivesTxn(t *testing.T, e storage.Engine) {
	for _, begin := range []func() storage.Txn{e.Begin, e.BeginSnapshot} {
		for _, end := range []func(storage.Txn){
			storage.Txn.Rollback,
			func(txn storage.Txn) { noError(t, txn.Commit(storage.Buffered)) },
		} {
			txn := begin()
			noError(t, txn.Put([]byte("b"), []byte("own")))
			it, err := txn.NewIter(nil, nil)
			noError(t, err)
			noError(t, txn.Put([]byte("c"), []byte("later")))
			end(txn)
			for i := range 20 {
				put(t, e, pair{number(i), "another value"})
				remove(t, e, number(i))
			}
			at(t, it, it.SeekGE([]byte("a")), "b")
			if got := here(t, it); got != "b=own" {
				t.Fatalf("the iterator has %q", got)
			}
			at(t, it, it.Next(), "")
			noError(t, it.Close())
			remove(t, e, "b", "c")
		}
	}
}

// testIteratorsReadNewest opens iterators of one statement transaction between the changes of other
// transactions.
func testIteratorsReadNewest(t *testing.T, e storage.Engine) {
	put(t, e, letters...)
	txn := e.Begin()
	defer txn.Rollback()
	wantScan(t, txn, "c", "i", "d=2", "f=3", "h=4")
	wantScan(t, txn, "e", "", "f=3", "h=4", "j=5")
	put(t, e, pair{"e", "new"})
	wantScan(t, txn, "c", "i", "d=2", "e=new", "f=3", "h=4")
	noError(t, txn.Put([]byte("g"), []byte("own")))
	wantScan(t, txn, "c", "i", "d=2", "e=new", "f=3", "g=own", "h=4")
	remove(t, e, "f")
	wantScan(t, txn, "c", "i", "d=2", "e=new", "g=own", "h=4")
	noError(t, e.DeleteRange([]byte("d"), []byte("e")))
	wantScan(t, txn, "c", "i", "e=new", "g=own", "h=4")
	put(t, e, pair{number(0), "a"}, pair{number(1), "b"})
	wantScan(t, txn, "", "c", number(0)+"=a", number(1)+"=b", "b=1")
	wantScan(t, txn, "c", "i", "e=new", "g=own", "h=4")
}

func testSnapshot(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"}, pair{"b", "1"})
	s := e.NewSnapshot()
	defer s.Close()
	put(t, e, pair{"a", "2"}, pair{"c", "2"})
	remove(t, e, "b")
	wantScan(t, s, "", "", "a=1", "b=1")
	wantValue(t, s, "a", "1")
	wantValue(t, s, "c", "")
	later := e.NewSnapshot()
	defer later.Close()
	noError(t, e.DeleteRange([]byte("a"), []byte("b")))
	wantScan(t, later, "", "", "a=2", "c=2")
	wantScan(t, reader{e}, "", "", "c=2")
}

func testSnapshotClosed(t *testing.T, e storage.Engine) {
	put(t, e, pair{"a", "1"})
	s := e.NewSnapshot()
	it, err := s.NewIter(nil, nil)
	noError(t, err)
	noError(t, s.Close())
	noError(t, s.Close())
	// An iterator outlives its snapshot.
	at(t, it, it.First(), "a")
	noError(t, it.Close())
	_, _, err = s.Get([]byte("a"))
	wantError(t, err, storage.ErrClosed)
	_, err = s.NewIter(nil, nil)
	wantError(t, err, storage.ErrClosed)
}
