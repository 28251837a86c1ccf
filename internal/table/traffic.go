package table

import (
	"sync/atomic"
	"time"
)

// TrafficKind is a kind of operation that the command top tells apart.
type TrafficKind int

// The kinds, as top shows them.
const (
	TrafficQueries TrafficKind = iota
	TrafficGetMore
	TrafficInsert
	TrafficUpdate
	TrafficRemove
	TrafficCommands
	TrafficKinds
)

// Traffic counts the operations on a collection by what they do, and by whether they may write. It
// is safe for concurrent use; what is counted lives as long as the server runs.
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

// Add counts an operation.
func (t *Traffic) Add(kind TrafficKind, writes bool, took time.Duration) {
	micros := max(took.Microseconds(), 0)
	t.kinds[kind].add(micros)
	if writes {
		t.writes.add(micros)
	} else {
		t.readers.add(micros)
	}
}

// Sum returns how many operations of a kind there were, and how many microseconds they took
// together.
func (t *Traffic) Sum(kind TrafficKind) (ops, micros int64) { return t.kinds[kind].load() }

// Locks is Sum for the operations that only read, or for those that may write.
func (t *Traffic) Locks(writes bool) (ops, micros int64) {
	if writes {
		return t.writes.load()
	}
	return t.readers.load()
}
