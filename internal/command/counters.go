package command

import (
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/wire"
)

// Count adds to an opcounter, for commands that stand for several operations (insert counts
// documents).
func (r *Request) Count(c Counter, n int64) { r.Conn.Tally.Opcounters[c].Add(n) }

// Begin counts a command that runs. What cannot be parsed counts neither as a command that ran nor
// as one that failed, as in MongoDB.
func (r *Request) Begin(e *Entry) {
	if r.Begun {
		return
	}
	r.Begun = true
	r.Conn.Tally.Runs[e.Index].Add(1)
}

// Malformed returns err, and notes that the command could not be parsed unless err is nil.
func (r *Request) Malformed(err error) error {
	r.Misformed = r.Misformed || err != nil
	return err
}

// CountLegacy counts a message with a removed operation code, and an OP_QUERY that is no hello.
func (s *Service) CountLegacy(op wire.OpCode) {
	for i := range LegacyOps {
		if LegacyOps[i].op == op {
			s.Stats.Legacy[i].Add(1)
		}
	}
}

// CountTraffic is called by the server for each message.
func (c *Conn) CountTraffic(in, out int) {
	c.Tally.Requests.Add(1)
	c.Tally.BytesIn.Add(int64(in))
	c.Tally.BytesOut.Add(int64(out))
}

// CountDecompression is called by the server for a compressed message of packed bytes that carries
// plain bytes.
func (s *Service) CountDecompression(id wire.Compressor, packed, plain int) {
	c := &s.Stats.Codecs[id].Decompressed
	c.In.Add(int64(packed))
	c.Out.Add(int64(plain))
}

// ConnectionOpened counts a new connection and returns how many are open.
func (s *Service) ConnectionOpened() (current int64) {
	s.Stats.ConnsTotal.Add(1)
	return s.Stats.ConnsCurrent.Add(1)
}

// ConnectionClosed counts the end of a connection and returns how many are open.
func (s *Service) ConnectionClosed() (current int64) { return s.Stats.ConnsCurrent.Add(-1) }

// ConnectionRejected counts a connection that the server refused because it had too many.
func (s *Service) ConnectionRejected() { s.Stats.ConnsRejected.Add(1) }

// SetMaxConnections sets the limit of connections that serverStatus shows.
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
