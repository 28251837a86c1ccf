package table

import (
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// Uses counts how often plans used an index since the store was opened or the index made. All
// versions of the index share it.
type Uses struct {
	count atomic.Int64
	since time.Time
}

func newUses() *Uses { return &Uses{since: clock.System{}.Now()} }

// Add counts one more operation.
func (u *Uses) Add() { u.count.Add(1) }

// Count returns how many operations used the index, and since when they are counted.
func (u *Uses) Count() (n int64, since time.Time) { return u.count.Load(), u.since }

// Scans counts how often plans read a whole collection.
type Scans struct {
	total, tailable atomic.Int64
	all             *Scans // of the store, nil for none
}

// Add counts one more scan, of the collection and of its store.
func (s *Scans) Add(tailable bool) {
	s.total.Add(1)
	if tailable {
		s.tailable.Add(1)
	}
	if s.all != nil {
		s.all.Add(tailable)
	}
}

// Count returns how many scans there were, and how many of them were of tailable cursors.
func (s *Scans) Count() (total, tailable int64) { return s.total.Load(), s.tailable.Load() }
