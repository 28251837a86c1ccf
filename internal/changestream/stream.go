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
	// ImageExpired reports whether a pre-image that was kept at this time is no longer shown.
	ImageExpired(kept time.Time) bool
}

// Stream yields the events of a scope. Only one goroutine may use it.
type Stream struct {
	store  *table.Store
	watch  *changelog.Watch
	source Source
	spec   *Spec
	scope  Scope

	// scanned is the stamp up to which entries were read. Entries up to opened are older than the
	// stream.
	scanned, opened storage.Stamp
	// skip tells how many operations of the first entry the client has already seen.
	skip    *Token
	pending []*event
	// rest has the remaining operations of a transaction's entry. Their events are made one by one,
	// because together they may be large.
	rest  transaction
	held  memory.Holding // memory of rest, between two batches
	last  bsonx.Doc      // token of the last event, or the token after which the stream resumed
	ended bool

	snap storage.Snapshot
	it   storage.Iterator
	end  storage.Stamp // of the snapshot
}

// Open returns a stream at its beginning. It fails if the store has no oplog, or if the oplog no
// longer reaches back that far. The memory of the stream counts in the budget, which may be nil.
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
			s.scanned-- // the entry may have more events
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

// checkHistory fails if entries after the beginning of the stream may be gone.
func (s *Stream) checkHistory() error {
	oldest, complete, err := s.store.Log().Oldest()
	if err != nil {
		return err
	}
	// If the oplog is complete, a token from before it belongs to an earlier oplog, which ended
	// when the server ran without one.
	if (!complete || s.spec.After != nil) && s.scanned+1 < oldest {
		return errHistoryLost()
	}
	return nil
}

func errHistoryLost() error {
	return mongoerr.New(mongoerr.ChangeStreamHistoryLost,
		"Resume of change stream was not possible, as the resume point may no longer be in the oplog.")
}

// Next implements source.Source. nil means that there is no event yet.
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

// entry returns the next entry, or nil if the oplog has no more entries yet.
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

// exhausted is called after the last safe entry.
func (s *Stream) exhausted() error {
	err := s.it.Err()
	if err == nil {
		s.passed(s.end)
	}
	s.closeLog()
	return err
}

// passed records that there is nothing more up to a stamp.
func (s *Stream) passed(stamp storage.Stamp) {
	s.scanned = max(s.scanned, stamp)
	if s.skip != nil && s.skip.Stamp <= s.scanned {
		s.skip = nil
	}
}

// open opens the oplog up to a stamp. Entries that are not safe must not be sent: a kill of the
// process could undo them, and a client that resumes with their token would miss the entries in
// their place.
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
	// The log is trimmed from its beginning: where the place to go on from is before that, entries
	// were missed.
	if s.scanned < s.store.Log().Trimmed() {
		s.closeLog()
		return errHistoryLost()
	}
	return nil
}

// look converts an entry to events.
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

// dropSeen drops the events up to the token after which the stream resumed.
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
				break // the Splitter knows which fragments were seen
			}
			n++
		}
		s.pending = s.pending[n:]
		if len(s.pending) == 0 && s.rest.ops != nil {
			return // the last event seen may be in rest
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
	_ = s.it.Close() // entry has reported its error
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
