package command

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
)

// stats are the counters of serverStatus.
type stats struct {
	calls           callPool
	unknownCommands atomic.Int64
	legacy          [len(legacyOps)]atomic.Int64
	userErrors      atomic.Int64
	ended           endedCounts

	// internalErrors and panics are errors of the server's own.
	internalErrors, panics atomic.Int64
	readConcerns           readConcernCounts
	tallies                [tallies]tally
	transactions           table.Latencies // of whole transactions
	operators              operatorCounts
	codecs                 [wire.Compressors]codecCounts
	// sessionRecords counts the records that make writes retryable.
	sessionRecords    atomic.Int64
	retriedCommands   atomic.Int64
	retriedStatements atomic.Int64

	// What commands did to documents.
	returned, inserted, updated, deleted, scannedKeys, scannedDocs atomic.Int64
	// What $merge, $out and mapReduce wrote.
	inserts, updates pipelineWrites
	// Of metrics.operation: sorts in memory and write conflicts; ended has the rest.
	sorted, conflicts atomic.Int64

	connsCurrent  atomic.Int64
	connsTotal    atomic.Int64
	connsRejected atomic.Int64
	relieved      atomic.Int64 // operations that were ended for want of memory
	// cursorsRelieved are idle cursors that were.
	cursorsRelieved atomic.Int64
	connsMax        atomic.Int64
}

// pipelineWrites count the writes of pipelines, which are no commands: opcounters and metrics.document have both.
type pipelineWrites struct{ statements, documents atomic.Int64 }

func (c *pipelineWrites) count(statements, documents int64) {
	c.statements.Add(statements)
	c.documents.Add(documents)
}

// tallies is how many tallies there are.
const tallies = 16

// tally is what every command is counted in. Connections have different ones: a counter that all
// processors add to moves between their caches at each command. What was counted is the sum.
type tally struct {
	requests, bytesIn, bytesOut atomic.Int64
	opcounters                  [counters]atomic.Int64
	runs                        []atomic.Int64 // of each command
	latencies                   table.Latencies
	_                           [64]byte // no cache line is part of two tallies
}

func (c *stats) initTallies(commands int) {
	for i := range c.tallies {
		c.tallies[i].runs = make([]atomic.Int64, commands)
	}
}

// sum adds up a counter of all tallies.
func (c *stats) sum(counter func(*tally) *atomic.Int64) (n int64) {
	for i := range c.tallies {
		n += counter(&c.tallies[i]).Load()
	}
	return n
}

// count adds to an opcounter, for commands that stand for several operations (insert counts
// documents).
func (r *Request) count(c Counter, n int64) { r.Conn.tally.opcounters[c].Add(n) }

// begin counts a command that runs. What cannot be parsed counts neither as a command that ran nor as
// one that failed, as in MongoDB.
func (r *Request) begin(e *entry) {
	if r.begun {
		return
	}
	r.begun = true
	r.Conn.tally.runs[e.index].Add(1)
}

// malformed returns err, and notes that the command could not be parsed unless err is nil.
func (r *Request) malformed(err error) error {
	r.misformed = r.misformed || err != nil
	return err
}

// legacyOps are the operation codes that opcounters.deprecated counts, in its order.
var legacyOps = [...]struct {
	op   wire.OpCode
	name string
}{
	{wire.OpInsert, "insert"},
	{wire.OpQuery, "query"},
	{wire.OpUpdate, "update"},
	{wire.OpDelete, "delete"},
	{wire.OpGetMore, "getmore"},
	{wire.OpKillCursors, "killcursors"},
}

// CountLegacy counts a message with a removed operation code, and an OP_QUERY that is no hello.
func (s *Service) CountLegacy(op wire.OpCode) {
	for i := range legacyOps {
		if legacyOps[i].op == op {
			s.stats.legacy[i].Add(1)
		}
	}
}

// CountTraffic is called by the server for each message.
func (c *Conn) CountTraffic(in, out int) {
	c.tally.requests.Add(1)
	c.tally.bytesIn.Add(int64(in))
	c.tally.bytesOut.Add(int64(out))
}

// codecCounts count the messages that a compressor shortened, and those that it restored, in bytes.
type codecCounts struct {
	compressed, decompressed struct{ in, out atomic.Int64 }
}

// CountDecompression is called by the server for a compressed message of packed bytes that carries plain bytes.
func (s *Service) CountDecompression(id wire.Compressor, packed, plain int) {
	c := &s.stats.codecs[id].decompressed
	c.in.Add(int64(packed))
	c.out.Add(int64(plain))
}

func (c *stats) countCompression(id wire.Compressor, plain, packed int) {
	n := &c.codecs[id].compressed
	n.in.Add(int64(plain))
	n.out.Add(int64(packed))
}

// packed returns by how much messages were shorter than what they carry.
func (c *stats) packed() (in, out int64) {
	for i := range c.codecs {
		n := &c.codecs[i]
		in += n.decompressed.out.Load() - n.decompressed.in.Load()
		out += n.compressed.in.Load() - n.compressed.out.Load()
	}
	return in, out
}

// ConnectionOpened and its relatives are called by the server.
func (s *Service) ConnectionOpened() (current int64) {
	s.stats.connsTotal.Add(1)
	return s.stats.connsCurrent.Add(1)
}

// ConnectionClosed counts the end of a connection and returns how many are left.
func (s *Service) ConnectionClosed() (current int64) { return s.stats.connsCurrent.Add(-1) }

// ConnectionRejected counts a connection beyond the limit.
func (s *Service) ConnectionRejected() { s.stats.connsRejected.Add(1) }

// SetMaxConnections tells serverStatus the limit.
func (s *Service) SetMaxConnections(n int) { s.stats.connsMax.Store(int64(n)) }

// StatusSection is a part of serverStatus that another layer contributes.
type StatusSection struct {
	Name string
	// Append appends the section's fields to the document that is open in b.
	Append func(b *bsonx.Builder)
}

func (s *Service) countError(err error) {
	if mongoerr.CodeOf(err) == mongoerr.InternalError {
		s.stats.internalErrors.Add(1)
		return
	}
	s.stats.userErrors.Add(1)
	if mongoerr.CodeOf(err) == mongoerr.WriteConflict {
		s.stats.conflicts.Add(1)
	}
}

// endedCounts count the commands that were ended, by what ended them.
type endedCounts struct{ disconnected, timeLimit, defaultTimeLimit atomic.Int64 }

func (c *endedCounts) count(req *Request, err error) {
	switch code := mongoerr.CodeOf(err); {
	case code == mongoerr.ClientDisconnect:
		c.disconnected.Add(1)
	case code == mongoerr.MaxTimeMSExpired && req.Generic.HasMaxTime:
		c.timeLimit.Add(1)
	case code == mongoerr.MaxTimeMSExpired:
		c.defaultTimeLimit.Add(1)
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
		{&c.updated, d.NMatched}, // also what was as the update would have it
		{&c.conflicts, d.WriteConflicts},
	} {
		if part.n > 0 {
			part.to.Add(part.n)
		}
	}
	if d.HasSortStage {
		c.sorted.Add(1)
	}
}
