package pebble

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// DefaultMemoryBudget is what an embedded store takes.
	DefaultMemoryBudget = 64 << 20
	// minMemoryBudget is the least that Pebble works well with.
	minMemoryBudget = 8 << 20
	// minMemtable is the smallest memtable, on small disks.
	minMemtable = 256 << 10
	// defaultOpenFiles is how many tables are kept open.
	defaultOpenFiles = 1000
	// DefaultReserve is the free space below which commits are refused, at least: see
	// Options.reserve.
	DefaultReserve = 64 << 20
	// defaultCloseGrace is how long Close waits for iterators and borrowed values.
	defaultCloseGrace = 5 * time.Second
)

const (
	// dataBlock is the size of blocks of data before compression. Gets and scans of 200 MB of
	// records of 1 KB, with the default budget (CPU a get, CPU a row; gets of blocks in memory
	// differ by a tenth): 4 KiB 8.9 and 1.42 µs, 135 MB on disk; 6 KiB 9.8 and 1.20 µs, 127 MB; 8
	// KiB 11.9 and 1.17 µs, 121 MB; 16 KiB 18.4 and 1.07 µs, 111 MB. Without compression 8 KiB are
	// 7.6 and 0.60 µs, but 199 MB; zstd is 17.1 and 1.63 µs, 83 MB.
	dataBlock = 6 << 10
	// indexBlock is the size of index blocks, with a second level above where a table needs more
	// than one. One index of 100 KB for each table saves 3 % of a get while all are in memory (2.17
	// to 2.10 µs), and doubles it (16 to 35 µs) where the store is a hundred times as large as the
	// cache, since each get reads one.
	indexBlock = 8 << 10
)

// formatMajorVersion is the newest format of Pebble whose WAL does not claim what was synced: from
// FormatWALSyncChunks on each WAL chunk says up to which offset the log is durable, which is not
// true where the fsync is left out.
const formatMajorVersion = pebble.FormatColumnarBlocks

// Options configure an engine. The zero value is ready for use.
type Options struct {
	// MemoryBudget bounds the block cache and the memtables together, in bytes.
	MemoryBudget int64
	// SpareMemory is what the caches may take beside it, in bytes, until Yield asks for it.
	SpareMemory int64
	// Keep tells of a key whether its value stays in memory, ready to be lent, once Get has read
	// it: a quarter of the memory is for them. It is not for counters. Nil keeps none.
	Keep func(key []byte) bool
	// Frugal says that what a store with a small budget takes beside it counts, too: in a process
	// with a limit.
	Frugal bool
	// MaxOpenFiles is how many tables are kept open, 1,000 if zero.
	MaxOpenFiles int
	// Logger gets what happens in the background. Nil discards it.
	Logger *slog.Logger
	// NoCompression stores blocks as they are.
	NoCompression bool
	// Reserve is the free space in bytes below which commits are refused with storage.ErrNoSpace;
	// negative for none. By default it is DefaultReserve, or more where the memtables together take
	// more.
	Reserve int64
	// Salvage opens a store with a damaged log up to the damage, instead of refusing it. What is
	// cut is kept beside, and the Logger says what it was.
	Salvage bool
	// FS is the file system, the operating system's by default. Others are for tests and for stores
	// in memory.
	FS vfs.FS

	// stall bounds, in tests, how long a write of the WAL waits for space.
	stall time.Duration
	// These replace the defaults in tests.
	closeGrace time.Duration
	anchorAge  time.Duration
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.MemoryBudget == 0 {
		o.MemoryBudget = DefaultMemoryBudget
	}
	o.MemoryBudget = max(o.MemoryBudget, minMemoryBudget)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxOpenFiles == 0 {
		o.MaxOpenFiles = defaultOpenFiles
	}
	if o.FS == nil {
		o.FS = privateFS{vfs.Default}
	}
	if o.closeGrace == 0 {
		o.closeGrace = defaultCloseGrace
	}
	if o.anchorAge == 0 {
		o.anchorAge = defaultAnchorAge
	}
	return o
}

// memory divides the budget and the spare memory: a quarter for single values where some are kept,
// the rest for blocks and memtables. A memtable is an eighth of the budget. Pebble takes what its
// memtables hold from the block cache, whose size therefore has it.
func (o Options) memory() (memtable, records, blocks int64) {
	memtable = min(max(o.MemoryBudget/8, 1<<20), 64<<20)
	caches := o.MemoryBudget + o.SpareMemory
	if o.Keep != nil {
		records = caches / 4
	}
	return memtable, records, caches - records
}

// reserve returns the free space below which commits are refused. All memtables must fit: a store
// that is opened on the full disk writes them to tables first, while their logs are still there. On
// a small disk it is less; see space.check.
func (o Options) reserve() int64 {
	if o.Reserve != 0 {
		return o.Reserve
	}
	memtable, _, _ := o.memory()
	return max(DefaultReserve, int64(o.memtables())*memtable)
}

// smallBudget is up to which budget a store takes care that little is in memory beside it.
const smallBudget = 128 << 20

func (o Options) isSmall() bool { return o.Frugal && o.MemoryBudget <= smallBudget }

// overlaps returns how many overlapping runs of tables start a compaction, and stop writers. An
// iterator holds a block of each: of documents of 1 MB, 16 scans over 20 runs hold 320 MB.
func (o Options) overlaps() (compact, stop int) {
	if o.isSmall() {
		return 2, 8
	}
	return 4, 24
}

// memtables returns how many memtables there may be before writers wait for a flush. Writers are
// slowed down by that wait, not by the number of memtables. A document of 16 MB is a memtable of
// its own.
func (o Options) memtables() int {
	if o.isSmall() {
		return 2
	}
	return 4
}

// compactions returns how many compactions run: one at most times; two where they fall behind and
// there is a processor for it. One that meets documents of 16 MB takes 100 MB.
func (o Options) compactions() (lower, upper int) {
	if o.isSmall() {
		return 1, 1
	}
	return 1, min(2, runtime.GOMAXPROCS(0))
}

// splitKinds ends a table where the first byte of the keys changes: above, it tells what kind a key
// is of. A flush has some of each kind. If they lay in one table, the tables of two flushes would
// overlap even where records are added in the order of their keys, and compactions would merge
// them, and what lies between, again and again. 400,000 inserts of 1 KB in that order with a unique
// index on a scattered field: 4.0 bytes written to tables for each byte of the log became 2.5, 46
// µs of CPU an insert became 26 µs; without the index 2.1 became 2.0, and 15 µs became 11 µs.
func splitKinds(start []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	if len(start) == 0 || start[0] == 0xFF {
		return pebble.SpanPolicy{}, nil, nil
	}
	return pebble.SpanPolicy{}, []byte{start[0] + 1}, nil
}

// defaultAnchorAge is how long an anchor lives, and so for how long at most it keeps old versions
// from compaction.
const defaultAnchorAge = time.Second
