package changelog

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/clock"
	"github.com/sheafdb/sheaf/internal/keyspace"
	"github.com/sheafdb/sheaf/internal/keystring"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// beginning is the message of the oplog's first entry.
const beginning = "initiating set"

// Log is the oplog of a store. It is safe for concurrent use. A nil *Log belongs to a store without
// an oplog.
type Log struct {
	engine storage.Engine
	clock  clock.Clock
	order  *storage.Order
	// records is the key prefix of the collection's records. prefix is the part of an entry's key
	// before the stamp: records and the type of the stamp.
	records, prefix []byte
	counter         []byte // storage key of the counter of the entries
	// size returns the size limit of the oplog in bytes. ok is false if the collection was dropped.
	size      func() (bytes int64, ok bool)
	retention atomic.Int64 // in nanoseconds

	// trimmed is the stamp of the newest entry that was removed since the store was opened.
	trimmed atomic.Uint64
	// full receives a value when there may be something to trim.
	full chan struct{}
}

// Options configure a Log.
type Options struct {
	// ID is the identifier of the collection local.oplog.rs.
	ID    uint32
	Clock clock.Clock
	// Size returns the size limit of the oplog in bytes. It returns false if the collection was
	// dropped.
	Size func() (bytes int64, ok bool)
	// Retention is the age up to which entries are kept even beyond Size.
	Retention time.Duration
}

// Open returns the log of the entries in an engine. New stamps are greater than all existing ones.
// A log without entries gets its first entry.
func Open(engine storage.Engine, o *Options) (*Log, error) {
	l := &Log{
		engine: engine, clock: o.Clock, order: engine.Order(), size: o.Size, full: make(chan struct{}, 1),
		records: keyspace.Prefix(keyspace.Oplog, o.ID), counter: keyspace.Prefix(keyspace.Counters, o.ID),
	}
	key := l.Key(nil, 0)
	l.prefix = key[:len(key)-storage.StampSize]
	l.retention.Store(int64(o.Retention))
	snap := engine.NewSnapshot()
	defer snap.Close()
	last, err := l.lastStamp(0, snap)
	if err != nil {
		return nil, err
	}
	l.order.Advance(max(last, l.now()))
	l.wake()
	if last == 0 {
		return l, l.Noop(bsonx.NewDoc("msg", beginning))
	}
	return l, nil
}

// now returns the first stamp of the current second.
func (l *Log) now() storage.Stamp { return storage.StampAt(l.clock.Now()) }

// wake makes Trim check whether entries must be removed.
func (l *Log) wake() {
	select {
	case l.full <- struct{}{}:
	default:
	}
}

// Key appends the key of the entry with that stamp.
func (l *Log) Key(dst []byte, stamp storage.Stamp) []byte { return AppendKey(dst, l.records, stamp) }

// AppendKey appends the key of the entry with that stamp in a log whose keys begin with records.
func AppendKey(dst, records []byte, stamp storage.Stamp) []byte {
	dst = append(dst, records...)
	return keystring.Append(dst, bsonx.Timestamp(stamp.Seconds(), stamp.Number()), false)
}

// stampOf returns the stamp that ends a key of the log.
func stampOf(key []byte) storage.Stamp {
	return storage.Stamp(binary.BigEndian.Uint64(key[len(key)-storage.StampSize:]))
}

// Covers reports whether changes of a database are logged.
func (l *Log) Covers(db string) bool { return l != nil && db != oplog.DB }

// Append adds an entry to a transaction. It returns the entry, which it builds in buf. The caller
// adds its length to the counter with Count.
func (l *Log) Append(txn storage.Txn, buf []byte, op *oplog.Operation) (entry []byte, err error) {
	now := l.clock.Now()
	entry, at := oplog.AppendEntry(buf[:0], op, now.UnixMilli())
	return entry, txn.PutStamped(l.prefix, entry, at, storage.StampAt(now))
}

// Count adds the entries of a transaction to the oplog's counter.
func (l *Log) Count(txn storage.Txn, grown storage.Counter) error { return txn.Add(l.counter, grown) }

// appendOne appends an entry and counts it.
func (l *Log) appendOne(txn storage.Txn, op *oplog.Operation) error {
	entry, err := l.Append(txn, nil, op)
	if err != nil {
		return err
	}
	return l.Count(txn, storage.Counter{Count: 1, Bytes: int64(len(entry))})
}

// Command adds the entry of a command to a transaction. It does nothing if there is no oplog, or if
// the database is not logged.
func (l *Log) Command(txn storage.Txn, db string, uuid *[16]byte, o, o2 bsonx.Doc) error {
	if !l.Covers(db) {
		return nil
	}
	return l.appendOne(txn, &oplog.Operation{Kind: oplog.Command, Namespace: db + ".$cmd", UUID: uuid, O: o, O2: o2})
}

// Noop adds an entry that changes nothing, with a durable commit. It fails if there is no oplog.
func (l *Log) Noop(o bsonx.Doc) error {
	if l == nil {
		return ErrOff
	}
	txn := l.engine.Begin()
	defer txn.Rollback()
	if err := l.appendOne(txn, &oplog.Operation{Kind: oplog.Noop, O: o}); err != nil {
		return err
	}
	return txn.Commit(storage.Durable)
}

// ErrOff is the error for an operation that needs the oplog, on a store that does not have one.
var ErrOff = mongoerr.New(mongoerr.IllegalOperation, "the log of changes is off: the server is a standalone")

// Oldest returns the stamp of the oldest entry, or 0 if there are no entries. complete says that no
// entry was removed before it.
func (l *Log) Oldest() (stamp storage.Stamp, complete bool, err error) {
	if l == nil {
		return 0, false, nil
	}
	snap := l.engine.NewSnapshot()
	defer snap.Close()
	it, err := snap.NewIter(l.records, keyspace.PrefixEnd(l.records))
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
	first := bsonx.Doc(value).LookupPath("o", "msg")
	return stampOf(it.Key()), bsonx.CompareValues(first, bsonx.String(beginning)) == 0, nil
}

// lastStamp returns the stamp of the newest entry that a reader sees, or after if there is no newer
// entry. It does not read entries up to after, because an entry may have 16 MB.
func (l *Log) lastStamp(after storage.Stamp, r storage.Reader) (storage.Stamp, error) {
	it, err := r.NewIter(l.Key(nil, after+1), keyspace.PrefixEnd(l.records))
	if err != nil {
		return 0, err
	}
	defer it.Close()
	if !it.Last() {
		return after, it.Err()
	}
	return stampOf(it.Key()), nil
}
