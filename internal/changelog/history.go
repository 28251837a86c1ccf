package changelog

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

// A store that logs its changes can be read as it was a while ago. It keeps a snapshot of every
// half second in which something was changed; what happened between the snapshot and the time that
// is asked for comes from the log. See Replay.

// DefaultHistory is for how long a past time can be read where KeepHistory has not said otherwise.
// Old versions and the traces of deleted records stay as long.
const DefaultHistory = 10 * time.Second

const (
	// historyStep is how far two kept snapshots are apart, at least.
	historyStep = time.Second / 2
	// maxHistory bounds the snapshots that are kept: in a longer history they are farther apart.
	maxHistory = 300
)

// ErrPastGone means that a time is before the history.
var ErrPastGone = errors.New("table: the time is before the history")

// History keeps the snapshots, the oldest first. V is the state of the catalog, which each has. It
// is safe for concurrent use. The nil History is the one of a store that logs nothing.
type History[V any] struct {
	log *Log
	// snapshot takes a snapshot of the newest state.
	snapshot func() Point[V]

	mu     sync.Mutex
	points []*Point[V]
	window time.Duration
	// seen is the newest stamp when the last snapshot was taken.
	seen storage.Stamp
}

// Point is a snapshot that is kept. It has all commits up to Visible, and none above last.
type Point[V any] struct {
	storage.Snapshot
	// View is the state of the catalog that the snapshot belongs to.
	View    V
	Visible storage.Stamp
	last    storage.Stamp
	taken   time.Time
	// users read from it; kept says that the history has it. Both are guarded by the history's
	// lock.
	users int
	kept  bool
}

// NewHistory returns the history of a log, with a first snapshot. snapshot takes one of the newest
// state, with the state of the catalog that belongs to it.
func NewHistory[V any](log *Log, snapshot func() Point[V]) (*History[V], error) {
	h := &History[V]{log: log, snapshot: snapshot, window: DefaultHistory}
	return h, h.record()
}

// Keep changes for how long a past time can be read. The history grows to a larger window with
// time.
func (h *History[V]) Keep(window time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.window = window
	h.prune()
	h.mu.Unlock()
}

// Record takes snapshots until stop is closed.
func (h *History[V]) Record(stop <-chan struct{}, logger *slog.Logger) {
	ticks, done := clock.NewTicker(h.log.clock, historyStep)
	defer done()
	defer h.close()
	for {
		if err := h.record(); err != nil && !errors.Is(err, storage.ErrClosed) {
			logger.Warn("the history cannot be kept", "error", err)
		}
		select {
		case <-stop:
			return
		case <-ticks:
		}
	}
}

// record takes a snapshot, if something has been changed since the last one and it is time,
// and gives back those that are too old.
func (h *History[V]) record() error {
	if !h.isDue(h.log.order.Last()) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.prune()
		return nil
	}
	return h.Take()
}

// Take takes a snapshot, and gives back those that are too old.
func (h *History[V]) Take() error {
	p, err := h.newPoint()
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	p.kept = true
	h.points = append(h.points, p)
	h.prune()
	return nil
}

func (h *History[V]) newPoint() (*Point[V], error) {
	taken := h.log.clock.Now()
	p := h.snapshot()
	p.taken = taken
	var err error
	if p.last, err = h.log.lastStamp(p.Visible, p.Snapshot); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &p, nil
}

// isDue reports whether a snapshot is to be taken, now that the newest stamp is last.
func (h *History[V]) isDue(last storage.Stamp) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.points)
	if h.window == 0 || n > 0 && (last == h.seen || h.log.clock.Now().Sub(h.points[n-1].taken) < h.window/maxHistory) {
		return false
	}
	h.seen = last
	return true
}

// prune gives the snapshots back that are not needed for the window: one that is older than it is,
// for what came after. It needs the lock.
func (h *History[V]) prune() {
	before := h.log.clock.Now().Add(-h.window)
	for n := len(h.points); n > 0; n-- {
		if h.window > 0 && (n == 1 || h.points[1].taken.After(before)) {
			return
		}
		p := h.points[0]
		h.points[0] = nil // else the array keeps it, with all versions of collections that it has
		h.points = h.points[1:]
		p.kept = false
		p.giveBack()
	}
}

// giveBack closes a snapshot that nobody needs any more. It needs the history's lock.
func (p *Point[V]) giveBack() {
	if !p.kept && p.users == 0 {
		_ = p.Close()
	}
}

// Acquire returns the newest snapshot that has nothing above a stamp. Release must follow. It fails
// with ErrPastGone if there is none.
func (h *History[V]) Acquire(at storage.Stamp) (*Point[V], error) {
	if h == nil {
		return nil, ErrPastGone
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.points) - 1; i >= 0; i-- {
		if p := h.points[i]; p.last <= at {
			p.users++
			return p, nil
		}
	}
	return nil, ErrPastGone
}

// Release gives a snapshot of Acquire back.
func (h *History[V]) Release(p *Point[V]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.users--
	p.giveBack()
}

func (h *History[V]) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.window = 0
	h.prune()
}
