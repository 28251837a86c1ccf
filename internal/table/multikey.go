package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/storage"
)

// multikeyState is what is known of an index's array paths; all versions of the index share it.
type multikeyState struct {
	paths atomic.Pointer[index.MultikeyPaths]
	mu    sync.Mutex // held while the paths grow
}

// growMultikey makes an index's multikey paths cover more, durably and before any record needs it.
func (s *Store) growMultikey(ix *Index, more index.MultikeyPaths) error {
	if ix.Multikey().Covers(more) {
		return nil
	}
	st := ix.multikey
	st.mu.Lock()
	defer st.mu.Unlock()
	paths := ix.Multikey().Union(more)
	txn := s.engine.Begin()
	defer txn.Rollback()
	if err := txn.Put(prefix(multikeySpace, ix.ID), encodePaths(paths)); err != nil {
		return err
	}
	// Buffered is enough: a record that needs the paths is in the log after them.
	if err := txn.Commit(storage.Buffered); err != nil {
		return fmt.Errorf("store multikey paths of %s: %w", ix.Name, err)
	}
	st.paths.Store(&paths)
	return nil
}

func (s *Store) loadMultikey(ix *Index) error {
	value, closer, err := s.engine.Get(prefix(multikeySpace, ix.ID))
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer closer.Close()
	if len(value)%8 != 0 {
		return fmt.Errorf("%w: multikey paths of index %s", storage.ErrCorrupt, ix.Name)
	}
	paths := make(index.MultikeyPaths, len(value)/8)
	for i := range paths {
		paths[i] = binary.BigEndian.Uint64(value[8*i:])
	}
	ix.multikey.paths.Store(&paths)
	return nil
}

func encodePaths(paths index.MultikeyPaths) []byte {
	var out []byte
	for _, bits := range paths {
		out = binary.BigEndian.AppendUint64(out, bits)
	}
	return out
}
