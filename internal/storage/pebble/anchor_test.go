package pebble

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/clock/clocktest"
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

// standing returns a clock whose time the test moves.
func standing() *clocktest.Manual { return clocktest.New(time.Unix(1000, 0)) }

// TestAnchorShared takes many snapshots, one after another and concurrently. They share one anchor.
func TestAnchorShared(t *testing.T) {
	t.Parallel()
	e := open(t, t.TempDir(), Options{Clock: standing()})
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

// TestAnchorAge lets the time of an anchor pass, with and without a later snapshot. The next
// snapshot takes a new anchor.
func TestAnchorAge(t *testing.T) {
	t.Parallel()
	clock := standing()
	e := open(t, t.TempDir(), Options{Clock: clock})
	for range 3 {
		use(t, e)
		if clock.Advance(anchorAge - 1); snapshots(e) != 1 {
			t.Errorf("%d snapshots are open, want the anchor", snapshots(e))
		}
		if clock.Advance(1); snapshots(e) != 0 {
			t.Errorf("%d snapshots are open after the anchor's time", snapshots(e))
		}
	}
	s := e.NewSnapshot()
	if clock.Advance(anchorAge); e.anchor.held.Load() || snapshots(e) != 1 {
		t.Errorf("%d snapshots are open, want one without an anchor", snapshots(e))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := snapshots(e); n != 0 {
		t.Errorf("%d snapshots are open, want none", n)
	}
}

// TestAnchorClose closes the engine before the end of the anchor.
func TestAnchorClose(t *testing.T) {
	t.Parallel()
	clock := standing()
	e := open(t, t.TempDir(), Options{Clock: clock})
	use(t, e)
	if err := e.Close(); err != nil {
		t.Fatalf("closing with an anchor: %v", err)
	}
	if e.anchor.inner.Load() != nil {
		t.Error("the anchor outlives the engine")
	}
	clock.Advance(anchorAge)
}

// TestAnchorKeepsVersions replaces a large value again and again. The version that the anchor sees
// must stay in the store exactly as long as the anchor.
func TestAnchorKeepsVersions(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	e := open(t, t.TempDir(), Options{Clock: standing()})
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
