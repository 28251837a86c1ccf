package changelog

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

// A store with an oplog can be read in the state of a recent time. The history keeps a snapshot for
// each half second in which something was changed. The changes between the snapshot and the
// requested time come from the oplog. See Replay.

// DefaultHistory is the default age up to which earlier times can be read. Old versions and the
// tombstones of deleted records are kept until then.
const DefaultHistory = 10 * time.Second

const (
	// historyStep is the least time between two kept snapshots.
	historyStep = time.Second / 2
	// maxHistory is the largest number of kept snapshots. A longer history has longer steps.
	maxHistory = 300
)

// ErrPastGone means that a time is before the history.
var ErrPastGone = errors.New("table: the time is before the history")

// History keeps the snapshots, the oldest first. V is the type of the catalog's state, which each
// snapshot has. History is safe for concurrent use. A nil *History belongs to a store without an
// oplog.
type History[V any] struct {
	log *Log
	// snapshot takes a snapshot of the newest state.
	snapshot func() Point[V]

	mu     sync.Mutex
	points []*Point[V]
	window time.Duration
	// seen is the newest stamp at the time of the last snapshot.
	seen storage.Stamp
}

// Point is a snapshot in the history. It has all commits up to Visible, and none after last.
type Point[V any] struct {
	storage.Snapshot
	// View is the state of the catalog that belongs to the snapshot.
	View    V
	Visible storage.Stamp
	last    storage.Stamp
	taken   time.Time
	// users is the number of readers. The history's lock guards it.
	users int
	// kept says that the history contains the snapshot. The history's lock guards it.
	kept bool
}

// NewHistory returns the history of a log, and takes its first snapshot. The function snapshot
// returns a snapshot of the newest state, with the state of the catalog that belongs to it.
func NewHistory[V any](log *Log, snapshot func() Point[V]) (*History[V], error) {
	h := &History[V]{log: log, snapshot: snapshot, window: DefaultHistory}
	return h, h.record()
}

// Keep changes the age up to which earlier times can be read. If window is larger than before, the
// history grows to it over time.
func (h *History[V]) Keep(window time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	h.window = window
	h.prune()
	h.mu.Unlock()
}

// Record takes snapshots until stop is closed. Then it releases them.
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

// record takes a snapshot if something has changed and the last snapshot is old enough. It releases
// snapshots that are too old.
func (h *History[V]) record() error {
	if !h.isDue(h.log.order.Last()) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.prune()
		return nil
	}
	return h.Take()
}

// Take takes a snapshot, and releases snapshots that are too old.
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

// isDue reports whether a snapshot must be taken. last is the newest stamp.
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

// prune releases the snapshots that the window does not need. It keeps one snapshot that is older
// than the window, from which the beginning of the window is replayed. The caller holds the lock.
func (h *History[V]) prune() {
	before := h.log.clock.Now().Add(-h.window)
	for n := len(h.points); n > 0; n-- {
		if h.window > 0 && (n == 1 || h.points[1].taken.After(before)) {
			return
		}
		p := h.points[0]
		h.points[0] = nil // otherwise the array would keep the point and its versions of collections
		h.points = h.points[1:]
		p.kept = false
		p.giveBack()
	}
}

// giveBack closes a snapshot that is neither kept nor read. The caller holds the history's lock.
func (p *Point[V]) giveBack() {
	if !p.kept && p.users == 0 {
		_ = p.Close()
	}
}

// Acquire returns the newest snapshot without commits after the stamp at. The caller must call
// Release. Acquire fails with ErrPastGone if there is no such snapshot.
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

// Release ends the use of a snapshot that Acquire has returned.
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
