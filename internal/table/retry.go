package table

import "errors"

// RetryOn runs step until it succeeds, or fails with an error other than changed. The error changed
// says that the catalog changed under the step, and that the step did nothing. So a step looks up
// the collections that it works on.
func RetryOn(changed error, step func() error) error {
	for {
		if err := step(); !errors.Is(err, changed) {
			return err
		}
	}
}

// steady takes a snapshot and returns it with the state of the catalog that belongs to it. A
// version of a collection is only good for snapshots from its time: the records of a collection
// that was dropped before may be swept in the snapshot, and an index that was completed after it
// may lack entries there. If the catalog changes meanwhile, steady gives the snapshot back and
// takes another.
func steady[T any](s *Store, take func() T, giveBack func(T)) (taken T, view CatalogView) {
	_ = RetryOn(ErrChanged, func() error {
		view = s.catalog.View()
		if taken = take(); s.catalog.View() != view {
			giveBack(taken)
			return ErrChanged
		}
		return nil
	})
	return taken, view
}
