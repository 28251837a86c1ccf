package indexinfo

import (
	"slices"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/table"
)

// knownCollections is how many collections a planner keeps the indexes of. Collections whose ids
// differ by a multiple of it take the place of each other.
const knownCollections = 256

// Cache keeps what planning reads off the catalog entries of collections, which changes rarely:
// their indexes. It is read without locks.
type Cache struct {
	slots [knownCollections]atomic.Pointer[knownCollection]
}

// knownCollection is one form of a collection with its indexes. It is immutable.
type knownCollection struct {
	coll    *table.Collection
	indexes []*Index
}

// Indexes returns what the catalog has of the indexes of a collection, with the multikey paths of
// now.
func (c *Cache) Indexes(coll *table.Collection) []*Index {
	slot := &c.slots[coll.ID%knownCollections]
	known := slot.Load()
	if known == nil || known.coll != coll || !known.isCurrent() {
		known = &knownCollection{coll: coll, indexes: indexesOf(coll)}
		slot.Store(known)
	}
	return known.indexes
}

// isCurrent reports whether no field of an index became an array since.
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
