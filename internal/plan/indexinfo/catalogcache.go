package indexinfo

import (
	"slices"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/table"
)

// knownCollections is the number of collections whose indexes a Cache keeps. Collections whose ids
// differ by a multiple of it share a slot.
const knownCollections = 256

// Cache keeps the descriptions of the indexes of collections, which change rarely. It is read
// without locks.
type Cache struct {
	slots [knownCollections]atomic.Pointer[knownCollection]
}

// knownCollection is one version of a collection with its indexes. It is immutable.
type knownCollection struct {
	coll    *table.Collection
	indexes []*Index
}

// Indexes returns the indexes of a collection with their current multikey paths.
func (c *Cache) Indexes(coll *table.Collection) []*Index {
	slot := &c.slots[coll.ID%knownCollections]
	known := slot.Load()
	if known == nil || known.coll != coll || !known.isCurrent() {
		known = &knownCollection{coll: coll, indexes: indexesOf(coll)}
		slot.Store(known)
	}
	return known.indexes
}

// isCurrent reports whether the multikey paths of the indexes are still the paths in k.
func (k *knownCollection) isCurrent() bool {
	for _, x := range k.indexes {
		if x.Stored != nil && !slices.Equal(x.multi, x.Stored.Multikey()) {
			return false
		}
		if x.Wild != nil && x.Wild.Arrays != x.Stored.ArrayPaths() {
			return false
		}
	}
	return true
}
