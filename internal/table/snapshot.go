package table

import (
	"io"

	"github.com/sheafdb/sheaf/internal/storage"
)

// Snapshot is the View of the collections of a Store, and of the catalog, at one time. It is safe
// for concurrent use. The caller must close it soon: it keeps the engine from removing old
// versions.
type Snapshot struct {
	fixed
	store *Store
	snap  storage.Snapshot
	view  CatalogView
	stamp storage.Stamp
	// visible is the stamp up to which the snapshot has all commits.
	visible storage.Stamp
}

// exactTries is the number of attempts to take a snapshot between two commits. After them the
// snapshot gets a stamp of its own.
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

// trySnapshot takes a snapshot. exact reports that no commit was in progress: then the snapshot has
// all commits up to its stamp, and no later ones.
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

// Stamp returns the time of the snapshot. Two snapshots with the same stamp have the same contents.
// A snapshot either has exactly the commits up to its stamp, or has a stamp that belongs to no
// commit and to no other snapshot. In the second case it may lack commits with lower stamps that
// were in progress.
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

// IsNewest reports whether nothing has changed since the snapshot was taken.
func (s *Snapshot) IsNewest() bool {
	return s.store.engine.Order().Last() == s.stamp && s.store.catalog.View() == s.view
}

// Close releases the snapshot.
func (s *Snapshot) Close() error { return s.snap.Close() }
