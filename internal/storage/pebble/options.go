package pebble

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// DefaultMemoryBudget is what an embedded store takes.
	DefaultMemoryBudget = 64 << 20
	// minMemoryBudget is the least that Pebble works well with.
	minMemoryBudget = 8 << 20
	// DefaultReserve is the free space below which commits are refused. On a small disk it is less; see newGuard.
	DefaultReserve = 64 << 20
	// defaultStall is how long a write of the WAL waits on a disk that is full to the last byte.
	defaultStall = 30 * time.Second
	// defaultCloseGrace is how long Close waits for iterators and borrowed values.
	defaultCloseGrace = 5 * time.Second
)

// formatMajorVersion is the newest format of Pebble whose WAL does not claim what was synced: from FormatWALSyncChunks on
// each WAL chunk says up to which offset the log is durable, which is not true where the fsync is left out.
const formatMajorVersion = pebble.FormatColumnarBlocks

// Options configure an engine. The zero value is ready for use.
type Options struct {
	// MemoryBudget bounds the block cache and the memtables together, in bytes.
	MemoryBudget int64
	// Keep tells of a key whether its value stays in memory, ready to be lent, once Get has read it: a quarter of the budget is
	// for them. It is not for counters. Nil keeps none.
	Keep func(key []byte) bool
	// Logger gets what happens in the background. Nil discards it.
	Logger *slog.Logger
	// NoCompression stores blocks as they are.
	NoCompression bool
	// Reserve is the free space in bytes below which commits are refused with storage.ErrNoSpace; negative for none.
	Reserve int64
	// FS is the file system, the operating system's by default. Others are for tests and for stores in memory.
	FS vfs.FS

	// stall and closeGrace replace the defaults in tests.
	stall      time.Duration
	closeGrace time.Duration
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
	if o.Reserve == 0 {
		o.Reserve = DefaultReserve
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.stall == 0 {
		o.stall = defaultStall
	}
	if o.closeGrace == 0 {
		o.closeGrace = defaultCloseGrace
	}
	return o
}

// memory divides the budget: an eighth for each of the two memtables that are usual under load, a quarter for single
// values where some are kept, the rest for blocks.
func (o Options) memory() (memtable, records, blocks int64) {
	memtable = min(max(o.MemoryBudget/8, 1<<20), 64<<20)
	if o.Keep != nil {
		records = o.MemoryBudget / 4
	}
	return memtable, records, o.MemoryBudget - 2*memtable - records
}

// pebbleOptions returns Pebble's options for an engine.
func (e *Engine) pebbleOptions() *pebble.Options {
	o := e.options
	memtable, _, cacheSize := o.memory()
	opts := &pebble.Options{
		FS:                 e.fs,
		FormatMajorVersion: formatMajorVersion,
		Logger:             &logger{logger: o.Logger, guard: e.guard},
		Merger:             counterMerger(),
		CacheSize:          cacheSize,
		MemTableSize:       uint64(memtable),
		// Writers are slowed down by waiting for a flush, not by the number of memtables.
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       4,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		// One compaction at most times; two where they fall behind and there is a processor for it.
		CompactionConcurrencyRange: func() (int, int) { return 1, min(2, runtime.GOMAXPROCS(0)) },
		MaxOpenFiles:               1000,
		// A dropped collection's space comes back soon, even if nothing is written any more.
		FlushDelayDeleteRange: 10 * time.Second,
		// The check compares file sizes in the background and ends the process where one is wrong. Reading such a file
		// reports it as corrupt.
		DisableConsistencyCheck: true,
		EventListener:           e.listener(),
	}
	compression := sstable.SnappyCompression
	if o.NoCompression {
		compression = sstable.NoCompression
	}
	for i := range opts.Levels {
		level := &opts.Levels[i]
		level.BlockSize = 8 << 10
		level.FilterPolicy = bloom.FilterPolicy(10)
		level.FilterType = pebble.TableFilter
		level.Compression = func() *sstable.CompressionProfile { return compression }
	}
	for i := range opts.TargetFileSizes {
		opts.TargetFileSizes[i] = min(int64(8<<20)<<i, 32<<20)
	}
	// A value block is read after its key; a Get would not tell that reading it failed.
	opts.Experimental.EnableValueBlocks = func() bool { return false }
	return opts
}
