package table

import (
	"sync/atomic"
	"time"
)

// TrafficKind is a kind of operation that the command top distinguishes.
type TrafficKind int

// The kinds that top shows.
const (
	TrafficCommands TrafficKind = iota // none of the following
	TrafficQueries
	TrafficGetMore
	TrafficInsert
	TrafficUpdate
	TrafficRemove
	TrafficKinds
)

// Traffic counts the operations on a collection by kind, and by whether they may write. It is safe
// for concurrent use. The counters start at 0 when the server starts.
type Traffic struct {
	kinds           [TrafficKinds]timedCount
	readers, writes timedCount
}

type timedCount struct{ ops, micros atomic.Int64 }

func (c *timedCount) add(micros int64) {
	c.ops.Add(1)
	c.micros.Add(micros)
}

func (c *timedCount) load() (ops, micros int64) { return c.ops.Load(), c.micros.Load() }

// Add counts an operation and its duration.
func (t *Traffic) Add(kind TrafficKind, writes bool, took time.Duration) {
	micros := max(took.Microseconds(), 0)
	t.kinds[kind].add(micros)
	if writes {
		t.writes.add(micros)
	} else {
		t.readers.add(micros)
	}
}

// Sum returns the number of operations of a kind and their total duration in microseconds.
func (t *Traffic) Sum(kind TrafficKind) (ops, micros int64) { return t.kinds[kind].load() }

// Locks returns the number and the total duration in microseconds of the operations that may write,
// if writes is true, or of the operations that only read.
func (t *Traffic) Locks(writes bool) (ops, micros int64) {
	if writes {
		return t.writes.load()
	}
	return t.readers.load()
}
