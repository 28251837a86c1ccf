package table

import "errors"

// RetryOn runs step until it succeeds, or fails with an error other than changed. The error changed
// says that the catalog changed during the step, and that the step did nothing. Therefore the step
// must look up its collections itself.
func RetryOn(changed error, step func() error) error {
	for {
		if err := step(); !errors.Is(err, changed) {
			return err
		}
	}
}

// steady takes a snapshot and returns it with the state of the catalog that belongs to it. A
// version of a collection is valid only for snapshots of its time. In a later snapshot the records
// of a dropped collection may be missing. In an earlier snapshot an index that was completed
// afterwards may lack entries. If the catalog changes meanwhile, steady calls giveBack and takes
// another snapshot.
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
