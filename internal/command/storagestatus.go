package command

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
)

// statusEngine is serverStatus's storageEngine.
func (s *Service) statusEngine(b *bsonx.Builder) {
	b.String("name", storageEngineName)
	b.Bool("supportsCommittedReads", true)
	b.Bool("supportsSnapshotReadConcern", true)
	b.Bool("supportsPendingDrops", false)
	b.Bool("readOnly", false)
	b.Bool("persistent", s.persistent())
}

// persistent reports whether the data has a directory.
func (s *Service) persistent() bool {
	if s.Store == nil {
		return false
	}
	disk, err := s.Store.Engine().Disk()
	return err == nil && disk.Total > 0
}

// statusStorage is what the storage engine tells of itself, in a section of Sheaf's own.
func (s *Service) statusStorage(b *bsonx.Builder) {
	if s.Store == nil {
		return
	}
	st := s.Store.Engine().Stats()
	if st.WritesStopped != "" {
		b.String("writesStopped", st.WritesStopped)
	}
	disk, err := s.Store.Engine().Disk()
	if err != nil {
		return
	}
	for _, part := range []struct {
		name   string
		fields []any
	}{
		{"cache", []any{
			"bytes", st.CacheBytes, "maximumBytes", st.CacheBytesMax, "hits", st.CacheHits, "misses", st.CacheMisses,
			"recordBytes", st.RecordBytes, "recordHits", st.RecordHits, "recordMisses", st.RecordMisses,
		}},
		{"disk", []any{
			"bytes", disk.Total, "tableBytes", disk.Tables, "logBytes", disk.Log, "freeBytes", disk.Free, "otherBytes", disk.Other,
			"memtableBytes", st.MemtableBytes, "unflushedBytes", st.UnflushedBytes, "fsyncs", st.Fsyncs, "flushes", st.Flushes,
			"flushedBytes", st.BytesFlushed, "compactedBytes", st.BytesCompacted, "compactions", st.Compactions,
			"readAmplification", int64(st.ReadAmplification),
		}},
		{"transactions", []any{
			"active", st.TransactionsActive, "committedBuffered", st.CommitsBuffered, "committedDurable", st.CommitsDurable,
			"conflicts", st.Conflicts, "lockWaits", st.LockWaits, "openSnapshots", st.OpenSnapshots,
		}},
	} {
		b.Doc(part.name, bsonx.NewDoc(part.fields...))
	}
}

// countWork adds what a command did to the counters of metrics. Most commands did little of that.
func (c *stats) countWork(d *session.OpDebug) {
	for _, part := range [...]struct {
		to *atomic.Int64
		n  int64
	}{
		{&c.returned, d.NReturned},
		{&c.scannedKeys, d.KeysExamined},
		{&c.scannedDocs, d.DocsExamined},
		{&c.inserted, d.NInserted},
		{&c.deleted, d.NDeleted},
		{&c.updated, d.NModified},
	} {
		if part.n > 0 {
			part.to.Add(part.n)
		}
	}
}

// statusFlushes is serverStatus's backgroundFlushing, where mongostat looks for flushes: of memtables to tables.
func (s *Service) statusFlushes(b *bsonx.Builder) {
	if s.Store == nil {
		return
	}
	st := s.Store.Engine().Stats()
	average := 0.0
	if st.Flushes > 0 {
		average = float64(st.FlushTime.Microseconds()) / 1000 / float64(st.Flushes)
	}
	b.Int64("flushes", st.Flushes)
	b.Int64("total_ms", st.FlushTime.Milliseconds())
	b.Double("average_ms", average)
	b.Int64("last_ms", st.LastFlush.Milliseconds())
	if !st.LastFlushed.IsZero() {
		b.Date("last_finished", st.LastFlushed.UnixMilli())
	}
}

// statusWork appends metrics.document and metrics.queryExecutor.
func (s *Service) statusWork(b *bsonx.Builder) {
	c := &s.stats
	b.Doc("document", bsonx.NewDoc("deleted", c.deleted.Load(), "inserted", c.inserted.Load(), "returned", c.returned.Load(),
		"updated", c.updated.Load()))
	b.Doc("queryExecutor", bsonx.NewDoc("scanned", c.scannedKeys.Load(), "scannedObjects", c.scannedDocs.Load(),
		"collectionScans", s.collectionScans()))
}

// collectionScans adds up how often plans read whole collections, of those that exist.
func (s *Service) collectionScans() bsonx.Doc {
	var total, tailable int64
	if s.Store != nil {
		for _, e := range s.Store.Catalog().All() {
			if c, ok := e.Attached.(*table.Collection); ok {
				n, t := c.Scans().Count()
				total, tailable = total+n, tailable+t
			}
		}
	}
	return bsonx.NewDoc("total", total, "nonTailable", total-tailable)
}
