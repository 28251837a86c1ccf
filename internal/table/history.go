package table

import (
	"errors"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/storage"
)

// A store that logs its changes can be read as it was a while ago. It keeps a snapshot of every
// half second in which something was changed; what happened between the snapshot and the time that
// is asked for comes from the log. See past.go.

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

// history are the snapshots that are kept, the oldest first.
type history struct {
	clock  clock.Clock
	mu     sync.Mutex
	points []*point
	window time.Duration
	// seen is the newest stamp when the last snapshot was taken.
	seen storage.Stamp
}

// point is a snapshot that is kept. It has all commits up to visible, and none above last.
type point struct {
	storage.Snapshot
	view          catalog.View
	visible, last storage.Stamp
	taken         time.Time
	// users read from it; kept says that the history has it. Both are guarded by the history's
	// lock.
	users int
	kept  bool
}

// KeepHistory changes for how long a past time can be read. The history grows to a larger window
// with time.
func (s *Store) KeepHistory(window time.Duration) {
	if s.oplog == nil {
		return
	}
	h := &s.oplog.history
	h.mu.Lock()
	h.window = window
	h.prune()
	h.mu.Unlock()
}

// recordHistory takes snapshots until the store closes.
func (s *Store) recordHistory() {
	timer := time.NewTicker(historyStep)
	defer timer.Stop()
	defer s.oplog.history.close()
	for {
		if err := s.recordPoint(); err != nil && !errors.Is(err, storage.ErrClosed) {
			s.log.Warn("the history cannot be kept", "error", err)
		}
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
	}
}

// recordPoint takes a snapshot, if something has been changed since the last one and it is time,
// and gives back those that are too old.
func (s *Store) recordPoint() error {
	h := &s.oplog.history
	if !h.isDue(s.oplog.order.Last()) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.prune()
		return nil
	}
	p, err := s.newPoint()
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

func (s *Store) newPoint() (*point, error) {
	p := &point{taken: s.oplog.clock.Now()}
	for {
		p.visible, p.view = s.oplog.order.Visible(), s.catalog.View()
		p.Snapshot = s.engine.NewSnapshot()
		if s.catalog.View() == p.view { // as in Store.Snapshot
			break
		}
		if err := p.Close(); err != nil {
			return nil, err
		}
	}
	var err error
	if p.last, err = s.oplog.coll.lastStampAfter(p.visible, p.Snapshot); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// isDue reports whether a snapshot is to be taken, now that the newest stamp is last.
func (h *history) isDue(last storage.Stamp) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.points)
	if h.window == 0 || n > 0 && (last == h.seen || h.clock.Now().Sub(h.points[n-1].taken) < h.window/maxHistory) {
		return false
	}
	h.seen = last
	return true
}

// prune gives the snapshots back that are not needed for the window: one that is older than it is,
// for what came after. It needs the lock.
func (h *history) prune() {
	before := h.clock.Now().Add(-h.window)
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
func (p *point) giveBack() {
	if !p.kept && p.users == 0 {
		_ = p.Close()
	}
}

// acquire returns the newest snapshot that has nothing above a stamp, or nil. release must follow.
func (h *history) acquire(at storage.Stamp) *point {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := len(h.points) - 1; i >= 0; i-- {
		if p := h.points[i]; p.last <= at {
			p.users++
			return p
		}
	}
	return nil
}

func (h *history) release(p *point) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p.users--
	p.giveBack()
}

func (h *history) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.window = 0
	h.prune()
}
