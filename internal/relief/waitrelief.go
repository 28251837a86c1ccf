package relief

import (
	"runtime"

	"github.com/sheafdb/sheaf/internal/session"
)

// Messages wait for their share of the memory while those who have it can be expected to give it
// back. Patience is counted in looks, of which there are AwaitLooks a second.
const (
	LooksPerSecond = 20
	// awaitMost is how long a message waits at most.
	awaitMost = 120 * LooksPerSecond
	// awaitIdle is how long it waits while nobody runs who could give memory back.
	awaitIdle = 10 * LooksPerSecond
	// idleCursorsAfter is when idle cursors are ended for those who wait and nobody runs,
	// busyCursorsAfter when they are although somebody runs. It is tried again after awaitRetry.
	idleCursorsAfter = 2 * LooksPerSecond
	busyCursorsAfter = 10 * LooksPerSecond
	awaitRetry       = LooksPerSecond
)

// Watch frees memory for the messages that wait for it. One goroutine uses it, from the first
// message that waits until no message waits.
type Watch struct {
	relief  *Relief
	granted int64
	running map[int64]bool // the operations that ran at the last look
	still   int            // looks since a share was granted
	idle    int            // looks since a share was granted or something ran
}

// Watch returns a new MemoryWatch.
func (r *Relief) Watch() *Watch {
	return &Watch{relief: r, granted: r.Memory.Queue().Granted}
}

// Look reports whether memory is expected: a message was admitted since the last look, or an
// operation runs that may hold memory. If no message is admitted for long, Look ends idle cursors.
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
			runtime.GC() // the pressure is what a collection finds alive
		}
	}
	return moved || busy
}

func due(looks, after int) bool { return looks >= after && (looks-after)%awaitRetry == 0 }

// busy reports whether an operation runs that ran at the last look, too.
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

// mayHoldMemory reports whether an operation runs, does not only wait, and may hold memory.
func mayHoldMemory(o *session.Snapshot) bool {
	return o.Active && !o.Killed && !o.Waiting && !unrelieved[string(o.Command.First().Key)]
}

// Patience is that of one message.
type Patience struct{ looks, idle int }

// Look counts a look and reports whether the message goes on waiting. expected is what
// MemoryWatch.Look returned.
func (p *Patience) Look(expected bool) bool {
	p.looks++
	p.idle++
	if expected {
		p.idle = 0
	}
	return p.looks < awaitMost && p.idle < awaitIdle
}

// endIdleCursors ends idle cursors that take n bytes, if they do. Their next getMore does not find
// them.
func (r *Relief) endIdleCursors(n int64) bool {
	ended, freed := r.Cursors.EndIdle(n)
	if ended == 0 {
		return false
	}
	r.IdleCursors.Add(int64(ended))
	r.Logger.Warn("Idle cursors ended because the server has no memory left", "c", "COMMAND", "cursors", ended, "bytes", freed)
	return true
}

// collector decides when a collection finds out whether requests still must wait.
type collector struct{ looks, pause int }

// A collection comes after staleAfter looks, the next ones after twice as many each, up to
// staleMost: while nothing runs each finds what the last one found.
const (
	staleAfter = 10
	staleMost  = 32 * staleAfter
)

// due counts a look, and reports whether it is time for a collection. needed says that requests
// wait for what a collection may find.
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
