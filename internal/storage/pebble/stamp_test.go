package pebble

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/sheafdb/sheaf/internal/storage"
)

// TestSafeStamps checks that a durable commit can be read while the disk syncs, and is safe only
// after that.
func TestSafeStamps(t *testing.T) {
	t.Parallel()
	syncing, disk := make(chan struct{}), make(chan struct{})
	var blocked atomic.Bool
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		isSync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData
		if isSync && strings.HasSuffix(op.Path, ".log") && blocked.CompareAndSwap(true, false) {
			close(syncing)
			<-disk
		}
		return nil
	}))
	e, err := Open("store", Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	commit := func(durability storage.Durability) error {
		txn := e.Begin()
		defer txn.Rollback()
		if err := txn.PutStamped([]byte("log"), []byte("value"), -1, 1); err != nil {
			return err
		}
		return txn.Commit(durability)
	}
	if err := commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
	order := e.Order()
	if order.Visible() != 1 || order.Safe() != 1 {
		t.Fatalf("visible %d, safe %d", order.Visible(), order.Safe())
	}
	blocked.Store(true)
	arrival, safe := order.Arrival(), order.SafeArrival()
	done := make(chan error)
	go func() { done <- commit(storage.Durable) }()
	<-arrival
	<-syncing
	select {
	case <-safe:
		t.Error("safe before it was synced")
	default:
	}
	if order.Visible() != 2 || order.Safe() != 1 {
		t.Errorf("while the disk syncs: visible %d, safe %d", order.Visible(), order.Safe())
	}
	close(disk)
	<-safe
	if err := <-done; err != nil || order.Safe() != 2 {
		t.Errorf("safe %d: %v", order.Safe(), err)
	}
}
