package changestream

import (
	"context"
	"errors"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/changelog"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// Source is the part of the server that a stream needs.
type Source interface {
	// Document returns the newest version of a document, or nil if it does not exist.
	Document(ctx context.Context, db, collection string, id bsonx.Value) (bsonx.Doc, error)
	// ImageExpired reports whether a pre-image that was stored at the time kept is too old to be
	// shown.
	ImageExpired(kept time.Time) bool
}

// Stream reads the oplog and yields the events of a scope. Only one goroutine may use it.
type Stream struct {
	store  *table.Store
	watch  *changelog.Watch
	source Source
	spec   *Spec
	scope  Scope

	// scanned is the stamp up to which the oplog was read. Entries with stamps up to opened have no
	// events, because they are older than the stream.
	scanned, opened storage.Stamp
	// skip is the token after which the stream resumed. It is nil once all events that the client
	// has already seen are dropped.
	skip    *Token
	pending []*event
	// rest is the entry of a transaction from which operations are left. Their events are made one
	// by one, because all of them together may be large.
	rest  transaction
	held  memory.Holding // counts the memory of rest between two batches
	last  bsonx.Doc      // token of the last event, or the token after which the stream resumed
	ended bool

	snap storage.Snapshot
	it   storage.Iterator
	end  storage.Stamp // the stamp up to which the iterator reads
}

// Open returns a stream that begins where spec says. It fails if the store has no oplog, or if the
// oplog no longer has all entries since then. The stream counts its memory in budget, which may be
// nil.
func Open(store *table.Store, source Source, spec *Spec, scope Scope, budget *memory.Budget) (*Stream, error) {
	if store.Oplog() == nil {
		return nil, mongoerr.New(mongoerr.Code(40573), "The $changeStream stage is only supported on replica sets")
	}
	s := &Stream{
		store: store, watch: store.Activities().Watch(scope.DB, scope.Collection), source: source, spec: spec,
		scope: scope, held: budget.Hold(),
	}
	switch {
	case spec.After != nil:
		s.scanned, s.skip, s.last = spec.After.Stamp, spec.After, spec.AfterDoc
		if spec.After.kind == eventToken {
			s.scanned-- // the entry may have events after the event of the token
		}
	case spec.Start > 0:
		s.scanned = spec.Start - 1
	default:
		order := store.Engine().Order()
		s.scanned, s.opened = order.Safe(), order.Visible()
		return s, nil
	}
	if err := s.checkHistory(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// checkHistory returns an error if the oplog may have lost entries that the stream must read.
func (s *Stream) checkHistory() error {
	oldest, complete, err := s.store.Log().Oldest()
	if err != nil {
		return err
	}
	// A complete oplog has lost no entry. So a token from before its first entry belongs to an
	// earlier oplog, which was dropped when the server ran without an oplog.
	if (!complete || s.spec.After != nil) && s.scanned+1 < oldest {
		return errHistoryLost()
	}
	return nil
}

func errHistoryLost() error {
	return mongoerr.New(mongoerr.ChangeStreamHistoryLost,
		"Resume of change stream was not possible, as the resume point may no longer be in the oplog.")
}

// Next implements source.Source. It returns nil if there is no event yet.
func (s *Stream) Next(ctx context.Context) (bsonx.Doc, error) {
	for n := 0; ; n++ {
		if len(s.pending) > 0 {
			e := s.pending[0]
			s.pending[0] = nil
			s.pending = s.pending[1:]
			s.last, s.ended = e.token, e.ends
			return e.doc, nil
		}
		if s.ended {
			return nil, nil
		}
		if n%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.rest.ops != nil {
			if err := s.more(ctx); err != nil {
				return nil, err
			}
			continue
		}
		entry, err := s.entry()
		if err != nil || entry == nil {
			return nil, err
		}
		if err := s.look(ctx, entry); err != nil {
			return nil, err
		}
	}
}

// entry returns the next oplog entry, or nil if there are no more entries yet.
func (s *Stream) entry() (bsonx.Doc, error) {
	if s.it == nil {
		safe := s.store.Engine().Order().Safe()
		if safe <= s.scanned {
			return nil, nil
		}
		if !s.watch.Since(s.scanned) {
			s.passed(safe)
			return nil, nil
		}
		if err := s.open(safe); err != nil {
			return nil, err
		}
		if !s.it.First() {
			return nil, s.exhausted()
		}
	} else if !s.it.Next() {
		return nil, s.exhausted()
	}
	value, err := s.it.Value()
	return bsonx.Doc(value), err
}

// exhausted closes the iterator after its last entry, and records that everything up to its end was
// read.
func (s *Stream) exhausted() error {
	err := s.it.Err()
	if err == nil {
		s.passed(s.end)
	}
	s.closeLog()
	return err
}

// passed records that the stream has read all entries up to a stamp.
func (s *Stream) passed(stamp storage.Stamp) {
	s.scanned = max(s.scanned, stamp)
	if s.skip != nil && s.skip.Stamp <= s.scanned {
		s.skip = nil
	}
}

// open opens an iterator over the oplog, from the entry after scanned up to the stamp safe. Later
// entries must not be sent yet: a crash could undo them, and other entries could get their stamps.
// A client that resumes with the token of a lost entry would miss the new ones.
func (s *Stream) open(safe storage.Stamp) error {
	log := s.store.Oplog()
	if log == nil {
		return mongoerr.New(mongoerr.ChangeStreamHistoryLost, "the log of changes is gone")
	}
	s.end = safe
	s.snap = s.store.Engine().NewSnapshot()
	it, err := s.snap.NewIter(log.StampKey(nil, s.scanned+1), log.StampKey(nil, safe+1))
	if err != nil {
		return errors.Join(err, s.snap.Close())
	}
	s.it = it
	// The oplog is trimmed at its beginning. If it was trimmed beyond scanned, the stream has
	// missed entries.
	if s.scanned < s.store.Log().Trimmed() {
		s.closeLog()
		return errHistoryLost()
	}
	return nil
}

// look adds the events of an oplog entry to pending. It stores the entry of a transaction in rest.
func (s *Stream) look(ctx context.Context, entry bsonx.Doc) error {
	op := s.operation(entry, storage.NewStamp(entry.Lookup("ts").Timestamp()), entry.Lookup("wall"))
	var err error
	if op.stamp > s.opened {
		err = s.events(ctx, &op, entry)
	}
	if err == nil {
		s.scanned = op.stamp
		s.dropSeen(op.stamp)
	}
	return err
}

func (s *Stream) events(ctx context.Context, op *operation, entry bsonx.Doc) error {
	switch op.kind {
	case oplog.Noop:
		return nil
	case oplog.Command:
		if ops := op.o.Lookup("applyOps"); ops.Type == bsonx.TypeArray {
			s.begun(op, entry, ops.Doc())
			return nil
		}
		s.pending = s.commandEvents(s.pending, op)
		return nil
	default:
		e, err := s.documentEvent(ctx, op)
		if e != nil {
			s.pending = append(s.pending, e)
		}
		return err
	}
}

// dropSeen removes the pending events that the client has already seen: the events up to the token
// after which the stream resumed. stamp is the stamp of the newest entry that was read.
func (s *Stream) dropSeen(stamp storage.Stamp) {
	if s.skip == nil || stamp < s.skip.Stamp {
		return
	}
	if stamp == s.skip.Stamp && s.skip.kind == eventToken {
		n := 0
		for n < len(s.pending) {
			t, err := parseToken(s.pending[n].token)
			if err != nil || t.Index > s.skip.Index ||
				t.Index == s.skip.Index && t.FromInvalidate && !s.skip.FromInvalidate {
				break
			}
			if s.skip.Fragment > 0 && t.sameEvent(s.skip) {
				break // the Splitter drops the fragments that the client has seen
			}
			n++
		}
		s.pending = s.pending[n:]
		if len(s.pending) == 0 && s.rest.ops != nil {
			return // rest may have more events that the client has seen
		}
	}
	s.skip = nil
}

// Ended reports whether the last event was an invalidate event.
func (s *Stream) Ended() bool { return s.ended && len(s.pending) == 0 }

// hasMore reports whether the entries read so far may have more events.
func (s *Stream) hasMore() bool { return len(s.pending) > 0 || s.rest.ops != nil }

// LastToken returns the token of the event that Next returned last.
func (s *Stream) LastToken() bsonx.Doc { return s.last }

// BatchToken returns the token after which a resumed stream continues with the next change. It
// covers all events that Next has returned, and all entries without events.
func (s *Stream) BatchToken() bsonx.Doc {
	if s.last != nil && (s.hasMore() || s.ended || s.skip != nil) {
		return s.last
	}
	if s.hasMore() {
		return highWaterToken(s.scanned - 1)
	}
	if s.last != nil {
		if t, err := parseToken(s.last); err == nil && t.Stamp == s.scanned {
			return s.last
		}
	}
	return highWaterToken(s.scanned)
}

// Arrival returns a channel that is closed when there are unread entries that may concern the
// stream.
func (s *Stream) Arrival() <-chan struct{} { return s.watch.Arrival(s.scanned) }

// Save implements source.Source.
func (s *Stream) Save() {
	s.keepRest()
	s.closeLog()
}

func (s *Stream) closeLog() {
	if s.it == nil {
		return
	}
	_ = s.it.Close() // the method entry has reported the iterator's error
	_ = s.snap.Close()
	s.it, s.snap = nil, nil
}

// Kept implements memory.Keeper.
func (s *Stream) Kept() (bytes int64) {
	for _, e := range s.pending {
		bytes += int64(len(e.doc) + len(e.token))
	}
	return bytes
}

// Restore implements source.Source.
func (s *Stream) Restore(context.Context) error { return nil }

// Close implements source.Source.
func (s *Stream) Close() {
	s.closeLog()
	s.held.Release()
	s.watch.Close()
}
