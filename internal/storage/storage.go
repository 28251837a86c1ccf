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
	// ErrConflict means that another transaction changed or holds a key that a snapshot transaction
	// wants.
	ErrConflict = errors.New("storage: write conflict")
	// ErrLocked means that the directory is open already, here or in another process; the message
	// says which.
	ErrLocked = errors.New("storage: directory is in use")
	// ErrEnded means that a transaction was used after its Commit or Rollback.
	ErrEnded = errors.New("storage: transaction has ended")
	// ErrScratch means that a transaction was committed that is for reading only.
	ErrScratch = errors.New("storage: a scratch transaction cannot be committed")
	// ErrUnsorted means that pairs given to Ingest were not in ascending order of distinct keys.
	ErrUnsorted = errors.New("storage: ingested keys are not in ascending order")
	// ErrFailed means that a write to the disk failed: the engine takes no more writes until it is
	// opened again. Reads go on. Whether a commit that returns it happened is known after that.
	ErrFailed = errors.New("storage: writing failed, the store is read-only until it is opened again")
	// ErrClosed means that the engine was closed.
	ErrClosed = errors.New("storage: closed")
	// ErrFormat means that the files have a format version that this program does not know.
	ErrFormat = errors.New("storage: unknown format version")
	// ErrNoSpace means that the disk is full: the write was refused, reads go on.
	ErrNoSpace = errors.New("storage: no space left on device")
	// ErrLongKeys means that a write has very long keys, for which there is no memory.
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
	// NewSnapshot returns a view of the newest committed state. It must be closed soon: it holds
	// back compaction.
	NewSnapshot() Snapshot
	// Begin starts a statement transaction.
	Begin() Txn
	// BeginSnapshot starts a snapshot transaction.
	BeginSnapshot() Txn
	// Scratch starts a transaction over a snapshot, which must stay open until it ends, for changes
	// that are for its own reads only: Lock takes no locks, and Commit fails with ErrScratch.
	Scratch(over Snapshot) Txn
	// Counter returns the current sums of a counter key, from memory; zeros where it was never
	// added to. In the ordered map the key has the value that Counter.Append writes.
	Counter(key []byte) (Counter, error)
	// DeleteRange removes all keys in [start, end) durably and soon; it is for data that no one
	// reads any more, such as a dropped collection. It takes no locks.
	DeleteRange(start, end []byte) error
	// Ingest writes sorted, new key-value pairs of a range that no one else writes, faster than
	// transactions do (index builds). The pairs become visible at once and durable. next returns
	// io.EOF at the end.
	Ingest(ctx context.Context, next func() (key, value []byte, err error)) error
	// Order tells which stamps were given and are visible. It forgets them when the engine is
	// closed: who reads stamped keys after opening advances it beyond them.
	Order() *Order
	// Checkpoint makes everything committed durable. dir, where not empty, names a new directory
	// for a consistent copy of the store.
	Checkpoint(dir string) error
	// Sync waits until the Deferred commits that returned before are durable.
	Sync() error
	// Durable returns the stamp up to which every commit was synced: a loss of power takes none of
	// them.
	Durable() Stamp
	// DiskUsage measures the space of the keys in [start, end). It is cheap.
	DiskUsage(start, end []byte) (Usage, error)
	// Contents counts what [start, end) holds, garbage included. It is not cheap.
	Contents(start, end []byte) (Contents, error)
	// Disk measures the space of the whole store; zeros for one that has no directory.
	Disk() (Disk, error)
	// Yield makes the caches leave n bytes of the spare memory that they were given to others,
	// until the next call.
	Yield(n int64)
	// Stats describes the engine for serverStatus.
	Stats() Stats
	// Close makes everything durable and ends the engine. It waits for the calls in progress, the
	// open iterators and the borrowed values; what is used after it answers ErrClosed. Snapshots
	// and transactions should have ended.
	Close() error
}

// Reader reads from one state of the store.
type Reader interface {
	// Get returns ErrNotFound where the key has no value.
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

// Keeper is a Reader that keeps values in memory for its gets. Who reads many values by an iterator
// asks it first.
type Keeper interface {
	// Kept returns the value of a key if it is in memory. It is borrowed from no one, and must not
	// be changed.
	Kept(key []byte) (value []byte, ok bool)
	// Keep offers a pair that an iterator of this reader is at. With spare it is kept only where
	// there is room, or in the place of what was not asked for again.
	Keep(key, value []byte, spare bool)
}

// Iterator moves over keys in order. The moving methods report whether the iterator is at a key;
// after false, Err tells an error from the end. It is not safe for concurrent use and must be
// closed.
type Iterator interface {
	First() bool
	Last() bool
	// SeekGE moves to the first key >= key.
	SeekGE(key []byte) bool
	// SeekLT moves to the last key < key.
	SeekLT(key []byte) bool
	Next() bool
	Prev() bool
	// Key and Value borrow memory until the next move.
	Key() []byte
	Value() ([]byte, error)
	// SetBounds replaces the bounds and unpositions the iterator.
	SetBounds(lower, upper []byte)
	Err() error
	Close() error
}

// Txn is a transaction. It is used by one goroutine and ends with Commit or Rollback; Rollback
// after Commit does nothing, so that it can be deferred.
type Txn interface {
	// Get and NewIter see the transaction's own writes; in a statement transaction over the newest
	// committed state, in a snapshot transaction over its snapshot. An iterator sees the writes
	// made before it was opened.
	Reader
	// Has reports whether Get would find a value. It is for keys that most likely have none.
	Has(key []byte) (bool, error)
	// Lock takes the lock of a key (which need not exist). A statement transaction waits for other
	// holders until ctx ends; a snapshot transaction fails with ErrConflict. Locking a key twice is
	// allowed. To exclude deadlock, a statement transaction locks at most one record key, and then
	// unique-index keys in ascending order; a wait that would close a cycle fails with ErrConflict.
	// A commit that changes something counts, for snapshot transactions, as a change of every key
	// that it locked.
	Lock(ctx context.Context, key []byte) error
	// Put and Delete change a key. The caller holds the lock that protects it: the key's own or,
	// for the index entries of a record, the record's.
	Put(key, value []byte) error
	Delete(key []byte) error
	// PutStamped puts a value under prefix and the commit's stamp, 8 bytes, big endian, and writes
	// the stamp into the value at the offset at, 8 bytes, little endian, as BSON has timestamps; a
	// negative offset leaves the value. The stamp is not below least. Several in one transaction
	// have consecutive stamps in the order of the calls. The transaction's own reads do not see
	// them.
	PutStamped(prefix, value []byte, at int, least Stamp) error
	// Stamp returns the last stamp that Commit gave, 0 for none.
	Stamp() Stamp
	// Add adds to a counter. The transaction's own reads do not see it before the commit. A counter
	// key is changed by Add, and removed by Delete or DeleteRange when no one adds to it any more;
	// never by Put.
	Add(key []byte, delta Counter) error
	// Len returns how many changes there are, Bytes how large they are.
	Len() int
	Bytes() int
	// Memory returns about how many bytes of memory the transaction takes.
	Memory() int64
	// Commit makes the changes visible and ends the transaction. On an error nothing was written,
	// except that ErrFailed leaves it open. ErrNoSpace refuses what would grow the store; a
	// transaction that mostly deletes may pass. ErrLongKeys refuses one that puts long keys.
	Commit(durability Durability) error
	Rollback()
}

// Durability is what a commit waits for.
type Durability int

const (
	// Buffered commits survive the death of the process.
	Buffered Durability = iota
	// Durable commits survive the loss of power.
	Durable
	// Deferred commits survive the loss of power after the next Sync of the engine; Order counts
	// them as safe then. They are for commands of many commits, which wait for one fsync at their
	// end.
	Deferred
)

// Stats are counters of an engine; zero where it has none.
type Stats struct {
	// DataBytes is the memory that the pairs of a store in memory take, about; 0 for a store on the
	// disk.
	DataBytes     int64
	CacheBytes    int64
	CacheBytesMax int64
	// MemtableBytes is the memory of the memtables, UnflushedBytes what was put into them.
	MemtableBytes  int64
	UnflushedBytes int64
	CacheHits      int64
	CacheMisses    int64
	// RecordBytes are the part of CacheBytes that are single values; RecordHits and RecordMisses
	// count the gets for them.
	RecordBytes  int64
	RecordHits   int64
	RecordMisses int64
	Fsyncs       int64
	// WritesStopped says why no writes are taken: a full disk, or one that failed. It is "" where
	// they are.
	WritesStopped      string
	Flushes            int64
	FlushTime          time.Duration // of all of them
	LastFlush          time.Duration
	LastFlushed        time.Time // when the last one ended
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
