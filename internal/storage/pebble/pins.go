package pebble

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// pinShards is the number of shards. They spread the count over cache lines, because every Get
// counts.
const pinShards = 16

// pins counts the users of Pebble: calls in progress, iterators and borrowed values. The zero value
// is open.
type pins struct {
	closed atomic.Bool
	shards [pinShards]struct {
		n atomic.Int64
		_ [56]byte
	}
}

// pin is the shard in which a user was counted.
type pin uint8

// acquire counts a user. It fails after close.
func (p *pins) acquire() (pin, bool) {
	i := pin(rand.Uint32() % pinShards)
	p.shards[i].n.Add(1)
	if p.closed.Load() {
		p.release(i)
		return 0, false
	}
	return i, true
}

// release ends the use that acquire counted.
func (p *pins) release(i pin) { p.shards[i].n.Add(-1) }

// close makes later calls of acquire fail. It reports false if it was called before.
func (p *pins) close() bool { return p.closed.CompareAndSwap(false, true) }

// wait blocks until all pins are released, and returns true, or until there is a value in late. A
// nil late means no limit. Call wait after close. A shard that was 0 after close stays 0, because
// later users see that it is closed.
func (p *pins) wait(late <-chan time.Time) bool {
	for i := range p.shards {
		for rest := time.Microsecond * 50; p.shards[i].n.Load() > 0; rest = min(rest*2, 10*time.Millisecond) {
			select {
			case <-late:
				return false
			default:
				pause(rest)
			}
		}
	}
	return true
}

// count returns the number of users.
func (p *pins) count() int64 {
	var n int64
	for i := range p.shards {
		n += p.shards[i].n.Load()
	}
	return n
}
