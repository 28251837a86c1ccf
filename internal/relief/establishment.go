package relief

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/param"
)

// Establishment limits how many connections are established in a second, by the parameters
// ingressConnectionEstablishment*. It is a bucket of tokens: each connection takes one, and waits
// for it if there is none. It is safe for concurrent use.
type Establishment struct {
	enabled atomic.Bool

	mu        sync.Mutex
	perSecond float64
	burst     float64 // in seconds: how many tokens there are at most
	maxQueue  int64
	// tokens are those that there were at the time filled. Below 0 they belong to connections that
	// wait.
	tokens float64
	filled time.Time
	counts establishmentCounts
}

// establishmentCounts are figures of serverStatus.
type establishmentCounts struct {
	attempted, admitted, rejected, exempted int64
	queued, unqueued                        int64
	waited                                  time.Duration
}

// NewEstablishment returns a limiter that is off.
func NewEstablishment() *Establishment {
	return &Establishment{perSecond: math.MaxFloat64, burst: math.MaxFloat64, tokens: math.MaxFloat64}
}

// Enabled reports whether connections are limited at all.
func (e *Establishment) Enabled() bool { return e.enabled.Load() }

// Exempt counts a connection that is not limited.
func (e *Establishment) Exempt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.exempted++
}

// Admit returns how long a new connection has to wait. It reports false where too many wait
// already. A caller that waits calls Leave afterwards.
func (e *Establishment) Admit(now time.Time) (wait time.Duration, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.attempted++
	e.fill(now)
	switch {
	case e.tokens >= 1:
		e.counts.admitted++
	case e.counts.queued-e.counts.unqueued >= e.maxQueue:
		e.counts.rejected++
		return 0, false
	default:
		e.counts.queued++
		wait = time.Duration((1 - e.tokens) / e.perSecond * float64(time.Second))
	}
	e.tokens--
	return wait, true
}

// Leave ends the wait of a connection, which is established unless it was given up.
func (e *Establishment) Leave(waited time.Duration, established bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.unqueued++
	e.counts.waited += waited
	if established {
		e.counts.admitted++
	}
}

// fill adds the tokens of the time that has passed. It needs the lock.
func (e *Establishment) fill(now time.Time) {
	passed := max(0, now.Sub(e.filled)).Seconds()
	e.filled = now
	e.tokens = min(e.tokens+passed*e.perSecond, max(1, min(e.perSecond*e.burst, math.MaxFloat64)))
}

// set changes a limit.
func (e *Establishment) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// Params returns the parameters of the limit.
func (e *Establishment) Params() []param.Param {
	return []param.Param{
		param.Bool("ingressConnectionEstablishmentRateLimiterEnabled", false, e.enabled.Store),
		param.Double("ingressConnectionEstablishmentRatePerSec", math.MaxFloat64, 1, func(v float64) {
			e.set(func() { e.perSecond = v })
		}),
		param.Double("ingressConnectionEstablishmentBurstCapacitySecs", math.MaxFloat64, 0, func(v float64) {
			e.set(func() { e.burst = v })
		}),
		param.Int("ingressConnectionEstablishmentMaxQueueDepth", 0, 0, math.MaxInt32, func(n int64) {
			e.set(func() { e.maxQueue = n })
		}),
	}
}

// AppendRateLimit appends what serverStatus tells of the limit among the connections.
func (e *Establishment) AppendRateLimit(b *bsonx.Builder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b.StartDocField("establishmentRateLimit")
	b.Int64("rejected", e.counts.rejected)
	b.Int64("exempted", e.counts.exempted)
	b.End()
}

// AppendQueue appends what serverStatus tells of the connections that wait. Without a limit the
// tokens are not counted.
func (e *Establishment) AppendQueue(b *bsonx.Builder, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := &e.counts
	b.StartDocField("ingressSessionEstablishment")
	b.Int64("addedToQueue", c.queued)
	b.Int64("removedFromQueue", c.unqueued)
	b.Int64("rejectedAdmission", c.rejected)
	b.Int64("exemptedAdmission", c.exempted)
	b.Int64("successfulAdmissions", c.admitted)
	b.Int64("attemptedAdmissions", c.attempted)
	if c.unqueued > 0 {
		b.Double("averageTimeQueuedMicros", float64(c.waited.Microseconds())/float64(c.unqueued))
	}
	if e.enabled.Load() {
		e.fill(now)
		b.Int64("totalAvailableTokens", int64(max(0, min(e.tokens, 1<<53))))
	}
	b.End()
}
