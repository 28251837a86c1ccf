package pebble

import (
	"sync"

	"github.com/sheafdb/sheaf/internal/storage"
)

// unsynced are the commits that are written to the log but not synced. A commit is added after its
// bytes were written, so that every fsync that begins later covers it.
type unsynced struct {
	mu sync.Mutex
	// deferred are the first stamps of Deferred commits, or 0 for commits without stamps. buffered
	// is the least stamp of the commits for which nobody waits, or 0.
	deferred []storage.Stamp
	buffered storage.Stamp
	// The same stamps for the fsync in progress.
	syncingDeferred []storage.Stamp
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

// begin is called before an fsync of a log.
func (u *unsynced) begin() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.syncingDeferred, u.deferred = append(u.syncingDeferred, u.deferred...), u.deferred[:0]
	u.syncingBuffered, u.buffered = least(u.syncingBuffered, u.buffered), 0
}

// end is called after the fsync, if it succeeded. The deferred commits are safe now.
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
