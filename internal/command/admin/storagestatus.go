package admin

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
)

// statusEngine appends the section storageEngine of serverStatus.
func (x *statusSample) statusEngine(b *bsonx.Builder) {
	b.String("name", command.StorageEngineName)
	b.Bool("supportsCommittedReads", true)
	b.Bool("supportsSnapshotReadConcern", true)
	b.Bool("supportsPendingDrops", false)
	b.Bool("readOnly", false)
	b.Bool("persistent", x.persistent())
}

// persistent reports whether the data is stored in a directory and not only in memory.
func (x *statusSample) persistent() bool {
	if x.Store == nil {
		return false
	}
	disk, err := x.disk()
	return err == nil && disk.Total > 0
}

// statusStorage appends the section storage, which MongoDB does not have: statistics of the storage
// engine.
func (x *statusSample) statusStorage(b *bsonx.Builder) {
	if x.Store == nil {
		return
	}
	st := x.engine()
	if st.WritesStopped != "" {
		b.String("writesStopped", st.WritesStopped)
	}
	disk, err := x.disk()
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
			"bytes", disk.Total, "tableBytes", disk.Tables, "logBytes", disk.Log, "freeBytes",
			disk.Free, "otherBytes", disk.Other,
			"memtableBytes", st.MemtableBytes, "unflushedBytes", st.UnflushedBytes, "fsyncs",
			st.Fsyncs, "flushes", st.Flushes,
			"flushedBytes", st.BytesFlushed, "compactedBytes", st.BytesCompacted, "compactions", st.Compactions,
			"readAmplification", int64(st.ReadAmplification),
		}},
		{"transactions", []any{
			"active", st.TransactionsActive, "committedBuffered", st.CommitsBuffered,
			"committedDurable", st.CommitsDurable,
			"conflicts", st.Conflicts, "lockWaits", st.LockWaits, "openSnapshots", st.OpenSnapshots,
		}},
	} {
		b.Doc(part.name, bsonx.NewDoc(part.fields...))
	}
}

// statusWiredTiger appends the section wiredTiger of serverStatus, from which mongostat reads how
// full the cache is. It has only the fields that Sheaf can measure. Dirty bytes are data in
// memtables that is not flushed yet.
func (x *statusSample) statusWiredTiger(b *bsonx.Builder) {
	if x.Store == nil {
		return
	}
	st := x.engine()
	b.Doc("cache", bsonx.NewDoc(
		"bytes currently in the cache", st.CacheBytes+st.MemtableBytes,
		"maximum bytes configured", st.CacheBytesMax,
		"tracked dirty bytes in the cache", st.UnflushedBytes,
	))
}

// statusFlushes appends the section backgroundFlushing of serverStatus, from which mongostat reads
// flushes. Here these are flushes of memtables to tables.
func (x *statusSample) statusFlushes(b *bsonx.Builder) {
	if x.Store == nil {
		return
	}
	st := x.engine()
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

// statusWork appends the fields document, operation and queryExecutor of metrics.
func (x *statusSample) statusWork(b *bsonx.Builder) {
	c := &x.Stats
	var scans, tailable int64
	if x.Store != nil {
		scans, tailable = x.Store.Scans().Count()
	}
	b.Doc("document", bsonx.NewDoc("deleted", c.Deleted.Load(), "inserted",
		c.Inserted.Load()+c.Inserts.Documents.Load(),
		"returned", c.Returned.Load(), "updated", c.Updated.Load()+c.Updates.Documents.Load()))
	b.Doc("operation", bsonx.NewDoc("killedDueToClientDisconnect", c.Ended.Disconnected.Load(),
		"killedDueToDefaultMaxTimeMSExpired", c.Ended.DefaultTimeLimit.Load(),
		"killedDueToMaxTimeMSExpired", c.Ended.TimeLimit.Load(),
		"scanAndOrder", c.Sorted.Load(), "writeConflicts", c.Conflicts.Load()))
	b.Doc("queryExecutor", bsonx.NewDoc("scanned", c.ScannedKeys.Load(), "scannedObjects",
		c.ScannedDocs.Load(), "collectionScans",
		bsonx.NewDoc("total", scans, "nonTailable", scans-tailable)))
}
