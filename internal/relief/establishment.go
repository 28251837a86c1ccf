package relief

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/param"
)

// Establishment limits the rate of new connections, as set by the parameters
// ingressConnectionEstablishment*. It is a token bucket: each connection takes one token, and waits
// if there is no token. It is safe for concurrent use.
type Establishment struct {
	enabled atomic.Bool

	mu        sync.Mutex
	perSecond float64
	burst     float64 // in seconds: the bucket holds at most perSecond*burst tokens
	maxQueue  int64
	// tokens is the number of tokens at the time filled. It is negative while connections wait,
	// because they have taken their tokens in advance.
	tokens float64
	filled time.Time
	counts establishmentCounts
}

// establishmentCounts are the counters that serverStatus shows.
type establishmentCounts struct {
	attempted, admitted, rejected, exempted int64
	queued, unqueued                        int64
	waited                                  time.Duration
}

// NewEstablishment returns a limiter that is off.
func NewEstablishment() *Establishment {
	return &Establishment{perSecond: math.MaxFloat64, burst: math.MaxFloat64, tokens: math.MaxFloat64}
}

// Enabled reports whether the rate of connections is limited.
func (e *Establishment) Enabled() bool { return e.enabled.Load() }

// Exempt counts a connection that the limit does not apply to.
func (e *Establishment) Exempt() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.exempted++
}

// Admit takes a token for a new connection and returns how long the connection must wait for it. ok
// is false if too many connections wait already. After a wait the caller must call Leave.
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

// Leave records the end of a connection's wait. established is false if the connection was closed
// meanwhile.
func (e *Establishment) Leave(waited time.Duration, established bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.unqueued++
	e.counts.waited += waited
	if established {
		e.counts.admitted++
	}
}

// fill adds the tokens for the time since the last call. The caller holds the lock.
func (e *Establishment) fill(now time.Time) {
	passed := max(0, now.Sub(e.filled)).Seconds()
	e.filled = now
	e.tokens = min(e.tokens+passed*e.perSecond, max(1, min(e.perSecond*e.burst, math.MaxFloat64)))
}

// set runs change, which changes a limit, under the lock.
func (e *Establishment) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// Params returns the parameters of the rate limit.
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

// AppendRateLimit appends the field establishmentRateLimit of the section connections of
// serverStatus.
func (e *Establishment) AppendRateLimit(b *bsonx.Builder) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b.StartDocField("establishmentRateLimit")
	b.Int64("rejected", e.counts.rejected)
	b.Int64("exempted", e.counts.exempted)
	b.End()
}

// AppendQueue appends the section queues of serverStatus. The number of tokens is shown only if the
// limit is enabled.
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
