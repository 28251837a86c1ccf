package command

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
)

// stats are the counters of serverStatus.
type stats struct {
	Calls           callPool
	UnknownCommands atomic.Int64
	Legacy          [len(LegacyOps)]atomic.Int64
	UserErrors      atomic.Int64
	Ended           endedCounts

	// InternalErrors and panics are errors of the server's own.
	InternalErrors, Panics atomic.Int64
	ReadConcerns           readConcernCounts
	Tallies                [tallies]Tally
	Transactions           table.Latencies // of whole transactions
	Codecs                 [wire.Compressors]codecCounts
	// SessionRecords counts the records that make writes retryable.
	SessionRecords    atomic.Int64
	RetriedCommands   atomic.Int64
	RetriedStatements atomic.Int64

	// What commands did to documents.
	Returned, Inserted, Updated, Deleted, ScannedKeys, ScannedDocs atomic.Int64
	// What $merge, $out and mapReduce wrote.
	Inserts, Updates pipelineWrites
	// Of metrics.operation: sorts in memory and write conflicts; ended has the rest.
	Sorted, Conflicts atomic.Int64

	ConnsCurrent  atomic.Int64
	ConnsTotal    atomic.Int64
	ConnsRejected atomic.Int64
	ConnsMax      atomic.Int64
}

// pipelineWrites count the writes of pipelines, which are no commands: opcounters and metrics.document have both.
type pipelineWrites struct{ Statements, Documents atomic.Int64 }

func (c *pipelineWrites) Count(statements, documents int64) {
	c.Statements.Add(statements)
	c.Documents.Add(documents)
}

// tallies is how many tallies there are.
const tallies = 16

// Tally is what every command is counted in. Connections have different ones: a counter that all
// processors add to moves between their caches at each command. What was counted is the sum.
type Tally struct {
	Requests, BytesIn, BytesOut atomic.Int64
	Opcounters                  [counters]atomic.Int64
	Runs                        []atomic.Int64 // of each command
	Latencies                   table.Latencies
	_                           [64]byte // no cache line is part of two tallies
}

func (c *stats) initTallies(commands int) {
	for i := range c.Tallies {
		c.Tallies[i].Runs = make([]atomic.Int64, commands)
	}
}

// Sum adds up a counter of all tallies.
func (c *stats) Sum(counter func(*Tally) *atomic.Int64) (n int64) {
	for i := range c.Tallies {
		n += counter(&c.Tallies[i]).Load()
	}
	return n
}

// codecCounts count the messages that a compressor shortened, and those that it restored, in bytes.
type codecCounts struct {
	Compressed, Decompressed struct{ In, Out atomic.Int64 }
}

func (c *stats) CountCompression(id wire.Compressor, plain, packed int) {
	n := &c.Codecs[id].Compressed
	n.In.Add(int64(plain))
	n.Out.Add(int64(packed))
}

// Packed returns by how much messages were shorter than what they carry.
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
	// Append appends the section's fields to the document that is open in b.
	Append func(b *bsonx.Builder)
}

// endedCounts count the commands that were ended, by what ended them.
type endedCounts struct{ Disconnected, TimeLimit, DefaultTimeLimit atomic.Int64 }

// CountWork adds what a command did to the counters of metrics. Most commands did little of that.
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
		{&c.Updated, d.NMatched}, // also what was as the update would have it
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

// LegacyOps are the operation codes that opcounters.deprecated counts, in its order.
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
