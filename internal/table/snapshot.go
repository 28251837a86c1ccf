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
	order := s.engine.Order()
	for try := 1; ; try++ {
		stamp, view := order.Visible(), s.catalog.View()
		quiet := order.Last() == stamp
		snap := s.engine.NewSnapshot()
		exact := quiet && order.Last() == stamp
		// A form of a collection is only good for snapshots from its time; see BeginTxn.
		if s.catalog.View() != view || !exact && try < exactTries {
			_ = snap.Close()
			continue
		}
		taken := &Snapshot{store: s, snap: snap, view: view, stamp: stamp, visible: stamp}
		if !exact {
			taken.stamp = order.Take(stamp)
		}
		return taken
	}
}

// Stamp returns the snapshot's time. Snapshots of the same time have the same contents: it has all
// commits up to then, and none after, or it is a time that no commit and no other snapshot has.
// Then commits that were under way may be missing in it although their stamps are below.
func (s *Snapshot) Stamp() storage.Stamp { return s.stamp }

// Lookup implements View.
func (s *Snapshot) Lookup(db, name string) (*Collection, error) {
	return s.store.lookupIn(s.view, db, name)
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
