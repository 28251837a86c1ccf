package mem

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sheafdb/sheaf/internal/storage"
)

// TestDataBytes compares the counted bytes with the real ones, after all kinds of changes.
func TestDataBytes(t *testing.T) {
	t.Parallel()
	e := New().(*Engine)
	defer e.Close()
	change := func(f func(storage.Txn) error) {
		t.Helper()
		tx := e.Begin()
		if err := f(tx); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	key := func(n int) []byte { return fmt.Appendf(nil, "key %03d", n) }
	for n := range 100 {
		change(func(tx storage.Txn) error { return tx.Put(key(n), make([]byte, n*10)) })
	}
	change(func(tx storage.Txn) error { return tx.Put(key(5), make([]byte, 5000)) })
	change(func(tx storage.Txn) error {
		return errors.Join(tx.Delete(key(6)), tx.Delete(key(6)), tx.Delete(key(500)))
	})
	change(func(tx storage.Txn) error { return tx.PutStamped([]byte("stamped"), []byte("value"), -1, 0) })
	if err := e.DeleteRange(key(50), key(70)); err != nil {
		t.Fatal(err)
	}
	var there int64
	e.tree.Scan(func(it item) bool {
		there += it.memory()
		return true
	})
	if got := e.Stats().DataBytes; got != there || there == 0 {
		t.Errorf("%d bytes are counted, %d are there", got, there)
	}
}
