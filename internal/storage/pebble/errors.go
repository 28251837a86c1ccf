package pebble

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// wrap sorts an error of Pebble by its cause.
func (e *Engine) wrap(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrNotFound):
		return storage.ErrNotFound
	case errors.Is(err, pebble.ErrClosed):
		return storage.ErrClosed
	case pebble.IsCorruptionError(err):
		return e.corruption(err)
	case isNoSpace(err):
		return fmt.Errorf("%w: %w", storage.ErrNoSpace, err)
	default:
		return fmt.Errorf("storage/pebble: %w", err)
	}
}

// corruption marks damage and adds the file that Pebble reported.
func (e *Engine) corruption(err error) error {
	var info *pebble.DataCorruptionInfo
	if info = pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("%w in file %s: %w", storage.ErrCorrupt, info.Path, info.Details)
	}
	return fmt.Errorf("%w in directory %s: %w", storage.ErrCorrupt, e.dir, err)
}

// fatalError is what Pebble's logger panics with where Pebble cannot go on.
type fatalError struct{ message string }

func (f fatalError) Error() string { return f.message }

// contain turns a panic with which Pebble gives up a write into an error, and takes no more writes. Other panics go on.
func (e *Engine) contain(err *error) {
	r := recover()
	if r == nil {
		return
	}
	cause, ok := r.(error)
	if !ok {
		panic(r)
	}
	var fatal fatalError
	if !errors.As(cause, &fatal) && e.guard.failure() == nil {
		panic(r)
	}
	e.guard.fail(cause)
	*err = e.guard.failure()
}
