package table

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The log of changes, local.oplog.rs, is a collection whose records are clustered by their stamp, the field ts. Storage gives
// the stamp with the commit, and entries come from Writers and from changes of the catalog only.

// beginning is the message of the log's first entry.
const beginning = "initiating set"

// DefaultOplogSize is how many bytes of entries are kept where nothing else is said.
const DefaultOplogSize = 512 << 20

// OplogOptions configure the log.
type OplogOptions struct {
	// Size is how many bytes of entries are kept in a log that is made now, DefaultOplogSize if zero. One that is there has its own
	// size; see ResizeOplog.
	Size int64
	// Clock tells the time of entries; the computer's if nil.
	Clock clock.Clock
}

// changeLog is the log of a store that has one.
type changeLog struct {
	clock     clock.Clock
	retention atomic.Int64 // nanoseconds
	coll      *Collection
	// prefix is that of the records' keys, up to the stamp.
	prefix []byte
	order  *storage.Order

	// trimmed is the stamp of the newest entry that was removed since the store was opened.
	trimmed atomic.Uint64
	history history
	// full is sent to when there may be something to trim.
	full chan struct{}
}

// OpenOplog finds or makes the log.
func (s *Store) OpenOplog(o *OplogOptions) error {
	c := s.Lookup(oplog.DB, oplog.Collection)
	if c == nil {
		var err error
		if c, err = s.createOplog(o.Size); err != nil {
			return err
		}
	}
	if !c.Oplog {
		return fmt.Errorf("the collection %s.%s is not a log of changes; rename or drop it with --standalone", oplog.DB, oplog.Collection)
	}
	l := &changeLog{
		clock: o.Clock, coll: c, order: s.engine.Order(), prefix: c.stampPrefix(), full: make(chan struct{}, 1),
	}
	l.retention.Store(int64(retentionOf(c.Options)))
	last, err := s.lastStamp(c)
	if err != nil {
		return err
	}
	l.order.Advance(max(last, l.now()))
	s.activities.definitions.last.Store(uint64(l.order.Last())) // of what was before, nothing is known
	s.oplog = l
	l.history.clock, l.history.window = o.Clock, DefaultHistory
	s.background.Go(func() { s.trimOplog(l) })
	l.wake()
	if last == 0 {
		if err := s.LogNoop(bsonx.NewDoc("msg", beginning)); err != nil {
			return err
		}
	}
	if err := s.recordPoint(); err != nil {
		return err
	}
	s.background.Go(s.recordHistory)
	return nil
}

func (s *Store) createOplog(size int64) (*Collection, error) {
	var entry *catalog.Collection
	err := s.catalog.Update(func(ch *catalog.Change) error {
		entry = &catalog.Collection{
			ID: ch.NewID(), DB: oplog.DB, Name: oplog.Collection, UUID: NewUUID(), Kind: catalog.KindCollection, Options: oplogOptions(size, 0),
		}
		ch.Put(entry)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return entry.Attached.(*Collection), nil
}

// minRetention is the option that keeps the retention of the log, in hours.
const minRetention = "minRetentionHours"

func oplogOptions(size int64, retention time.Duration) bsonx.Doc {
	if retention == 0 {
		return bsonx.NewDoc("capped", true, "size", size, "autoIndexId", false)
	}
	return bsonx.NewDoc("capped", true, "size", size, "autoIndexId", false, minRetention, retention.Hours())
}

func retentionOf(options bsonx.Doc) time.Duration {
	hours, _ := options.Lookup(minRetention).AsFloat64()
	return time.Duration(hours * float64(time.Hour))
}

// isOplog reports whether an entry is the log of changes: the one capped collection that has no _id index.
func isOplog(e *catalog.Collection) bool {
	return e.DB == oplog.DB && e.Name == oplog.Collection && e.IDIndex == nil && IsCapped(e.Options)
}

func (s *Store) lastStamp(c *Collection) (storage.Stamp, error) {
	snap := s.engine.NewSnapshot()
	defer snap.Close()
	return c.lastStampAfter(0, snap)
}

// lastStampAfter returns the stamp of the newest entry of the log that a reader sees, or after if
// there is none that is newer. What lies before it is not read: an entry may have 16 MB.
func (c *Collection) lastStampAfter(after storage.Stamp, r storage.Reader) (storage.Stamp, error) {
	it, err := r.NewIter(c.StampKey(nil, after+1), keyspace.PrefixEnd(c.RecordPrefix()))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if !it.Last() {
		return after, it.Err()
	}
	return stampOf(it.Key()), nil
}

// Oplog returns the log of changes, nil for a store that has none.
func (s *Store) Oplog() *Collection {
	if s.oplog == nil {
		return nil
	}
	return s.Current(s.oplog.coll)
}

// now is the first stamp of the second that the clock shows.
func (l *changeLog) now() storage.Stamp { return storage.StampAt(l.clock.Now()) }

// wake lets the trimmer look.
func (l *changeLog) wake() {
	select {
	case l.full <- struct{}{}:
	default:
	}
}

// put adds an entry to a transaction and returns what the log grows by.
func (l *changeLog) put(txn storage.Txn, buf []byte, op *oplog.Operation) (entry []byte, err error) {
	now := l.clock.Now()
	entry, at := oplog.AppendEntry(buf[:0], op, now.UnixMilli())
	return entry, txn.PutStamped(l.prefix, entry, at, storage.StampAt(now))
}

// grown is called after a commit that added to the log.
func (s *Store) grown() {
	l := s.oplog
	c := s.Current(l.coll)
	if c == nil {
		return
	}
	if counter, err := s.Count(c); err == nil && c.Capped.Exceeded(counter) {
		l.wake()
	}
}

// logged tells whether changes of a collection go to the log.
func (s *Store) logged(c *catalog.Collection) bool { return s.oplog != nil && c.DB != oplog.DB }

// LogCommand adds the entry of a command to a transaction. It does nothing where there is no log, or the database is not in it.
func (s *Store) LogCommand(txn storage.Txn, db string, uuid *[16]byte, o, o2 bsonx.Doc) error {
	if s.oplog == nil || db == oplog.DB {
		return nil
	}
	return s.logEntry(txn, &oplog.Operation{Kind: oplog.Command, Namespace: db + ".$cmd", UUID: uuid, O: o, O2: o2})
}

func (s *Store) logEntry(txn storage.Txn, op *oplog.Operation) error {
	entry, err := s.oplog.put(txn, nil, op)
	if err != nil {
		return err
	}
	return txn.Add(s.oplog.coll.shared.counter, storage.Counter{Count: 1, Bytes: int64(len(entry))})
}

// LogNoop adds an entry that changes nothing, durably. It fails where there is no log.
func (s *Store) LogNoop(o bsonx.Doc) error {
	if s.oplog == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "the log of changes is off: the server is a standalone")
	}
	txn := s.engine.Begin()
	defer txn.Rollback()
	if err := s.logEntry(txn, &oplog.Operation{Kind: oplog.Noop, O: o}); err != nil {
		return err
	}
	return txn.Commit(storage.Durable)
}

// OplogLimits returns the limits of the log; zeros for a store that has none.
func (s *Store) OplogLimits() (size int64, retention time.Duration) {
	if c := s.Oplog(); c != nil {
		return c.Capped.Size, time.Duration(s.oplog.retention.Load())
	}
	return 0, 0
}

// ResizeOplog changes the limits of the log, for good: how many bytes of entries are kept, and for how long entries are kept although
// there are more than that.
func (s *Store) ResizeOplog(size int64, retention time.Duration) error {
	if s.oplog == nil {
		return mongoerr.New(mongoerr.IllegalOperation, "the log of changes is off: the server is a standalone")
	}
	c := s.oplog.coll
	err := s.Change([]*Collection{c}, func(ch *catalog.Change) error {
		newest := s.Current(c)
		if newest == nil {
			return fmt.Errorf("%w: %w", mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", c.Namespace()), ErrChanged)
		}
		entry := *newest.Collection
		entry.Options = oplogOptions(size, retention)
		ch.Put(&entry)
		return nil
	})
	s.oplog.retention.Store(int64(retention))
	s.oplog.wake()
	return err
}

// oplogSlack is the part of the log's size that a trim takes away beyond the limit, so that the next one is not at once.
const oplogSlack = 16

// retainEvery is when a trim that was kept from its work by the retention looks again.
const retainEvery = 10 * time.Second

// trimOplog removes the oldest entries while there are too many, until the store closes.
func (s *Store) trimOplog(l *changeLog) {
	var from []byte
	timer := time.NewTicker(retainEvery)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-l.full:
		case <-timer.C:
		}
		var err error
		if from, err = s.trimOnce(l, from); err != nil && !errors.Is(err, storage.ErrClosed) {
			s.log.Warn("the log of changes cannot be trimmed", "error", err)
		}
	}
}

// trimOnce removes the entries that are too many, from a key on below which there are none. It returns the next such key.
func (s *Store) trimOnce(l *changeLog, from []byte) ([]byte, error) {
	c := s.Current(l.coll)
	if c == nil {
		return from, nil
	}
	counter, err := s.Count(c)
	if err != nil || !c.Capped.Exceeded(counter) {
		return from, err
	}
	if from == nil {
		from = c.RecordPrefix()
	}
	end, removed, err := s.oldestEntries(c, from, counter.Bytes-c.Capped.Size+c.Capped.Size/oplogSlack)
	if err != nil || removed.Count == 0 {
		return from, err
	}
	// First the range, then the counter: a crash between them leaves the log a little smaller than its limit, never larger.
	l.trimmed.Store(uint64(stampOf(end[:len(end)-1])))
	if err := s.engine.DeleteRange(from, end); err != nil {
		return from, err
	}
	txn := s.engine.Begin()
	defer txn.Rollback()
	if err := txn.Add(c.shared.counter, storage.Counter{Count: -removed.Count, Bytes: -removed.Bytes}); err != nil {
		return end, err
	}
	return end, txn.Commit(storage.Buffered)
}

// oldestEntries counts the oldest entries of that many bytes together, and returns the key of the first that is not one of
// them. The newest entry and those within the retention stay.
func (s *Store) oldestEntries(c *Collection, from []byte, size int64) (end []byte, n storage.Counter, err error) {
	young := storage.NewStamp(uint32(s.oplog.clock.Now().Add(-time.Duration(s.oplog.retention.Load())).Unix()), 0)
	if s.oplog.retention.Load() == 0 {
		young = s.oplog.order.Visible()
	}
	snap := s.engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(from, c.StampKey(nil, young))
	if err != nil {
		return nil, n, err
	}
	defer it.Close()
	for ok := it.First(); ok && n.Bytes < size; ok = it.Next() {
		if n.Count%1024 == 0 {
			select {
			case <-s.stop:
				return nil, n, storage.ErrClosed
			default:
			}
		}
		value, err := it.Value()
		if err != nil {
			return nil, n, err
		}
		n.Count++
		n.Bytes += int64(len(value))
		end = append(end[:0], it.Key()...)
	}
	return append(end, 0), n, it.Err()
}

// Trimmed returns the stamp up to which entries may have been removed from the log since the store was opened.
func (s *Store) Trimmed() storage.Stamp { return storage.Stamp(s.oplog.trimmed.Load()) }

// OldestEntry returns the stamp of the oldest entry of the log. complete says that nothing was before it.
func (s *Store) OldestEntry() (stamp storage.Stamp, complete bool, err error) {
	c := s.Oplog()
	if c == nil {
		return 0, false, nil
	}
	snap := s.engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(c.RecordPrefix(), keyspace.PrefixEnd(c.RecordPrefix()))
	if err != nil {
		return 0, false, err
	}
	defer it.Close()
	if !it.First() {
		return 0, false, it.Err()
	}
	value, err := it.Value()
	if err != nil {
		return 0, false, err
	}
	return stampOf(it.Key()), bsonx.CompareValues(bsonx.Doc(value).LookupPath("o", "msg"), bsonx.String(beginning)) == 0, nil
}

// IsLive reports whether c is the log that the store writes.
func (s *Store) IsLive(c *Collection) bool { return s.oplog != nil && c.Oplog }
