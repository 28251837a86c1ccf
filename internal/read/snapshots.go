package read

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

const (
	// SnapshotWindow is the default time, in seconds, for which a snapshot can be read
	// (minSnapshotHistoryWindowInSeconds).
	SnapshotWindow = 300
	// maxKeptSnapshots limits the snapshots that are kept for further reads of sessions.
	maxKeptSnapshots = 256
)

// Snapshots is the registry of the snapshots that reads with read concern "snapshot" hold. Cursors
// hold snapshots. A session holds the snapshot that it has read last, for further reads with the
// same atClusterTime. Snapshots is safe for concurrent use.
type Snapshots struct {
	mu   sync.Mutex
	held map[storage.Stamp]*HeldSnapshot
	// past has the snapshots made from the store's history. Each of them serves only the read that
	// requested it.
	past map[*HeldSnapshot]bool
	// kept are the last snapshots of sessions, the oldest first.
	kept   []keptSnapshot
	window time.Duration
}

type keptSnapshot struct {
	session session.SessionID
	snap    *HeldSnapshot
}

// heldView is a table.Snapshot, or a table.Past if it was made from the history. Only one goroutine
// at a time may use a Past.
type heldView interface {
	table.View
	IsNewest() bool
	Close() error
}

// HeldSnapshot is a snapshot with its users. The registry's lock guards all fields.
type HeldSnapshot struct {
	heldView
	At    storage.Stamp
	taken time.Time
	// holders is the number of users that may read from the snapshot later. readers is the number
	// of users that are reading now.
	holders, readers int
	// ended is true when the snapshot is too old. Then no read may begin, and the last reader
	// closes the snapshot.
	ended bool
}

func (s *Snapshots) init() {
	s.held, s.past = make(map[storage.Stamp]*HeldSnapshot), make(map[*HeldSnapshot]bool)
	s.window = SnapshotWindow * time.Second
}

// SetWindow sets the time, in seconds, for which a snapshot can be read.
func (s *Snapshots) SetWindow(seconds int64) {
	s.mu.Lock()
	s.window = time.Duration(seconds) * time.Second
	s.mu.Unlock()
}

func errTooOld(stamp storage.Stamp) error {
	return mongoerr.New(mongoerr.SnapshotTooOld, "Read timestamp %s is older than the oldest available timestamp.", stamp)
}

// MaxPast limits the changes, in bytes, that are applied to a snapshot of the history to reach a
// later time.
const MaxPast = 64 << 20

// Hold returns the snapshot of the time at, or the newest one if at is 0. The caller is counted as
// a reader and as a holder, so it must call pause and release, or Done. by is the session whose
// further reads may use the same time; it may be nil.
func (s *Snapshots) Hold(ctx context.Context, store *table.Store, at storage.Stamp, by *session.Session,
	now time.Time,
) (*HeldSnapshot, error) {
	if h := s.holdPresent(store, at, by, now); h != nil {
		return h, nil
	}
	past, err := store.BeginPast(ctx, at, MaxPast)
	if err != nil {
		return nil, PastError(err, at)
	}
	h := &HeldSnapshot{heldView: past, At: at, taken: now, holders: 1, readers: 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past[h] = true
	return h, nil
}

// PastError turns the store's error for a time before its history into the client's error. Other
// errors are returned unchanged.
func PastError(err error, at storage.Stamp) error {
	if errors.Is(err, changelog.ErrPastGone) {
		return errTooOld(at)
	}
	return err
}

// holdPresent returns a snapshot that others hold, or a snapshot of the newest state. It returns
// nil if neither has the time at.
func (s *Snapshots) holdPresent(store *table.Store, at storage.Stamp, by *session.Session,
	now time.Time,
) *HeldSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.held[at]
	if at == 0 {
		h = s.held[store.Engine().Order().Visible()]
	}
	switch newest := h != nil && h.IsNewest(); {
	case newest:
		h.taken = now
	case at == 0:
		h = nil
	}
	if h == nil {
		snap := store.Snapshot()
		if at != 0 && snap.Stamp() != at {
			_ = snap.Close()
			return nil
		}
		if h = s.held[snap.Stamp()]; h != nil {
			_ = snap.Close() // the catalog has changed, but the data has not
		} else {
			h = &HeldSnapshot{heldView: snap, At: snap.Stamp(), taken: now}
			s.held[snap.Stamp()] = h
		}
	}
	h.holders++
	h.readers++
	if by != nil {
		s.keep(by.ID, h)
	}
	return h
}

// keep makes a session hold a snapshot instead of its previous one. The caller holds the lock.
func (s *Snapshots) keep(id session.SessionID, h *HeldSnapshot) {
	if i := slices.IndexFunc(s.kept, func(k keptSnapshot) bool { return k.session == id }); i >= 0 {
		if s.kept[i].snap == h {
			return
		}
		s.forget(i)
	}
	h.holders++
	s.kept = append(s.kept, keptSnapshot{id, h})
	if len(s.kept) > maxKeptSnapshots {
		s.forget(0)
	}
}

// forget drops the i-th kept snapshot. The caller holds the lock.
func (s *Snapshots) forget(i int) {
	h := s.kept[i].snap
	s.kept = slices.Delete(s.kept, i, i+1)
	s.drop(h)
}

// drop removes a holder. The caller holds the lock.
func (s *Snapshots) drop(h *HeldSnapshot) {
	if h.holders--; h.holders == 0 && !h.ended {
		s.end(h)
	}
}

// end makes a snapshot unusable for new reads, and closes it if nobody reads it. The caller holds
// the lock.
func (s *Snapshots) end(h *HeldSnapshot) {
	h.ended = true
	delete(s.past, h)
	if s.held[h.At] == h {
		delete(s.held, h.At)
	}
	if h.readers == 0 {
		_ = h.Close()
	}
}

// Done ends the use that Hold began: it calls pause and release.
func (s *Snapshots) Done(h *HeldSnapshot) {
	s.pause(h)
	s.release(h)
}

// begin starts a read by a holder. It fails if the snapshot is too old.
func (s *Snapshots) begin(h *HeldSnapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.ended {
		return errTooOld(h.At)
	}
	h.readers++
	return nil
}

// pause ends a read. The holder may begin another one later.
func (s *Snapshots) pause(h *HeldSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.readers--; h.readers == 0 && h.ended {
		_ = h.Close()
	}
}

// release ends the use by a holder that does not read at present.
func (s *Snapshots) release(h *HeldSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// Reap ends the snapshots that are older than the window.
func (s *Snapshots) Reap(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.kept) - 1; i >= 0; i-- {
		if now.Sub(s.kept[i].snap.taken) > s.window {
			s.forget(i)
		}
	}
	for _, h := range s.all() {
		if now.Sub(h.taken) > s.window {
			s.end(h)
		}
	}
}

// all returns all snapshots. The caller holds the lock.
func (s *Snapshots) all() []*HeldSnapshot {
	return slices.AppendSeq(slices.Collect(maps.Values(s.held)), maps.Keys(s.past))
}

// EndSessions drops the snapshots that are kept for the matching sessions.
func (s *Snapshots) EndSessions(match func(session.SessionID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.kept) - 1; i >= 0; i-- {
		if match(s.kept[i].session) {
			s.forget(i)
		}
	}
}

// Close ends all snapshots. It is called before the store is closed.
func (s *Snapshots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.all() {
		s.end(h)
	}
	s.kept = nil
}

// snapshotSource is the source of a cursor that reads all its batches from one snapshot.
type snapshotSource struct {
	session.Source
	all     *Snapshots
	snap    *HeldSnapshot
	reading bool
}

// Source returns a source that holds the snapshot until it is closed. The snapshot must be in use
// by a reader.
func (s *Snapshots) Source(h *HeldSnapshot, in session.Source) session.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.holders++
	h.readers++
	return &snapshotSource{Source: in, all: s, snap: h, reading: true}
}

// UnderSnapshot returns the source inside a source that Snapshots.Source has returned, or s itself.
func UnderSnapshot(s session.Source) session.Source {
	if held, ok := s.(*snapshotSource); ok {
		return held.Source
	}
	return s
}

// Kept implements memory.Keeper.
func (s *snapshotSource) Kept() int64 { return memory.KeptBy(s.Source) }

// Save implements session.Source.
func (s *snapshotSource) Save() {
	s.Source.Save()
	s.pause()
}

func (s *snapshotSource) pause() {
	if s.reading {
		s.reading = false
		s.all.pause(s.snap)
	}
}

// Restore implements session.Source.
func (s *snapshotSource) Restore(ctx context.Context) error {
	if err := s.all.begin(s.snap); err != nil {
		return err
	}
	s.reading = true
	return s.Source.Restore(ctx)
}

// Close implements session.Source.
func (s *snapshotSource) Close() {
	s.Source.Close()
	s.pause()
	s.all.release(s.snap)
}
