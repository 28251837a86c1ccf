package pebble

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/storage"
)

// snapshots returns how many snapshots of Pebble are open.
func snapshots(e *Engine) int { return e.db.Metrics().Snapshots.Count }

// use takes a snapshot and closes it.
func use(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.NewSnapshot().Close(); err != nil {
		t.Fatal(err)
	}
}

// anchorGone waits until no snapshot is open.
func anchorGone(t *testing.T, e *Engine) {
	t.Helper()
	for end := time.Now().Add(time.Minute); snapshots(e) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d snapshots are still open", snapshots(e))
		}
	}
}

// TestAnchorShared takes many snapshots, one after another and concurrently. They share one anchor.
func TestAnchorShared(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{anchorAge: time.Hour})
	use(t, e)
	first := e.anchor.inner.Load()
	var open []storage.Snapshot
	for range 100 {
		use(t, e)
		open = append(open, e.NewSnapshot())
	}
	if n := snapshots(e); n != 101 {
		t.Errorf("%d snapshots are open, want 100 and the anchor", n)
	}
	for _, s := range open {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := snapshots(e); n != 1 || e.anchor.inner.Load() != first {
		t.Errorf("%d snapshots are open, want the first anchor alone", n)
	}
	if n := e.Stats().OpenSnapshots; n != 0 {
		t.Errorf("the statistics count %d snapshots", n)
	}
}

// TestAnchorAge waits for an anchor's end, with and without a later snapshot. The next snapshot
// takes a new anchor.
func TestAnchorAge(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{anchorAge: 10 * time.Millisecond})
	for range 3 {
		use(t, e)
		anchorGone(t, e)
	}
	s := e.NewSnapshot()
	for end := time.Now().Add(time.Minute); e.anchor.held.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the anchor is still held")
		}
	}
	if n := snapshots(e); n != 1 {
		t.Errorf("%d snapshots are open, want 1", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	anchorGone(t, e)
}

// TestAnchorClose closes the engine before the end of the anchor.
func TestAnchorClose(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{anchorAge: 50 * time.Millisecond})
	use(t, e)
	if err := e.Close(); err != nil {
		t.Fatalf("closing with an anchor: %v", err)
	}
	if e.anchor.inner.Load() != nil {
		t.Error("the anchor outlives the engine")
	}
	time.Sleep(100 * time.Millisecond)
}

// TestAnchorKeepsVersions replaces a large value again and again. The version that the anchor sees
// must stay in the store exactly as long as the anchor.
func TestAnchorKeepsVersions(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	e := open(t, t.TempDir(), Options{anchorAge: time.Hour})
	replace := func() {
		value := make([]byte, size)
		for i := range value {
			value[i] = byte(rand.Uint32())
		}
		txn := e.Begin()
		defer txn.Rollback()
		if err := txn.Put([]byte("a"), value); err != nil {
			t.Fatal(err)
		}
		if err := txn.Commit(storage.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	versions := func() int64 {
		if err := e.db.Compact(t.Context(), []byte("a"), []byte("b"), false); err != nil {
			t.Fatal(err)
		}
		n, err := e.DiskUsage([]byte("a"), []byte("b"))
		if err != nil {
			t.Fatal(err)
		}
		return n.Tables / size
	}
	replace()
	use(t, e)
	for range 5 {
		replace()
		use(t, e)
	}
	if n := versions(); n != 2 {
		t.Errorf("%d versions under an anchor, want what it sees and the newest", n)
	}
	e.anchor.release(e)
	replace()
	if n := versions(); n != 1 {
		t.Errorf("%d versions without an anchor, want the newest", n)
	}
}
