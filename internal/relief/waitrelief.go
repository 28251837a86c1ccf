package relief

import (
	"runtime"

	"github.com/sheafdb/sheaf/internal/session"
)

// A message that needs memory waits while other requests can be expected to free memory. A look is
// one check of all waiting messages. The limits below are numbers of looks; there are
// LooksPerSecond looks per second.
const (
	LooksPerSecond = 20
	// awaitMost is the number of looks after which a message stops waiting.
	awaitMost = 120 * LooksPerSecond
	// awaitIdle is the number of looks after which a message stops waiting if no operation runs
	// that could free memory.
	awaitIdle = 10 * LooksPerSecond
	// idleCursorsAfter is the number of looks after which idle cursors are closed for waiting
	// messages, if no operation runs.
	idleCursorsAfter = 2 * LooksPerSecond
	// busyCursorsAfter is the number of looks after which idle cursors are closed for waiting
	// messages, although operations run.
	busyCursorsAfter = 10 * LooksPerSecond
	// awaitRetry is the number of looks between two attempts to close idle cursors.
	awaitRetry = LooksPerSecond
)

// Watch frees memory for waiting messages. One goroutine uses it while at least one message waits.
type Watch struct {
	relief  *Relief
	granted int64
	running map[int64]bool // ids of the operations that ran at the last look
	still   int            // looks since a message last got its share
	idle    int            // looks since a message last got its share or an operation ran
}

// Watch returns a new Watch.
func (r *Relief) Watch() *Watch {
	return &Watch{relief: r, granted: r.Memory.Queue().Granted}
}

// Look reports whether memory is expected to become free: a message has got its share since the
// last look or holds one now, or an operation runs that may hold memory and already ran at the last
// look. If no message gets its share for too long, Look closes idle cursors.
func (w *Watch) Look() (expected bool) {
	s := w.relief
	q := s.Memory.Queue()
	busy := w.busy() || q.Admitted > 0
	moved := q.Granted != w.granted
	w.granted = q.Granted
	w.still++
	w.idle++
	if moved {
		w.still = 0
	}
	if moved || busy {
		w.idle = 0
	}
	if due(w.idle, idleCursorsAfter) || due(w.still, busyCursorsAfter) {
		missing := q.Missing
		if q.Pressed {
			missing = max(missing, s.overload.Load()+q.First)
		}
		if s.endIdleCursors(missing) && q.Pressed {
			runtime.GC() // the pressure depends on the memory that the last collection found alive
		}
	}
	return moved || busy
}

func due(looks, after int) bool { return looks >= after && (looks-after)%awaitRetry == 0 }

// busy reports whether an operation runs that already ran at the last look.
func (w *Watch) busy() bool {
	now, busy := make(map[int64]bool), false
	w.relief.Ops.Each(func(op *session.Op) {
		if o := op.Snapshot(); mayHoldMemory(&o) {
			now[o.ID] = true
			busy = busy || w.running[o.ID]
		}
	})
	w.running = now
	return busy
}

// mayHoldMemory reports whether an operation may hold memory: it is active and neither killed nor
// waiting to write, and its command is not spared.
func mayHoldMemory(o *session.Snapshot) bool {
	return o.Active && !o.Killed && !o.Waiting && !o.Spared
}

// Patience counts the looks of one waiting message.
type Patience struct{ looks, idle int }

// Look counts a look and reports whether the message continues to wait. expected is the result of
// Watch.Look.
func (p *Patience) Look(expected bool) bool {
	p.looks++
	p.idle++
	if expected {
		p.idle = 0
	}
	return p.looks < awaitMost && p.idle < awaitIdle
}

// endIdleCursors closes idle cursors to free n bytes, and reports whether it closed any. A later
// getMore on them fails with CursorNotFound. See Cursors.EndIdle.
func (r *Relief) endIdleCursors(n int64) bool {
	ended, freed := r.Cursors.EndIdle(n)
	if ended == 0 {
		return false
	}
	r.IdleCursors.Add(int64(ended))
	r.Logger.Warn("Idle cursors ended because the server has no memory left", "c", "COMMAND",
		"cursors", ended, "bytes", freed)
	return true
}

// collector decides when to run a garbage collection to find out whether requests still must wait.
type collector struct{ looks, pause int }

// The first collection comes after staleAfter looks. The number of looks doubles after each
// collection, up to staleMost, because a collection finds little new while nothing runs.
const (
	staleAfter = 10
	staleMost  = 32 * staleAfter
)

// due counts a look and reports whether it is time for a collection. needed is true if requests
// wait for memory that a collection may free.
func (c *collector) due(needed bool) bool {
	if !needed {
		*c = collector{}
		return false
	}
	c.pause = max(c.pause, staleAfter)
	if c.looks++; c.looks < c.pause {
		return false
	}
	c.looks, c.pause = 0, min(2*c.pause, staleMost)
	return true
}
