package storage

import "errors"

// HasByGet reports whether a reader has a key, for readers that find out by reading its value.
func HasByGet(r Reader, key []byte) (bool, error) {
	_, closer, err := r.Get(key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, closer.Close()
}
