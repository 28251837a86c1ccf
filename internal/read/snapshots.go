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
	// SnapshotWindow is for how long a snapshot can be read, by default
	// (minSnapshotHistoryWindowInSeconds).
	SnapshotWindow = 300
	// maxKeptSnapshots bounds the snapshots that are kept for further reads of sessions.
	maxKeptSnapshots = 256
)

// Snapshots are those that reads with the level "snapshot" hold: cursors, and for further reads at
// the same atClusterTime the sessions that asked for them last. It is safe for concurrent use.
type Snapshots struct {
	mu   sync.Mutex
	held map[storage.Stamp]*HeldSnapshot
	// past are those that were made of the store's history, each for the one read that asked for
	// it.
	past map[*HeldSnapshot]bool
	// kept are the newest snapshots of sessions, the oldest first.
	kept   []keptSnapshot
	window time.Duration
}

type keptSnapshot struct {
	session session.SessionID
	snap    *HeldSnapshot
}

// heldView is a table.Snapshot, or a table.Past if it was made of the history. One goroutine at a
// time uses a Past.
type heldView interface {
	table.View
	IsNewest() bool
	Close() error
}

// HeldSnapshot is a snapshot with its users. All fields are guarded by the registry's lock.
type HeldSnapshot struct {
	heldView
	At    storage.Stamp
	taken time.Time
	// holders may read from it in the future, readers do so now.
	holders, readers int
	// ended is set when it is too old: no one begins to read any more, and it is closed when the
	// last reader has stopped.
	ended bool
}

func (s *Snapshots) init() {
	s.held, s.past = make(map[storage.Stamp]*HeldSnapshot), make(map[*HeldSnapshot]bool)
	s.window = SnapshotWindow * time.Second
}

// SetWindow sets for how many seconds a snapshot can be read.
func (s *Snapshots) SetWindow(seconds int64) {
	s.mu.Lock()
	s.window = time.Duration(seconds) * time.Second
	s.mu.Unlock()
}

func errTooOld(stamp storage.Stamp) error {
	return mongoerr.New(mongoerr.SnapshotTooOld, "Read timestamp %s is older than the oldest available timestamp.", stamp)
}

// MaxPast bounds what is applied to a snapshot of the history to get to a time behind it, in bytes.
const MaxPast = 64 << 20

// Hold returns the snapshot of a time, or for 0 the newest one, for a read that has begun: both
// pause and release must follow. by is the session whose further reads may ask for the same time,
// nil for none.
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

// PastError makes a user error of the store's for a time that is before its history.
func PastError(err error, at storage.Stamp) error {
	if errors.Is(err, changelog.ErrPastGone) {
		return errTooOld(at)
	}
	return err
}

// holdPresent returns a snapshot that others hold, or that of the newest state; nil where the time
// is neither.
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
			_ = snap.Close() // the catalog has changed; the data has not
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

// keep needs the lock.
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

// forget needs the lock.
func (s *Snapshots) forget(i int) {
	h := s.kept[i].snap
	s.kept = slices.Delete(s.kept, i, i+1)
	s.drop(h)
}

// drop takes a holder away. It needs the lock.
func (s *Snapshots) drop(h *HeldSnapshot) {
	if h.holders--; h.holders == 0 && !h.ended {
		s.end(h)
	}
}

// end needs the lock.
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

// Done is pause and release.
func (s *Snapshots) Done(h *HeldSnapshot) {
	s.pause(h)
	s.release(h)
}

// begin lets a holder read. It fails where the snapshot is too old by now.
func (s *Snapshots) begin(h *HeldSnapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.ended {
		return errTooOld(h.At)
	}
	h.readers++
	return nil
}

// pause is called by a holder that reads no more for now.
func (s *Snapshots) pause(h *HeldSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.readers--; h.readers == 0 && h.ended {
		_ = h.Close()
	}
}

// release is called by a holder that does not read, and never will.
func (s *Snapshots) release(h *HeldSnapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(h)
}

// Reap ends the snapshots that are too old.
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

// all needs the lock.
func (s *Snapshots) all() []*HeldSnapshot {
	return slices.AppendSeq(slices.Collect(maps.Values(s.held)), maps.Keys(s.past))
}

// EndSessions ends what is kept for sessions.
func (s *Snapshots) EndSessions(match func(session.SessionID) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.kept) - 1; i >= 0; i-- {
		if match(s.kept[i].session) {
			s.forget(i)
		}
	}
}

// Close ends all snapshots, before the store is closed.
func (s *Snapshots) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.all() {
		s.end(h)
	}
	s.kept = nil
}

// snapshotSource is the source of a cursor all whose batches are read from one snapshot.
type snapshotSource struct {
	session.Source
	all     *Snapshots
	snap    *HeldSnapshot
	reading bool
}

// Source returns a source that holds the snapshot, which is being read, as long as it is open.
func (s *Snapshots) Source(h *HeldSnapshot, in session.Source) session.Source {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.holders++
	h.readers++
	return &snapshotSource{Source: in, all: s, snap: h, reading: true}
}

// UnderSnapshot returns the source that a cursor was opened with.
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
