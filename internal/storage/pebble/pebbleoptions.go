package pebble

import (
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// listener logs the background events that an operator needs to know.
func (e *Engine) listener() *pebble.EventListener {
	log := e.options.Logger
	return &pebble.EventListener{
		// Each memtable has its own log.
		WALCreated: func(pebble.WALCreateInfo) { e.unflushed.rotate() },
		BackgroundError: func(err error) {
			if errors.Is(err, errOpening) {
				return
			}
			e.backgroundErrors.Add(1)
			if isNoSpace(err) {
				e.guard.space.missed()
			}
			log.Error("storage: background work failed, it will be tried again", "error", firstLine(err))
		},
		FlushEnd: func(info pebble.FlushInfo) {
			e.flushes.add(info, e.options.Clock.Now())
			e.longKeys.changed()
			e.guard.flushed(info.Err)
		},
		CompactionEnd: func(pebble.CompactionInfo) { e.longKeys.changed() },
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			log.Error("storage: corrupt data", "file", info.Path, "error", firstLine(info.Details))
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			log.Warn("storage: writers wait for flushes or compactions", "reason", info.Reason)
		},
	}
}

// pebbleOptions returns Pebble's options for an engine.
func (e *Engine) pebbleOptions() *pebble.Options {
	o := e.options
	memtable, _, _ := o.memory()
	if total := e.guard.space.total.Load(); total > 0 {
		// A memtable is in the log, and in a table too before the log is removed. On a small disk
		// both must be small.
		memtable = min(memtable, max(total/64, minMemtable))
	}
	compactAt, stopAt := o.overlaps()
	opts := &pebble.Options{
		FS:                          e.fs,
		FormatMajorVersion:          formatMajorVersion,
		Logger:                      &logger{logger: o.Logger, guard: e.guard},
		Merger:                      counterMerger(),
		Cache:                       e.blocks.cache,
		MemTableSize:                uint64(memtable),
		MemTableStopWritesThreshold: o.memtables(),
		L0CompactionThreshold:       compactAt,
		L0StopWritesThreshold:       stopAt,
		LBaseMaxBytes:               64 << 20,
		CompactionConcurrencyRange:  o.compactions,
		MaxOpenFiles:                o.MaxOpenFiles,
		// The space of a dropped collection is freed soon, even if nothing is written any more.
		FlushDelayDeleteRange: 10 * time.Second,
		// The check compares file sizes in the background and ends the process if one is wrong.
		// Without it, reading such a file reports corruption.
		DisableConsistencyCheck: true,
		EventListener:           e.listener(),
		BlockPropertyCollectors: []func() pebble.BlockPropertyCollector{newIDCollector},
	}
	compression := sstable.SnappyCompression
	if o.NoCompression {
		compression = sstable.NoCompression
	}
	for i := range opts.Levels {
		level := &opts.Levels[i]
		level.BlockSize = dataBlock
		level.IndexBlockSize = indexBlock
		level.FilterPolicy = bloom.FilterPolicy(10)
		level.FilterType = pebble.TableFilter
		level.Compression = func() *sstable.CompressionProfile { return compression }
	}
	for i := range opts.TargetFileSizes {
		opts.TargetFileSizes[i] = min(int64(8<<20)<<i, 32<<20)
	}
	opts.Experimental.SpanPolicyFunc = splitKinds
	// A value block is read after its key, so that a Get could not report that reading the value
	// failed.
	opts.Experimental.EnableValueBlocks = func() bool { return false }
	return opts
}
