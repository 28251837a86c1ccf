package pebble

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// sortError classifies an error of Pebble, for the store in dir, by its cause.
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

// firstLine returns the first line of an error. Pebble repeats the text in further lines, with its
// own annotations.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// fatalError is the value with which Pebble's logger panics when Pebble cannot continue.
type fatalError struct{ message string }

func (f fatalError) Error() string { return f.message }

// adviceRestore ends the messages about damage that the files in the directory cannot repair.
const adviceRestore = "restore the directory from a backup"

// failedOpen describes a write that failed while the store was opened.
func failedOpen(dir string, err error) error {
	if isNoSpace(err) {
		return fmt.Errorf("%w: opening %s: %w; make space and start again", storage.ErrNoSpace, dir, err)
	}
	return fmt.Errorf("storage/pebble: opening %s: %w", dir, err)
}

// contained turns a panic with which Pebble gives up opening a store into an error.
func contained(dir string, err *error) {
	r := recover()
	if r == nil {
		return
	}
	cause, ok := r.(error)
	if !ok {
		panic(r)
	}
	*err = fmt.Errorf("storage/pebble: opening %s: %w", dir, cause)
}

// openError classifies an error of Pebble's Open. Pebble does not mark all damage that it finds
// there as corruption.
func openError(dir string, err error) error {
	if pebble.IsCorruptionError(err) || isNoSpace(err) {
		return sortError(dir, err)
	}
	for _, sign := range []string{"format major version", "comparer name", "merger name"} {
		if strings.Contains(err.Error(), sign) {
			return fmt.Errorf("%w: %s: %w", storage.ErrFormat, dir, err)
		}
	}
	if errors.Is(err, iofs.ErrNotExist) || strings.Contains(err.Error(), "invalid") {
		return corruption(dir, err)
	}
	return fmt.Errorf("storage/pebble: opening %s: %w", dir, err)
}
