package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/wire"
)

// idleBuffer is the buffer that a connection keeps between messages: most requests fit.
const idleBuffer = 2 << 10

// conn is one connection. Its goroutine alone uses it, but for nc's methods, which are safe for concurrent use.
type conn struct {
	srv   *Server
	nc    net.Conn
	state *command.Conn
	msg   wire.Message
	watch watch

	// buf[r:w] was read and is not yet handled.
	buf  []byte
	r, w int

	// replySize is about how large the last replies were. The next one gets a buffer of that size, since growing one from the
	// smallest touches twice the memory, most of it new.
	replySize int
}

// serve runs messages until the connection ends.
func (c *conn) serve(ctx context.Context) {
	for !c.srv.draining.Load() {
		if err := c.step(ctx); err != nil {
			c.logEnd(err)
			return
		}
	}
}

var errCloseRequested = errors.New("the command asked to close the connection")

// step reads one message, runs it and writes the reply.
func (c *conn) step(ctx context.Context) error {
	raw, large, err := c.next()
	if err != nil {
		return err
	}
	if large != nil {
		defer func() {
			if large != nil {
				c.srv.buffers.put(large)
			}
		}()
	}
	if err := wire.Parse(&c.msg, raw); err != nil {
		return c.refuse(err)
	}
	retained, err := c.run(ctx, len(raw))
	if retained && !c.msg.Owned {
		if large != nil {
			large = nil
		} else {
			c.replaceBuffer()
		}
	}
	c.msg.Body = nil
	return err
}

// refuse answers a message that cannot be parsed, if it can be answered.
func (c *conn) refuse(cause error) error {
	if wire.IsFatal(cause) {
		return cause
	}
	out := c.srv.service.ErrorReply(c.state, &c.msg, nil, cause)
	if _, err := c.nc.Write(out); err != nil {
		return err
	}
	return nil
}

// run handles the parsed message and, for an exhaust stream, the ones that follow from it.
func (c *conn) run(ctx context.Context, size int) (retained bool, err error) {
	out := c.srv.buffers.get(c.replySize)
	defer func() { c.srv.buffers.put(out) }()
	for {
		c.watch.begin()
		res := c.srv.service.Handle(ctx, c.state, &c.msg, (*out)[:0])
		c.end()
		*out = res.Out
		c.replySize = nextReplySize(c.replySize, len(res.Out))
		retained = retained || res.Retained
		c.srv.service.CountTraffic(size, len(res.Out))
		if c.msg.Compressor != wire.CompressorNone && size > 0 {
			c.srv.service.CountCompression(c.msg.Unpacked-size, res.Packed)
		}
		if len(res.Out) > 0 {
			if _, err := c.nc.Write(res.Out); err != nil {
				return retained, err
			}
		}
		if res.Close {
			return retained, errCloseRequested
		}
		if res.Next == nil || c.srv.draining.Load() {
			return retained, nil
		}
		c.continueStream(res)
		size = 0
	}
}

// slowReply is up to which size a reply is taken as a sign of what comes: clients send the commands of many over one connection, and a
// buffer that is too large for most costs less than one that grows for each batch of a cursor.
const slowReply = 64 << 10

// nextReplySize returns how large a reply is expected, after one of size bytes where size was expected.
func nextReplySize(expected, size int) int {
	if expected > slowReply {
		return max(size, expected/2)
	}
	return max(size, expected-expected/16)
}

// continueStream makes the message that an exhaust stream runs next: its reply answers the previous reply.
func (c *conn) continueStream(res command.Result) {
	h, err := wire.ParseHeader(res.Out)
	if err == nil {
		c.msg.RequestID = h.RequestID
	}
	c.msg.Body = append(bsonx.Doc(nil), res.Next...)
	c.msg.Sequences = nil
}

// next reads a whole message. It stands in the connection's buffer, or in a pooled one, which is returned too.
func (c *conn) next() (raw []byte, large *[]byte, err error) {
	if err := c.fill(wire.HeaderLen); err != nil {
		return nil, nil, err
	}
	h, err := wire.ParseHeader(c.buf[c.r:c.w])
	if err != nil {
		return nil, nil, err
	}
	n := int(h.Length)
	if n <= len(c.buf) {
		if err := c.fill(n); err != nil {
			return nil, nil, unexpected(err)
		}
		raw = c.buf[c.r : c.r+n : c.r+n]
		c.r += n
		return raw, nil, nil
	}
	large = c.srv.buffers.get(min(n, firstRead))
	raw, err = c.readLarge(*large, n)
	*large = raw
	if err != nil {
		c.srv.buffers.put(large)
		return nil, nil, unexpected(err)
	}
	return raw, large, nil
}

// firstRead bounds what is allocated for a message before its bytes have come.
const firstRead = 1 << 20

func (c *conn) readLarge(buf []byte, n int) ([]byte, error) {
	buf = append(buf[:0], c.buf[c.r:c.w]...)
	c.r, c.w = 0, 0
	return wire.ReadRest(c, buf, n)
}

// fill reads until n bytes are in the buffer. It returns io.EOF at the end of the connection between two messages.
func (c *conn) fill(n int) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	for c.w-c.r < n {
		if c.r > 0 && c.r+n > len(c.buf) {
			copy(c.buf, c.buf[c.r:c.w])
			c.r, c.w = 0, c.w-c.r
		}
		m, err := c.Read(c.buf[c.w:])
		c.w += m
		if err != nil && c.w-c.r < n {
			if c.w > c.r {
				return unexpected(err)
			}
			return err
		}
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// replaceBuffer leaves the buffer to whoever retained it.
func (c *conn) replaceBuffer() {
	fresh := make([]byte, idleBuffer)
	c.w = copy(fresh, c.buf[c.r:c.w])
	c.r = 0
	c.buf = fresh
}

// logEnd logs why a connection ended, where it is not the usual end.
func (c *conn) logEnd(err error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed), errors.Is(err, errCloseRequested), c.srv.draining.Load():
	case errors.Is(err, wire.ErrMalformed), wire.IsFatal(err) && !isNetwork(err):
		c.srv.log.Warn("Terminating connection: the message is malformed", slog.String("c", "NETWORK"),
			slog.String("ctx", c.name()), slog.String("remote", c.state.Remote), slog.String("error", err.Error()))
	default:
		c.srv.log.Debug("Connection lost", slog.String("c", "NETWORK"), slog.String("ctx", c.name()),
			slog.String("remote", c.state.Remote), slog.String("error", err.Error()))
	}
}

func isNetwork(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe)
}

func (c *conn) name() string { return fmt.Sprintf("conn%d", c.state.ID) }

// wake ends a read that waits for the next message.
func (c *conn) wake() { _ = c.nc.SetReadDeadline(time.Unix(1, 0)) }
