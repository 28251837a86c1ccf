package pebble

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/sheafdb/sheaf/internal/storage"
)

// flushes counts the flushes of memtables.
type flushes struct {
	mu          sync.Mutex
	count       int64
	total, last time.Duration
	ended       time.Time
}

// add counts a flush that ended now.
func (f *flushes) add(info pebble.FlushInfo, now time.Time) {
	if info.Err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.total += info.TotalDuration
	f.last, f.ended = info.TotalDuration, now
}

func (f *flushes) fill(s *storage.Stats) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Flushes, s.FlushTime, s.LastFlush, s.LastFlushed = f.count, f.total, f.last, f.ended
}

// Stats implements storage.Engine.
func (e *Engine) Stats() storage.Stats {
	recordsMax, blocksMax := e.caches()
	recordBytes, recordHits, recordMisses := e.records.usage()
	s := storage.Stats{
		CacheBytesMax:      recordsMax + blocksMax,
		RecordBytes:        recordBytes,
		RecordHits:         recordHits,
		RecordMisses:       recordMisses,
		Fsyncs:             e.guard.fsyncs.Load(),
		WritesStopped:      e.guard.stopped(),
		OpenSnapshots:      e.snapshots.Load(),
		CommitsDurable:     e.commitsDurable.Load(),
		CommitsBuffered:    e.commitsBuffered.Load(),
		Conflicts:          e.conflicts.Load(),
		LockWaits:          e.locks.Waits(),
		TransactionsActive: e.txns.Load(),
	}
	p, ok := e.pins.acquire()
	if !ok {
		return s
	}
	defer e.pins.release(p)
	m := e.db.Metrics()
	e.unflushed.keep(int(m.MemTable.Count))
	s.UnflushedBytes, _ = e.unflushed.usage(nil, nil)
	s.CacheBytes = m.BlockCache.Size + recordBytes
	s.MemtableBytes = int64(m.MemTable.Size)
	s.CacheHits, s.CacheMisses = m.BlockCache.Hits, m.BlockCache.Misses
	e.flushes.fill(&s)
	s.Compactions = m.Compact.Count
	s.ReadAmplification = m.ReadAmp()
	for i := range m.Levels {
		level := &m.Levels[i]
		s.BytesCompacted += int64(level.TableBytesCompacted)
		s.BytesFlushed += int64(level.TableBytesFlushed)
	}
	return s
}
