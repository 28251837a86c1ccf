package command

import (
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/wire"
)

// Count adds n to an opcounter. Commands that count several operations call it: insert counts its
// documents.
func (r *Request) Count(c Counter, n int64) { r.Conn.Tally.Opcounters[c].Add(n) }

// Begin counts that the command has begun to run, once per request. As in MongoDB, a command that
// cannot be parsed is not counted, neither as run nor as failed.
func (r *Request) Begin(e *Entry) {
	if r.Begun {
		return
	}
	r.Begun = true
	r.Conn.Tally.Runs[e.Index].Add(1)
}

// Malformed returns err. If err is not nil, it records that the command could not be parsed.
func (r *Request) Malformed(err error) error {
	r.Misformed = r.Misformed || err != nil
	return err
}

// CountLegacy counts a message with a removed operation code, or an OP_QUERY that is not a hello.
func (s *Service) CountLegacy(op wire.OpCode) {
	for i := range LegacyOps {
		if LegacyOps[i].op == op {
			s.Stats.Legacy[i].Add(1)
		}
	}
}

// CountTraffic counts a message and its reply, in bytes. The server calls it for each message.
func (c *Conn) CountTraffic(in, out int) {
	c.Tally.Requests.Add(1)
	c.Tally.BytesIn.Add(int64(in))
	c.Tally.BytesOut.Add(int64(out))
}

// CountDecompression counts a compressed message: packed is its compressed size and plain its size
// after decompression, in bytes. The server calls it.
func (s *Service) CountDecompression(id wire.Compressor, packed, plain int) {
	c := &s.Stats.Codecs[id].Decompressed
	c.In.Add(int64(packed))
	c.Out.Add(int64(plain))
}

// ConnectionOpened counts a new connection and returns the number of open connections.
func (s *Service) ConnectionOpened() (current int64) {
	s.Stats.ConnsTotal.Add(1)
	return s.Stats.ConnsCurrent.Add(1)
}

// ConnectionClosed counts the end of a connection and returns the number of open connections.
func (s *Service) ConnectionClosed() (current int64) { return s.Stats.ConnsCurrent.Add(-1) }

// ConnectionRejected counts a connection that the server refused because the limit was reached.
func (s *Service) ConnectionRejected() { s.Stats.ConnsRejected.Add(1) }

// SetMaxConnections sets the connection limit that serverStatus shows.
func (s *Service) SetMaxConnections(n int) { s.Stats.ConnsMax.Store(int64(n)) }

func (c *endedCounts) Count(req *Request, err error) {
	switch code := mongoerr.CodeOf(err); {
	case code == mongoerr.ClientDisconnect:
		c.Disconnected.Add(1)
	case code == mongoerr.MaxTimeMSExpired && req.Generic.HasMaxTime:
		c.TimeLimit.Add(1)
	case code == mongoerr.MaxTimeMSExpired:
		c.DefaultTimeLimit.Add(1)
	}
}
