package pebble

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/sheafdb/sheaf/internal/clock"
)

const (
	// DefaultMemoryBudget is the memory of an embedded store.
	DefaultMemoryBudget = 64 << 20
	// minMemoryBudget is the smallest budget with which Pebble works well.
	minMemoryBudget = 8 << 20
	// minMemtable is the smallest memtable, on small disks.
	minMemtable = 256 << 10
	// defaultOpenFiles is the number of tables that are kept open.
	defaultOpenFiles = 1000
	// DefaultReserve is the minimum of free space below which commits are refused: see
	// Options.reserve.
	DefaultReserve = 64 << 20
	// defaultCloseGrace is how long Close waits for iterators and borrowed values.
	defaultCloseGrace = 5 * time.Second
)

const (
	// dataBlock is the size of data blocks before compression. Measured with gets and scans of 200
	// MB of records of 1 KB and the default budget, as CPU per get, CPU per row, and size on disk:
	//
	//   - 4 KiB: 8.9 µs, 1.42 µs, 135 MB
	//   - 6 KiB: 9.8 µs, 1.20 µs, 127 MB
	//   - 8 KiB: 11.9 µs, 1.17 µs, 121 MB
	//   - 16 KiB: 18.4 µs, 1.07 µs, 111 MB
	//   - 8 KiB without compression: 7.6 µs, 0.60 µs, 199 MB
	//   - 8 KiB with zstd: 17.1 µs, 1.63 µs, 83 MB
	//
	// Gets of blocks that are in memory differ by only a tenth.
	dataBlock = 6 << 10
	// indexBlock is the size of index blocks. A table that needs more than one has a second level
	// above them. One index of 100 KB for each table would save 3 % of a get while all indexes are
	// in memory (2.17 to 2.10 µs). It would double the time of a get if the store is a hundred
	// times larger than the cache (16 to 35 µs), because each get reads one index.
	indexBlock = 8 << 10
)

// formatMajorVersion is the newest format of Pebble whose WAL does not say which part of it is
// synced. From FormatWALSyncChunks on each WAL chunk says up to which offset the log is durable.
// That would be false when the fsync is omitted.
const formatMajorVersion = pebble.FormatColumnarBlocks

// Options configure an engine. The zero value is ready to use.
type Options struct {
	// MemoryBudget limits the block cache and the memtables together, in bytes.
	MemoryBudget int64
	// SpareMemory is the number of bytes that the caches may take above the budget until Yield asks
	// for them.
	SpareMemory int64
	// Keep reports whether the value of a key stays in memory after Get has read it. A quarter of
	// the memory is used for such values. Keep must return false for counters. A nil Keep keeps no
	// values.
	Keep func(key []byte) bool
	// Frugal means that memory outside the budget counts, too, because the process has a memory
	// limit. It matters for stores with a small budget.
	Frugal bool
	// MaxOpenFiles is the number of tables that are kept open. Zero means 1,000.
	MaxOpenFiles int
	// Logger receives messages about background work. Nil discards them.
	Logger *slog.Logger
	// Clock is the clock of the engine's timers, by default the computer's. Retries after an error
	// of the disk and waits for another goroutine go by the computer's time nevertheless.
	Clock clock.Clock
	// NoCompression stores blocks without compression.
	NoCompression bool
	// Reserve is the free space in bytes below which commits are refused with storage.ErrNoSpace. A
	// negative Reserve turns this off. The default is DefaultReserve, or more if the memtables
	// together take more.
	Reserve int64
	// Salvage opens a store whose log is damaged. The store keeps the commits before the damage.
	// The rest of the log is moved to other files, and the Logger reports it. Without Salvage, Open
	// returns an error for such a store.
	Salvage bool
	// FS is the file system, by default the operating system's. Other file systems are for tests
	// and for stores in memory.
	FS vfs.FS

	// stall limits, in tests, how long a write of the WAL waits for space.
	stall time.Duration
	// closeGrace replaces the default in tests.
	closeGrace time.Duration
}

// withDefaults fills in defaults for unset options.
func (o Options) withDefaults() Options {
	if o.MemoryBudget == 0 {
		o.MemoryBudget = DefaultMemoryBudget
	}
	o.MemoryBudget = max(o.MemoryBudget, minMemoryBudget)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Clock = clock.OrSystem(o.Clock)
	if o.MaxOpenFiles == 0 {
		o.MaxOpenFiles = defaultOpenFiles
	}
	if o.FS == nil {
		o.FS = privateFS{vfs.Default}
	}
	if o.closeGrace == 0 {
		o.closeGrace = defaultCloseGrace
	}
	return o
}

// memory divides the budget and the spare memory: a quarter is for single values if Keep is set,
// the rest for blocks and memtables. A memtable is an eighth of the budget, but at least 1 MiB and
// at most 64 MiB. Pebble takes the memory of its memtables from the block cache, so the size of the
// block cache includes them.
func (o Options) memory() (memtable, records, blocks int64) {
	memtable = min(max(o.MemoryBudget/8, 1<<20), 64<<20)
	caches := o.MemoryBudget + o.SpareMemory
	if o.Keep != nil {
		records = caches / 4
	}
	return memtable, records, caches - records
}

// reserve returns the free space below which commits are refused. All memtables must fit into it: a
// store that is opened on a full disk first writes them to tables, while their logs still exist. On
// a small disk the reserve is smaller; see space.check.
func (o Options) reserve() int64 {
	if o.Reserve != 0 {
		return o.Reserve
	}
	memtable, _, _ := o.memory()
	return max(DefaultReserve, int64(o.memtables())*memtable)
}

// smallBudget is the largest budget of a store that limits its memory outside the budget.
const smallBudget = 128 << 20

func (o Options) isSmall() bool { return o.Frugal && o.MemoryBudget <= smallBudget }

// overlaps returns how many overlapping runs of tables start a compaction, and how many stop
// writers. An iterator holds a block of each run: with documents of 1 MB, 16 scans over 20 runs
// hold 320 MB.
func (o Options) overlaps() (compact, stop int) {
	if o.isSmall() {
		return 2, 8
	}
	return 4, 24
}

// memtables returns how many memtables may exist before writers wait for a flush. A document of 16
// MB is a memtable of its own, so a small store has fewer.
func (o Options) memtables() int {
	if o.isSmall() {
		return 2
	}
	return 4
}

// compactions returns the least and the greatest number of concurrent compactions. The least number
// is one. The greatest number is two if the process may use two processors: Pebble runs the second
// compaction if compactions fall behind. A small store runs at most one compaction at a time,
// because a compaction of documents of 16 MB takes 100 MB of memory.
func (o Options) compactions() (lower, upper int) {
	if o.isSmall() {
		return 1, 1
	}
	return 1, min(2, runtime.GOMAXPROCS(0))
}

// splitKinds ends a table where the first byte of the keys changes, because the layers above use it
// for the kind of a key. A flush has keys of all kinds. If they were in one table, the tables of
// two flushes would overlap even if records are added in key order, and compactions would merge
// them again and again.
//
// Measured with 400,000 inserts of 1 KB in key order with a unique index on a scattered field:
// bytes written to tables per byte of the log fell from 4.0 to 2.5, and CPU per insert from 46 to
// 26 µs. Without the index they fell from 2.1 to 2.0, and from 15 to 11 µs.
func splitKinds(start []byte) (policy pebble.SpanPolicy, end []byte, err error) {
	if len(start) == 0 || start[0] == 0xFF {
		return pebble.SpanPolicy{}, nil, nil
	}
	return pebble.SpanPolicy{}, []byte{start[0] + 1}, nil
}
