package read

import (
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// noCompiler is a compiler for collections without partial indexes and validators.
type noCompiler struct{}

func (noCompiler) Partial(bsonx.Doc, *collation.Collator) (table.Predicate, error) { return nil, nil }

func (noCompiler) Validator(bsonx.Doc, *collation.Collator) (table.Validator, error) { return nil, nil }

func newSnapshots(t *testing.T) (*Snapshots, *table.Store) {
	t.Helper()
	store, err := schema.OpenLogged(mem.New(), noCompiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	store.History().Keep(0) // only held snapshots can be read
	s := new(Snapshots)
	s.init()
	return s, store
}

func put(t *testing.T, store *table.Store, id int) {
	t.Helper()
	c, err := schema.Ensure(store, "d", "c")
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.BeginWrite(c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Insert(t.Context(), bsonx.NewDoc("_id", id)); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(storage.Buffered); err != nil {
		t.Fatal(err)
	}
}

// has reports whether a snapshot has the document with that _id.
func has(t *testing.T, h *HeldSnapshot, id int) bool {
	t.Helper()
	c, err := h.Lookup("d", "c")
	if err != nil {
		t.Fatal(err)
	}
	var closer io.Closer
	_, closer, err = h.Get(c.RecordKey(nil, bsonx.Int32(int32(id))))
	if err == nil {
		_ = closer.Close()
	}
	return err == nil
}

func TestSnapshotsAreShared(t *testing.T) {
	s, store := newSnapshots(t)
	now := time.Now()
	put(t, store, 1)
	first, err := s.Hold(t.Context(), store, 0, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Hold(t.Context(), store, 0, nil, now)
	if err != nil || again != first {
		t.Errorf("nothing has happened, and there are two snapshots: %v", err)
	}
	byTime, err := s.Hold(t.Context(), store, first.At, nil, now)
	if err != nil || byTime != first {
		t.Errorf("the time of a snapshot does not name it: %v", err)
	}
	put(t, store, 2)
	second, err := s.Hold(t.Context(), store, 0, nil, now)
	if err != nil || second == first || second.At <= first.At {
		t.Fatalf("a write is not seen: %v", err)
	}
	if has(t, first, 2) || !has(t, second, 2) || !has(t, first, 1) {
		t.Error("the snapshots have not what they should")
	}
	for _, h := range []*HeldSnapshot{first, first, first, second} {
		s.pause(h)
		s.release(h)
	}
	if len(s.held) != 0 {
		t.Errorf("%d snapshots are left", len(s.held))
	}
	if _, err := s.Hold(t.Context(), store, first.At, nil, now); mongoerr.CodeOf(err) != mongoerr.SnapshotTooOld {
		t.Errorf("a snapshot that nobody holds: %v", err)
	}
	if h, err := s.Hold(t.Context(), store, second.At, nil, now); err != nil || !has(t, h, 2) {
		t.Errorf("the present time: %v", err)
	}
}

// TestSnapshotOfASession checks that the snapshot of a session is kept until the session reads a
// newer one, the session ends, or the window has passed.
func TestSnapshotOfASession(t *testing.T) {
	s, store := newSnapshots(t)
	now := time.Now()
	hold := func(at storage.Stamp, by *session.Session, now time.Time) (storage.Stamp, error) {
		h, err := s.Hold(t.Context(), store, at, by, now)
		if err != nil {
			return 0, err
		}
		s.pause(h)
		s.release(h)
		return h.At, nil
	}
	one, two := &session.Session{ID: session.SessionID{UUID: [16]byte{1}}},
		&session.Session{ID: session.SessionID{UUID: [16]byte{2}}}
	put(t, store, 1)
	first, _ := hold(0, one, now)
	put(t, store, 2)
	second, _ := hold(0, two, now)
	for range 2 {
		if at, err := hold(first, one, now); at != first {
			t.Errorf("the session's own time: %v", err)
		}
	}
	put(t, store, 3)
	third, _ := hold(0, one, now)
	if _, err := hold(first, one, now); mongoerr.CodeOf(err) != mongoerr.SnapshotTooOld {
		t.Errorf("a time that the session has left: %v", err)
	}
	put(t, store, 4)
	s.EndSessions(func(id session.SessionID) bool { return id == two.ID })
	if _, err := hold(second, two, now); mongoerr.CodeOf(err) != mongoerr.SnapshotTooOld {
		t.Errorf("a time of a session that has ended: %v", err)
	}
	s.Reap(now.Add(SnapshotWindow * time.Second))
	if at, err := hold(third, one, now); at != third {
		t.Errorf("at the end of the window: %v", err)
	}
	s.Reap(now.Add(SnapshotWindow*time.Second + 1))
	if _, err := hold(third, one, now); mongoerr.CodeOf(err) != mongoerr.SnapshotTooOld {
		t.Errorf("behind the window: %v", err)
	}
	for i := range maxKeptSnapshots + 10 {
		put(t, store, 100+i)
		id := session.SessionID{}
		copy(id.UUID[:], fmt.Sprint(i))
		if _, err := hold(0, &session.Session{ID: id}, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.held) != maxKeptSnapshots || len(s.kept) != maxKeptSnapshots {
		t.Errorf("%d snapshots are held, %d kept", len(s.held), len(s.kept))
	}
}

// TestSnapshotGrowsOld lets the snapshot of a cursor become too old. The current batch must be
// completed, and the next one refused.
func TestSnapshotGrowsOld(t *testing.T) {
	s, store := newSnapshots(t)
	now := time.Now()
	put(t, store, 1)
	h, err := s.Hold(t.Context(), store, 0, nil, now)
	if err != nil {
		t.Fatal(err)
	}
	s.pause(h)
	if err := s.begin(h); err != nil {
		t.Fatal(err)
	}
	s.Reap(now.Add(SnapshotWindow*time.Second + 1))
	if !has(t, h, 1) {
		t.Error("a reader lost its snapshot")
	}
	s.pause(h)
	if err := s.begin(h); mongoerr.CodeOf(err) != mongoerr.SnapshotTooOld {
		t.Errorf("%v", err)
	}
	s.release(h)
	s.Close()
}
