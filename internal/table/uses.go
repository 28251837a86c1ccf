package table

import (
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
)

// Uses counts how often plans have used an index since the store was opened or the index was
// created. All versions of the index share it.
type Uses struct {
	count atomic.Int64
	since time.Time
}

func newUses(c clock.Clock) *Uses { return &Uses{since: c.Now()} }

// Add counts one operation.
func (u *Uses) Add() { u.count.Add(1) }

// Count returns the number of operations that used the index, and the time since which they are
// counted.
func (u *Uses) Count() (n int64, since time.Time) { return u.count.Load(), u.since }

// Scans counts how often plans read a whole collection.
type Scans struct {
	total, tailable atomic.Int64
	all             *Scans // counter of the whole store; nil for the store's own counter
}

// Add counts a scan, for the collection and for its store. tailable says that the scan belongs to a
// tailable cursor.
func (s *Scans) Add(tailable bool) {
	s.total.Add(1)
	if tailable {
		s.tailable.Add(1)
	}
	if s.all != nil {
		s.all.Add(tailable)
	}
}

// Count returns the number of scans, and the number of them that belong to tailable cursors.
func (s *Scans) Count() (total, tailable int64) { return s.total.Load(), s.tailable.Load() }
