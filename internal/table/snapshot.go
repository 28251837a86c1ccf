package table

import (
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
)

// Snapshot is the View of the collections of a Store, and the catalog, at one time. It is safe for
// concurrent use. Close must follow, soon: it keeps old versions from being removed.
type Snapshot struct {
	fixed
	store *Store
	snap  storage.Snapshot
	view  CatalogView
	stamp storage.Stamp
	// visible is the stamp up to which there are no holes.
	visible storage.Stamp
}

// exactTries is how often a snapshot between two commits is looked for before it gets a stamp of
// its own.
const exactTries = 3

// Snapshot takes a snapshot of the newest committed state.
func (s *Store) Snapshot() *Snapshot {
	for try := 1; ; try++ {
		snap, exact := trySnapshot(s)
		if exact {
			return snap
		}
		if try == exactTries {
			snap.stamp = s.engine.Order().Take(snap.visible)
			return snap
		}
		_ = snap.Close()
	}
}

// trySnapshot takes a snapshot, and reports whether it is between two commits: then it has all
// commits up to its stamp, and none after.
func trySnapshot(s *Store) (snap *Snapshot, exact bool) {
	order := s.engine.Order()
	snap, view := steady(s, func() *Snapshot {
		stamp := order.Visible()
		exact = order.Last() == stamp
		return &Snapshot{store: s, snap: s.engine.NewSnapshot(), stamp: stamp, visible: stamp}
	}, func(s *Snapshot) { _ = s.Close() })
	snap.view = view
	return snap, exact && order.Last() == snap.stamp
}

// Stamp returns the snapshot's time. Snapshots of the same time have the same contents: it has all
// commits up to then, and none after, or it is a time that no commit and no other snapshot has.
// Then commits that were under way may be missing in it although their stamps are below.
func (s *Snapshot) Stamp() storage.Stamp { return s.stamp }

// Lookup implements View.
func (s *Snapshot) Lookup(db, name string) (*Collection, error) {
	return lookupIn(s.store, s.view, db, name)
}

// Get implements View.
func (s *Snapshot) Get(key []byte) (value []byte, closer io.Closer, err error) {
	return s.snap.Get(key)
}

// Pin implements View.
func (s *Snapshot) Pin() Pinned { return Pinned{Reader: s.snap, Visible: s.visible} }

// IsNewest reports whether nothing has been changed since the snapshot was taken.
func (s *Snapshot) IsNewest() bool {
	return s.store.engine.Order().Last() == s.stamp && s.store.catalog.View() == s.view
}

// Close gives the snapshot back.
func (s *Snapshot) Close() error { return s.snap.Close() }
