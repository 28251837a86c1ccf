package command

import (
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/wire"
)

// stats are the counters of serverStatus.
type stats struct {
	calls           callPool
	unknownCommands atomic.Int64
	opcounters      [counters]atomic.Int64
	legacy          [len(legacyOps)]atomic.Int64
	userErrors      atomic.Int64
	ended           endedCounts
	bytesIn         atomic.Int64
	bytesOut        atomic.Int64
	requests        atomic.Int64

	// internalErrors and panics are errors of the server's own.
	internalErrors, panics atomic.Int64
	readConcerns           readConcernCounts
	latencies              table.Latencies
	operators              operatorCounts
	// packedIn and packedOut are how much shorter messages were than what they carry.
	packedIn, packedOut atomic.Int64
	// sessionRecords counts the records that make writes retryable.
	sessionRecords    atomic.Int64
	retriedCommands   atomic.Int64
	retriedStatements atomic.Int64

	// What commands did to documents.
	returned, inserted, updated, deleted, scannedKeys, scannedDocs atomic.Int64
	// Of metrics.operation: sorts in memory and write conflicts; ended has the rest.
	sorted, conflicts atomic.Int64

	connsCurrent  atomic.Int64
	connsTotal    atomic.Int64
	connsRejected atomic.Int64
	relieved      atomic.Int64 // operations that were ended for want of memory
	connsMax      atomic.Int64
}

// Count adds to an opcounter, for commands that stand for several operations (insert counts documents).
func (s *Service) Count(c Counter, n int64) { s.stats.opcounters[c].Add(n) }

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
func (s *Service) CountTraffic(in, out int) {
	s.stats.requests.Add(1)
	s.stats.bytesIn.Add(int64(in))
	s.stats.bytesOut.Add(int64(out))
}

// CountCompression is called by the server for a compressed message and its reply, with what compression saved.
func (s *Service) CountCompression(in, out int) {
	s.stats.packedIn.Add(int64(in))
	s.stats.packedOut.Add(int64(out))
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
