package pebble

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// wrap sorts an error of Pebble by its cause.
func (e *Engine) wrap(err error) error { return sortError(e.dir, err) }

// sortError sorts an error of Pebble, for the store in dir, by its cause.
func sortError(dir string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pebble.ErrNotFound):
		return storage.ErrNotFound
	case errors.Is(err, pebble.ErrClosed):
		return storage.ErrClosed
	case pebble.IsCorruptionError(err):
		return corruption(dir, err)
	case isNoSpace(err):
		return fmt.Errorf("%w: %w", storage.ErrNoSpace, err)
	default:
		return fmt.Errorf("storage/pebble: %w", err)
	}
}

// corruption returns the error for damage: one line with the place and the advice.
func corruption(dir string, err error) error {
	where := "directory " + dir
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		where, err = "file "+info.Path, info.Details
	}
	what := firstLine(err)
	if !strings.HasSuffix(what, adviceRestore) {
		what += "; " + adviceRestore
	}
	return fmt.Errorf("%w in %s: %s", storage.ErrCorrupt, where, what)
}

// firstLine returns the first line of an error. Pebble repeats it, and adds marks of its own.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
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
