package pebble

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// Commit implements storage.Txn.
func (t *txn) Commit(durability storage.Durability) error {
	s := t.state
	if s == nil {
		return storage.ErrEnded
	}
	e := s.engine
	if s.scratch {
		t.end()
		return storage.ErrScratch
	}
	p, ok := e.pins.acquire()
	if !ok {
		t.end()
		return storage.ErrClosed
	}
	stamp, err := s.commit(durability)
	e.pins.release(p)
	t.end()
	if err != nil {
		return err
	}
	t.stamp = stamp
	if durability != storage.Buffered {
		e.commitsDurable.Add(1)
	} else {
		e.commitsBuffered.Add(1)
	}
	return nil
}

// shrinks reports whether the transaction deletes keys and puts at most smallWrite bytes. Such a
// commit is accepted on a full disk, because it frees space.
func (s *txnState) shrinks() bool { return s.deletes > 0 && s.putBytes <= smallWrite }

// commit writes the changes and returns the last stamp that it gave. If the commit is visible
// before it is durable, it releases the locks early.
func (s *txnState) commit(durability storage.Durability) (stamp storage.Stamp, err error) {
	e := s.engine
	if len(s.writes) == 0 && len(s.counters) == 0 && len(s.stamped) == 0 {
		return 0, nil
	}
	if s.batch == nil {
		s.batch = newBatch(e.db)
	}
	if err := e.longKeys.admit(e.db, int64(s.longKeys)); err != nil {
		return 0, err
	}
	size := int64(s.batch.Len())
	if err := e.guard.admit(size, s.shrinks()); err != nil {
		return 0, err
	}
	defer e.guard.done(size)
	for i := range s.counters {
		c := &s.counters[i]
		if err := s.batch.Merge(c.entry.key, c.delta.Append(s.encoded[:0]), nil); err != nil {
			return 0, e.wrap(err)
		}
	}
	if durability == storage.Durable {
		if err := s.batch.LogData(e.fs.points.appendMark(s.encoded[:0]), nil); err != nil {
			return 0, e.wrap(err)
		}
	}
	defer e.contain(&err)
	s.committed = s.batch.Repr()
	s.beginRecords()
	visible := false
	defer func() {
		if !visible {
			s.endRecords(false)
		}
	}()
	if durability == storage.Durable {
		// As long as durable is not 0, diskFS syncs the WAL with an fsync.
		e.guard.durable.Add(1)
		defer e.guard.durable.Add(-1)
	}
	first, stamp, err := s.apply(durability)
	if err != nil {
		return 0, e.wrap(err)
	}
	visible = true
	s.visible()
	if durability == storage.Durable {
		// The next holder of these locks reads the values committed here, and its own durable
		// commit can share the fsync.
		e.locks.Release(&s.owner)
		if err := s.batch.SyncWait(); err != nil {
			return 0, e.wrap(err)
		}
	}
	if err := e.guard.failure(); err != nil {
		return stamp, err
	}
	if durability != storage.Durable {
		e.unsynced.add(first, durability)
	}
	if first > 0 && durability != storage.Deferred {
		e.order.End(first)
	}
	return stamp, nil
}

// apply gives the batch to Pebble. It takes stamps at the last moment, because readers of stamped
// keys wait for every commit that has one. If the batch is not durable yet, its stamps become
// visible but not safe.
func (s *txnState) apply(durability storage.Durability) (first, last storage.Stamp, err error) {
	e, returned := s.engine, false
	defer e.large.admit(e.db, len(s.committed))()
	generation := e.gaps.commits.enter()
	defer e.gaps.commits.leave(generation)
	if len(s.stamped) > 0 {
		first, last = s.stampWrites(s.committed)
		defer func() {
			switch {
			case err != nil:
				e.order.End(first)
			case !returned || durability != storage.Buffered || e.guard.failure() != nil:
				e.order.Reveal(first)
			}
		}()
	}
	s.cutGaps()
	s.countUnflushed()
	if durability == storage.Durable {
		err = e.db.ApplyNoSyncWait(s.batch, pebble.Sync)
	} else {
		err = e.db.Apply(s.batch, pebble.Sync)
	}
	returned = true
	return first, last, err
}

// cutGaps removes the keys of the batch from the gaps, before the keys are visible.
func (s *txnState) cutGaps() {
	g := &s.engine.gaps
	if g.active.Load() == 0 {
		return
	}
	for _, w := range s.writes {
		if !w.deleted() {
			g.cut(s.key(w))
		}
	}
	for _, w := range s.stamped {
		g.cut(w.key(s.committed))
	}
	for _, c := range s.counters {
		g.cut(c.entry.key)
	}
}

// visible updates the record cache, the cached counters and the history after the commit has become
// visible. The transaction still holds its locks.
func (s *txnState) visible() {
	e := s.engine
	s.endRecords(true)
	for i := range s.counters {
		s.counters[i].entry.add(s.counters[i].delta)
	}
	if s.deletes > 0 {
		for _, w := range s.writes {
			if w.deleted() {
				e.counters.forget(s.key(w))
			}
		}
	}
	e.history.Record(s.owner.Held())
	e.state.Add(1)
}

// beginRecords removes the changed keys from the record cache.
func (s *txnState) beginRecords() {
	records := s.engine.records
	for i := range s.writes {
		w := &s.writes[i]
		if key := s.key(*w); records.keeps(key) {
			w.kept = records.begin(w.hash, key)
		}
	}
}

// endRecords puts the new values of the changed keys into the record cache if the commit is
// visible. The transaction still holds its locks.
func (s *txnState) endRecords(visible bool) {
	records := s.engine.records
	for _, w := range s.writes {
		key := s.key(w)
		if !records.keeps(key) {
			continue
		}
		var value []byte
		if visible && w.kept && !w.deleted() {
			value = s.value(w)
		}
		records.end(w.hash, key, value)
	}
}
