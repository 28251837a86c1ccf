package pebble

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/storage"
)

// unsynced are the commits that are written to the log but not synced. A commit is added after its
// bytes were written, so that every fsync that begins later covers it.
type unsynced struct {
	mu sync.Mutex
	// deferred are the first stamps of Deferred commits, or 0 for commits without stamps.
	deferred []storage.Stamp
	// buffered is the least stamp of the Buffered commits, or 0.
	buffered storage.Stamp
	// syncingDeferred has the elements of deferred that the fsync in progress covers.
	syncingDeferred []storage.Stamp
	// syncingBuffered is the value of buffered that the fsync in progress covers.
	syncingBuffered storage.Stamp
}

// add adds a commit by its first stamp.
func (u *unsynced) add(first storage.Stamp, durability storage.Durability) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if durability == storage.Deferred {
		u.deferred = append(u.deferred, first)
		return
	}
	u.buffered = least(u.buffered, first)
}

// least returns the smaller of two stamps, ignoring a stamp of 0.
func least(a, b storage.Stamp) storage.Stamp {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// begin is called before an fsync of a log. It notes the commits that the fsync covers.
func (u *unsynced) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.syncingDeferred, u.deferred = append(u.syncingDeferred, u.deferred...), u.deferred[:0]
	u.syncingBuffered, u.buffered = least(u.syncingBuffered, u.buffered), 0
}

// end is called after an fsync that succeeded. The deferred commits that the fsync covers become
// safe.
func (u *unsynced) end(order *storage.Order) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, first := range u.syncingDeferred {
		if first != 0 {
			order.End(first)
		}
	}
	u.syncingDeferred, u.syncingBuffered = u.syncingDeferred[:0], 0
}

// waiting reports whether there are Deferred commits that are not synced.
func (u *unsynced) waiting() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.deferred)+len(u.syncingDeferred) > 0
}
