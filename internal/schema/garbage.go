package schema

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/table"
)

// identifiers returns the storage identifiers that ranges belong to. What has one is dropped as a
// whole, and no identifier is used again.
func identifiers(ranges []catalog.Range) map[uint32]bool {
	ids := make(map[uint32]bool, len(ranges))
	for _, r := range ranges {
		ids[binary.BigEndian.Uint32(r.Start[1:])] = true
	}
	return ids
}

// joined returns ranges with those that touch as one: what a database of many collections leaves
// behind is deleted together, because each deletion waits for the disk. Ranges touch where all
// identifiers between theirs are dropped as well: that of a collection, for example, between those
// of two indexes.
func joined(ranges []catalog.Range) []catalog.Range {
	dropped := identifiers(ranges)
	slices.SortFunc(ranges, func(a, b catalog.Range) int { return bytes.Compare(a.Start, b.Start) })
	out := ranges[:0]
	for _, r := range ranges {
		if n := len(out); n > 0 && touch(out[n-1].End, r.Start, dropped) {
			out[n-1].End = r.End
			continue
		}
		out = append(out, r)
	}
	return out
}

// touch reports whether a range that ends before the key end has nothing but dropped identifiers
// between it and one that begins at start.
func touch(end, start []byte, dropped map[uint32]bool) bool {
	var from [5]byte // the end of a range comes without zeros at its end
	if len(end) == 0 || len(end) > len(from) || len(start) != len(from) || end[0] != start[0] {
		return bytes.Equal(end, start)
	}
	copy(from[:], end)
	for id := binary.BigEndian.Uint32(from[1:]); id < binary.BigEndian.Uint32(start[1:]); id++ {
		if !dropped[id] {
			return false
		}
	}
	return true
}

func remember(ch *table.CatalogChange, garbage []catalog.Range) error {
	for _, r := range garbage {
		if err := ch.Garbage(r); err != nil {
			return err
		}
	}
	return nil
}

// sweep deletes what a drop left behind. The drop itself is durable already: what cannot be deleted
// now is when the store is opened again.
func sweep(s *table.Store, garbage []catalog.Range) {
	if err := sweepAll(s, garbage); err != nil {
		s.Logger().Warn("dropped data is left until the store is opened again", "error", err)
	}
}

const (
	// fewRanges are swept one after another.
	fewRanges = 16
	// sweepers is how many of many ranges are swept at once. Each waits for the disk, and one sync
	// serves those that wait.
	sweepers = 64
)

// sweepAll deletes ranges until the first that fails. Those of databases that were filled by turns
// cannot be joined.
func sweepAll(s *table.Store, garbage []catalog.Range) error {
	var group errgroup.Group
	group.SetLimit(sweepers)
	if len(garbage) <= fewRanges {
		group.SetLimit(1)
	}
	var failed atomic.Bool
	for _, r := range garbage {
		if failed.Load() {
			break
		}
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			err := s.Catalog().Sweep(r)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}
