package command

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
)

// stats holds the counters of serverStatus.
type stats struct {
	Calls           callPool
	UnknownCommands atomic.Int64
	Legacy          [len(LegacyOps)]atomic.Int64
	UserErrors      atomic.Int64
	Ended           endedCounts

	// InternalErrors counts errors that are a fault of the server, and Panics its panics.
	InternalErrors, Panics atomic.Int64
	ReadConcerns           readConcernCounts
	Tallies                [tallies]Tally
	Transactions           table.Latencies // durations of whole transactions
	Codecs                 [wire.Compressors]codecCounts
	// SessionRecords counts the records of retryable writes that were written.
	SessionRecords    atomic.Int64
	RetriedCommands   atomic.Int64
	RetriedStatements atomic.Int64

	// The numbers of documents and index keys that commands processed.
	Returned, Inserted, Updated, Deleted, ScannedKeys, ScannedDocs atomic.Int64
	// The writes of $merge, $out and mapReduce.
	Inserts, Updates pipelineWrites
	// The counters of metrics.operation for in-memory sorts and write conflicts. Ended has the
	// other counters of metrics.operation.
	Sorted, Conflicts atomic.Int64

	ConnsCurrent  atomic.Int64
	ConnsTotal    atomic.Int64
	ConnsRejected atomic.Int64
	ConnsMax      atomic.Int64
}

// pipelineWrites counts the writes of pipelines, which are not commands. opcounters includes
// Statements, and metrics.document includes Documents.
type pipelineWrites struct{ Statements, Documents atomic.Int64 }

func (c *pipelineWrites) Count(statements, documents int64) {
	c.Statements.Add(statements)
	c.Documents.Add(documents)
}

// tallies is the number of tallies of a server.
const tallies = 16

// Tally holds the counters that every command changes. Connections are spread over several tallies,
// because one counter that all processors write would move between their caches at each command.
// The value of a counter is its sum over all tallies.
type Tally struct {
	Requests, BytesIn, BytesOut atomic.Int64
	Opcounters                  [counters]atomic.Int64
	Runs                        []atomic.Int64 // runs of each command, by Entry.Index
	Latencies                   table.Latencies
	_                           [64]byte // padding: two tallies never share a cache line
}

func (c *stats) initTallies(commands int) {
	for i := range c.Tallies {
		c.Tallies[i].Runs = make([]atomic.Int64, commands)
	}
}

// Sum returns a counter's sum over all tallies.
func (c *stats) Sum(counter func(*Tally) *atomic.Int64) (n int64) {
	for i := range c.Tallies {
		n += counter(&c.Tallies[i]).Load()
	}
	return n
}

// codecCounts counts the bytes of messages before and after compression, and before and after
// decompression, for one compressor.
type codecCounts struct {
	Compressed, Decompressed struct{ In, Out atomic.Int64 }
}

func (c *stats) CountCompression(id wire.Compressor, plain, packed int) {
	n := &c.Codecs[id].Compressed
	n.In.Add(int64(plain))
	n.Out.Add(int64(packed))
}

// Packed returns the bytes that compression saved on incoming and on outgoing messages.
func (c *stats) Packed() (in, out int64) {
	for i := range c.Codecs {
		n := &c.Codecs[i]
		in += n.Decompressed.Out.Load() - n.Decompressed.In.Load()
		out += n.Compressed.In.Load() - n.Compressed.Out.Load()
	}
	return in, out
}

// StatusSection is a part of serverStatus that another layer contributes.
type StatusSection struct {
	Name string
	// Append appends the fields of the section to b, in which the section's document is open.
	Append func(b *bsonx.Builder)
}

// endedCounts counts the commands that were ended early, by cause.
type endedCounts struct{ Disconnected, TimeLimit, DefaultTimeLimit atomic.Int64 }

// CountWork adds the work of one command to the counters of metrics. It skips zeros, because most
// commands change few counters.
func (c *stats) CountWork(d *session.OpDebug) {
	for _, part := range [...]struct {
		to *atomic.Int64
		n  int64
	}{
		{&c.Returned, d.NReturned},
		{&c.ScannedKeys, d.KeysExamined},
		{&c.ScannedDocs, d.DocsExamined},
		{&c.Inserted, d.NInserted},
		{&c.Deleted, d.NDeleted},
		{&c.Updated, d.NMatched}, // includes documents that the update left unchanged
		{&c.Conflicts, d.WriteConflicts},
	} {
		if part.n > 0 {
			part.to.Add(part.n)
		}
	}
	if d.HasSortStage {
		c.Sorted.Add(1)
	}
}

// LegacyOps are the operation codes that serverStatus counts in opcounters.deprecated, in the order
// of its fields.
var LegacyOps = [...]struct {
	op   wire.OpCode
	Name string
}{
	{wire.OpInsert, "insert"},
	{wire.OpQuery, "query"},
	{wire.OpUpdate, "update"},
	{wire.OpDelete, "delete"},
	{wire.OpGetMore, "getmore"},
	{wire.OpKillCursors, "killcursors"},
}
