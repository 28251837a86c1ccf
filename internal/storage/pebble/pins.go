package pebble

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// pinShards spreads the count over cache lines, since every Get counts.
const pinShards = 16

// pins counts who uses Pebble: calls in progress, iterators, borrowed values. Its zero value is
// open.
type pins struct {
	closed atomic.Bool
	shards [pinShards]struct {
		n atomic.Int64
		_ [56]byte
	}
}

// pin tells where one was counted.
type pin uint8

// acquire counts a user; it fails after close.
func (p *pins) acquire() (pin, bool) {
	i := pin(rand.Uint32() % pinShards)
	p.shards[i].n.Add(1)
	if p.closed.Load() {
		p.release(i)
		return 0, false
	}
	return i, true
}

// release ends a use.
func (p *pins) release(i pin) { p.shards[i].n.Add(-1) }

// close ends acquiring. It reports false where that was done already.
func (p *pins) close() bool { return p.closed.CompareAndSwap(false, true) }

// wait waits, after close, until nobody is left, at most for grace unless that is 0. A shard that
// was 0 after close stays without users: who comes later sees that it is closed.
func (p *pins) wait(grace time.Duration) bool {
	end := time.Now().Add(grace)
	for i := range p.shards {
		for pause := time.Microsecond * 50; p.shards[i].n.Load() > 0; pause = min(pause*2, 10*time.Millisecond) {
			if grace > 0 && time.Now().After(end) {
				return false
			}
			time.Sleep(pause)
		}
	}
	return true
}

// count returns how many users there are.
func (p *pins) count() int64 {
	var n int64
	for i := range p.shards {
		n += p.shards[i].n.Load()
	}
	return n
}
