package table

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/storage"
)

// grownPaths holds the array paths of an index that have grown. A nil field has not grown.
type grownPaths struct {
	paths  *index.MultikeyPaths
	arrays *index.PathSet
}

func (st *multikeyState) publish(grown grownPaths) {
	if grown.paths != nil {
		st.paths.Store(grown.paths)
	}
	if grown.arrays != nil {
		st.arrays.Store(grown.arrays)
	}
}

// growMultikey extends an index's multikey paths so that they cover the paths of keys. The new
// paths are stored before any record that needs them.
func (ix *Index) growMultikey(engine storage.Engine, keys *index.Keys) error {
	st := ix.multikey
	st.mu.Lock()
	defer st.mu.Unlock()
	txn := engine.Begin()
	defer txn.Rollback()
	grown, err := ix.putGrown(txn, keys)
	if err != nil {
		return err
	}
	// Buffered is enough: a record that needs the paths comes after them in the write-ahead log.
	if err := txn.Commit(storage.Buffered); err != nil {
		return fmt.Errorf("store multikey paths of %s: %w", ix.Name, err)
	}
	st.publish(grown)
	return nil
}

// The byte after the index's identifier in a key: a path follows arrayPath, and allPaths stands for
// all paths.
const (
	arrayPath = 0x01
	allPaths  = 0xFF
)

// putGrown writes the array paths of keys that the index does not have yet, and returns the grown
// paths.
func (ix *Index) putGrown(txn storage.Txn, keys *index.Keys) (grown grownPaths, err error) {
	key := keyspace.Prefix(keyspace.Multikey, ix.ID)
	if more := keys.Multikey(); !ix.Multikey().Covers(more) {
		paths := ix.Multikey().Union(more)
		grown.paths = &paths
		if err := txn.Put(key, encodePaths(paths)); err != nil {
			return grown, err
		}
	}
	if known := ix.ArrayPaths(); !known.Covers(keys.ArrayPaths()) {
		var added []string
		grown.arrays, added = known.With(keys.ArrayPaths())
		if grown.arrays.IsAll() {
			return grown, txn.Put(append(key, allPaths), nil)
		}
		for _, path := range added {
			if err := txn.Put(append(append(key, arrayPath), path...), nil); err != nil {
				return grown, err
			}
		}
	}
	return grown, nil
}

func (ix *Index) loadMultikey(engine storage.Engine) error {
	value, closer, err := engine.Get(keyspace.Prefix(keyspace.Multikey, ix.ID))
	if err == nil {
		err = errors.Join(ix.decodePaths(value), closer.Close())
	}
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if ix.Kind() != index.Wildcard {
		return nil
	}
	return ix.loadArrayPaths(engine)
}

func (ix *Index) loadArrayPaths(engine storage.Engine) error {
	snap := engine.NewSnapshot()
	defer snap.Close()
	from := append(keyspace.Prefix(keyspace.Multikey, ix.ID), arrayPath)
	var arrays []string
	all := false
	err := storage.Scan(snap, from,
		keyspace.PrefixEnd(keyspace.Prefix(keyspace.Multikey, ix.ID)), func(key, _ []byte) error {
			all = key[keyspace.PrefixLen] == allPaths // allPaths sorts after every other key
			arrays = append(arrays, string(key[len(from):]))
			return nil
		})
	switch {
	case all:
		ix.multikey.arrays.Store(index.AllPaths())
	case len(arrays) > 0:
		set, _ := (*index.PathSet)(nil).With(arrays)
		ix.multikey.arrays.Store(set)
	}
	return err
}

func (ix *Index) decodePaths(value []byte) error {
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
