package storage

import (
	"context"
	"errors"
	"io"
	"time"
)

var (
	// ErrNotFound means that a key has no value.
	ErrNotFound = errors.New("storage: not found")
	// ErrConflict means that another transaction holds or has changed a key that a snapshot
	// transaction wants.
	ErrConflict = errors.New("storage: write conflict")
	// ErrLocked means that the directory is already open, in this process or in another one. The
	// message says which.
	ErrLocked = errors.New("storage: directory is in use")
	// ErrEnded means that a transaction was used after its Commit or Rollback.
	ErrEnded = errors.New("storage: transaction has ended")
	// ErrScratch means that Commit was called for a scratch transaction.
	ErrScratch = errors.New("storage: a scratch transaction cannot be committed")
	// ErrFailed means that a write to the disk failed. Reads continue, but the engine takes no more
	// writes until it is opened again. Only opening it again shows whether a commit that returned
	// ErrFailed took effect.
	ErrFailed = errors.New("storage: writing failed, the store is read-only until it is opened again")
	// ErrClosed means that the engine was closed.
	ErrClosed = errors.New("storage: closed")
	// ErrFormat means that the files have a format version that this program does not know.
	ErrFormat = errors.New("storage: unknown format version")
	// ErrNoSpace means that the disk is full. The write was refused, but reads continue.
	ErrNoSpace = errors.New("storage: no space left on device")
	// ErrLongKeys means that there is no memory for a write with very long keys.
	ErrLongKeys = errors.New("storage: no memory for long keys")
	// ErrCorrupt marks damage of stored data; see IsCorruption.
	ErrCorrupt = errors.New("storage: corrupt data")
)

// IsCorruption reports whether err means that stored data is damaged.
func IsCorruption(err error) bool { return errors.Is(err, ErrCorrupt) }

// Engine is an open store. It is safe for concurrent use.
type Engine interface {
	// Get reads the newest committed value. The value is borrowed until the closer is closed.
	Get(key []byte) (value []byte, closer io.Closer, err error)
	// NewSnapshot returns a view of the newest committed state. Close it soon, because it holds
	// back compaction.
	NewSnapshot() Snapshot
	// Begin starts a statement transaction.
	Begin() Txn
	// BeginSnapshot starts a snapshot transaction.
	BeginSnapshot() Txn
	// Scratch starts a transaction over a snapshot. Only the transaction itself sees its changes:
	// Lock takes no locks, and Commit fails with ErrScratch. The snapshot must stay open until the
	// transaction ends.
	Scratch(over Snapshot) Txn
	// Counter returns the current sums of a counter key, from memory. They are zero if nothing was
	// added yet. In the ordered map the key has the value that Counter.Append writes.
	Counter(key []byte) (Counter, error)
	// DeleteRange removes all keys in [start, end), durably. It is for data that no one reads any
	// more, such as a dropped collection. It takes no locks.
	DeleteRange(start, end []byte) error
	// Order returns the order of stamps. A closed engine does not keep it: after opening, a reader
	// of stamped keys must advance the order past them.
	Order() *Order
	// Checkpoint makes everything committed durable. If dir is not empty, it also makes a
	// consistent copy of the store in the new directory dir.
	Checkpoint(dir string) error
	// Sync waits until all Deferred commits that returned before are durable.
	Sync() error
	// Durable returns the stamp up to which every commit was synced: they survive a loss of power.
	Durable() Stamp
	// DiskUsage returns the space of the keys in [start, end). It is cheap.
	DiskUsage(start, end []byte) (Usage, error)
	// Contents counts the contents of [start, end), garbage included. It is expensive.
	Contents(start, end []byte) (Contents, error)
	// Disk returns the space of the whole store. It is zero for a store without a directory.
	Disk() (Disk, error)
	// Yield makes the caches give up n bytes of the spare memory that was lent to them. n replaces
	// the number of the previous call.
	Yield(n int64)
	// Stats describes the engine for serverStatus.
	Stats() Stats
	// Close makes everything durable and closes the engine. It waits for calls in progress, open
	// iterators and borrowed values. Later calls return ErrClosed. The caller should end snapshots
	// and transactions before.
	Close() error
}

// Reader reads from one state of the store.
type Reader interface {
	// Get returns ErrNotFound if the key has no value.
	Get(key []byte) (value []byte, closer io.Closer, err error)
	// NewIter returns an iterator over [lower, upper), positioned before the first key. Nil bounds
	// are open.
	NewIter(lower, upper []byte) (Iterator, error)
}

// Snapshot is a Reader of one committed state. It is safe for concurrent use.
type Snapshot interface {
	Reader
	Close() error
}

// Keeper is a Reader that keeps values in memory for its gets. A caller that reads many values with
// an iterator asks it first.
type Keeper interface {
	// Kept returns the value of a key if it is in memory. The value is not borrowed and must not be
	// changed.
	Kept(key []byte) (value []byte, ok bool)
	// Keep offers the pair at an iterator of this reader. With spare, the pair is kept only if
	// there is room, or if it can replace a pair that was not requested again.
	Keep(key, value []byte, spare bool)
}

// Iterator moves over keys in order. The moving methods report whether the iterator is at a key.
// After false, Err returns the error, or nil at the end. An Iterator is not safe for concurrent use
// and must be closed.
type Iterator interface {
	First() bool
	Last() bool
	// SeekGE moves to the first key >= key.
	SeekGE(key []byte) bool
	// SeekLT moves to the last key < key.
	SeekLT(key []byte) bool
	Next() bool
	Prev() bool
	// Key returns the current key, which is valid until the iterator moves.
	Key() []byte
	// Value returns the current value, which is valid until the iterator moves.
	Value() ([]byte, error)
	Err() error
	Close() error
}

// Txn is a transaction. One goroutine uses it and ends it with Commit or Rollback. Rollback after
// Commit does nothing, so that it can be deferred.
type Txn interface {
	// Get and NewIter see the transaction's own writes and, under them, the newest committed state
	// or, in a snapshot transaction, its snapshot. An iterator sees the writes made before it was
	// opened.
	Reader
	// Has reports whether Get would find a value. It is for keys that most likely have no value.
	Has(key []byte) (bool, error)
	// Lock takes the lock of a key, which need not exist. A statement transaction waits for other
	// holders until ctx ends. A snapshot transaction fails with ErrConflict instead of waiting. A
	// key may be locked twice.
	//
	// To prevent deadlocks, a statement transaction locks at most one record key, and then
	// unique-index keys in ascending order. A wait that would close a cycle fails with ErrConflict.
	//
	// A commit with changes counts as a change of every key that it locked. Snapshot transactions
	// see it as a conflict.
	Lock(ctx context.Context, key []byte) error
	// Put sets the value of a key. The caller holds the lock that protects the key. For an index
	// entry, this is the lock of its record.
	Put(key, value []byte) error
	// Delete removes a key. The caller holds the same lock as for Put.
	Delete(key []byte) error
	// PutStamped puts a value under prefix followed by the stamp of the commit, 8 bytes, big
	// endian. It also writes the stamp into the value at the offset at, 8 bytes, little endian, as
	// in BSON timestamps. A negative offset leaves the value unchanged. The stamp is at least
	// least. Several calls in one transaction get consecutive stamps in the order of the calls. The
	// transaction's own reads do not see the values.
	PutStamped(prefix, value []byte, at int, least Stamp) error
	// Stamp returns the last stamp that Commit gave, or 0.
	Stamp() Stamp
	// Add adds to a counter. The transaction's own reads do not see the change before the commit.
	// Only Add changes a counter key, never Put. Delete or DeleteRange removes it when no one adds
	// to it any more.
	Add(key []byte, delta Counter) error
	// Len returns the number of changes of the transaction.
	Len() int
	// Bytes returns the size of the changes in bytes.
	Bytes() int
	// Memory returns approximately how many bytes of memory the transaction takes.
	Memory() int64
	// Commit makes the changes visible and ends the transaction. If it returns an error, nothing
	// was written; only after ErrFailed this is unknown. It returns ErrNoSpace if the disk is full,
	// unless the transaction mostly deletes. It returns ErrLongKeys if there is no memory for long
	// keys.
	Commit(durability Durability) error
	Rollback()
}

// Durability says how durable a commit must be before Commit returns.
type Durability int

const (
	// Buffered commits survive the death of the process, but not a loss of power.
	Buffered Durability = iota
	// Durable commits survive a loss of power.
	Durable
	// Deferred commits survive a loss of power after the next Sync of the engine. Order counts them
	// as safe only then. They are for commands with many commits, which wait for a single fsync at
	// the end.
	Deferred
)

// Stats are counters of an engine. A counter that the engine does not have is zero.
type Stats struct {
	// DataBytes is the approximate memory of the pairs of a store in memory, and 0 for a store on
	// disk.
	DataBytes     int64
	CacheBytes    int64
	CacheBytesMax int64
	// MemtableBytes is the memory of the memtables.
	MemtableBytes int64
	// UnflushedBytes is the size of the writes in the memtables.
	UnflushedBytes int64
	CacheHits      int64
	CacheMisses    int64
	// RecordBytes is the part of CacheBytes in which single values are cached.
	RecordBytes int64
	// RecordHits counts the gets that found a cached single value.
	RecordHits int64
	// RecordMisses counts the gets that did not find their value among the cached single values.
	RecordMisses int64
	Fsyncs       int64
	// WritesStopped is the reason why no writes are taken, such as a full or failed disk. It is ""
	// while writes are taken.
	WritesStopped      string
	Flushes            int64
	FlushTime          time.Duration // total duration of all flushes
	LastFlush          time.Duration
	LastFlushed        time.Time // end of the last flush
	Compactions        int64
	OpenSnapshots      int64
	CommitsDurable     int64
	CommitsBuffered    int64
	Conflicts          int64
	LockWaits          int64
	BytesCompacted     int64
	BytesFlushed       int64
	ReadAmplification  int
	TransactionsActive int64
}
