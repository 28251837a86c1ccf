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

// identifiers returns the storage identifiers of ranges. All ranges of an identifier are dropped
// together, and an identifier is never used again.
func identifiers(ranges []catalog.Range) map[uint32]bool {
	ids := make(map[uint32]bool, len(ranges))
	for _, r := range ranges {
		ids[binary.BigEndian.Uint32(r.Start[1:])] = true
	}
	return ids
}

// joined merges ranges that touch. Dropping a database of many collections then takes few
// deletions, each of which waits for the disk. Two ranges touch if all identifiers between them are
// dropped as well. For example, the identifier of a collection may lie between the identifiers of
// two indexes.
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

// touch reports whether only dropped identifiers lie between a range that ends before the key end
// and a range that begins at start.
func touch(end, start []byte, dropped map[uint32]bool) bool {
	var from [5]byte // the end of a range has no trailing zeros
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

// sweep deletes the data of dropped collections and indexes. The drop itself is already durable.
// Data that cannot be deleted now is deleted when the store opens again.
func sweep(s *table.Store, garbage []catalog.Range) {
	if err := sweepAll(s, garbage); err != nil {
		s.Logger().Warn("dropped data is left until the store is opened again", "error", err)
	}
}

const (
	// fewRanges is the largest number of ranges that are deleted one after another and not
	// concurrently.
	fewRanges = 16
	// sweepers is the number of concurrent deletions of more ranges. Each deletion waits for the
	// disk, and one sync serves all that wait.
	sweepers = 64
)

// sweepAll deletes ranges, and stops at the first error. Ranges of databases whose collections were
// created alternately cannot be joined, so there may be many.
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
