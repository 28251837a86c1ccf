package table

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// LatencyKind is a kind of operation whose durations are counted for each collection.
type LatencyKind int

// The kinds that $collStats shows.
const (
	LatencyCommands LatencyKind = iota // neither reads nor writes of documents
	LatencyReads
	LatencyWrites
	LatencyTransactions // whole transactions, from their first command to their end
	latencyKinds
)

// latencyBuckets is the number of duration classes.
const latencyBuckets = 51

// latencyBound returns the shortest duration of a class in microseconds. The bounds are the powers
// of two, and from 2048 to 2097152 also the values halfway between them.
func latencyBound(class int) uint64 {
	switch {
	case class == 0:
		return 0
	case class <= 11:
		return 1 << class
	case class <= 31:
		return (2 | uint64(class+1)&1) << ((class-11)/2 + 10)
	default:
		return 1 << (class - 10)
	}
}

// latencyClass returns the class of a duration in microseconds.
func latencyClass(micros uint64) int {
	n := bits.Len64(micros) - 1 // 2^n <= micros
	switch {
	case n < 1:
		return 0
	case n <= 10:
		return n
	case n <= 20:
		return 11 + 2*(n-11) + int(micros>>(n-1)&1)
	default:
		return min(n+10, latencyBuckets-1)
	}
}

// Latencies counts the operations on a collection by kind and duration. It is safe for concurrent
// use. The counters start at 0 when the server starts.
type Latencies struct {
	kinds [latencyKinds]atomic.Pointer[latencies]
}

type latencies struct {
	ops, micros atomic.Uint64
	classes     [latencyBuckets]atomic.Uint64
}

// Add counts an operation and its duration.
func (l *Latencies) Add(kind LatencyKind, took time.Duration) {
	k := l.kinds[kind].Load()
	if k == nil {
		l.kinds[kind].CompareAndSwap(nil, new(latencies))
		k = l.kinds[kind].Load()
	}
	micros := uint64(max(took.Microseconds(), 0))
	k.ops.Add(1)
	k.micros.Add(micros)
	k.classes[latencyClass(micros)].Add(1)
}

// Merge adds the counts of other to l.
func (l *Latencies) Merge(other *Latencies) {
	for kind := range other.kinds {
		from := other.kinds[kind].Load()
		if from == nil {
			continue
		}
		l.kinds[kind].CompareAndSwap(nil, new(latencies))
		to := l.kinds[kind].Load()
		to.ops.Add(from.ops.Load())
		to.micros.Add(from.micros.Load())
		for class := range from.classes {
			to.classes[class].Add(from.classes[class].Load())
		}
	}
}

// Sum returns the number of operations of a kind and their total duration in microseconds.
func (l *Latencies) Sum(kind LatencyKind) (ops, micros uint64) {
	if k := l.kinds[kind].Load(); k != nil {
		return k.ops.Load(), k.micros.Load()
	}
	return 0, 0
}

// Each calls f for each duration class that has operations, with the shortest duration of the class
// in microseconds and the number of operations.
func (l *Latencies) Each(kind LatencyKind, f func(micros, count uint64)) {
	k := l.kinds[kind].Load()
	if k == nil {
		return
	}
	for class := range k.classes {
		if n := k.classes[class].Load(); n > 0 {
			f(latencyBound(class), n)
		}
	}
}
