package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/wire"
)

// idleBuffer is the size of the buffer that a connection keeps between messages. Most requests fit.
const idleBuffer = 2 << 10

// conn is one connection. Only its goroutine uses it, except for the methods of nc, which are safe
// for concurrent use.
type conn struct {
	srv   *Server
	nc    net.Conn
	state *command.Conn
	msg   wire.Message
	watch watch

	// request is the share of the server's memory for the message that is being read or run.
	request memory.Holding
	// timed means that reads have a deadline; see readInside.
	timed bool

	// buf[r:w] was read but not handled yet.
	buf  []byte
	r, w int

	// replySize is the approximate size of the last replies. The next reply gets a buffer of that
	// size. Growing a buffer from the smallest size would touch twice the memory, most of it new.
	replySize int
	// out is the pooled buffer of the reply while a command runs.
	out *[]byte
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
	defer c.request.Release()
	in, err := c.next(ctx)
	if errors.Is(err, errRefused) {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.msg.Release()
	err = wire.ParseAfter(&c.msg, in.raw, c.state.Ending())
	size := len(in.raw)
	if c.msg.Owned || err != nil {
		c.giveBack(&in)
	}
	if err != nil {
		return c.refuse(err)
	}
	retained, err := c.run(ctx, size)
	switch {
	case !retained || c.msg.Owned:
		c.giveBack(&in)
	case in.large == nil:
		c.replaceBuffer()
	}
	return err
}

// giveBack returns a message's buffer and its share of the server's memory.
func (c *conn) giveBack(in *received) {
	if in.large == nil {
		return
	}
	c.srv.buffers.put(in.large)
	in.large = nil
	c.request.Shrink(c.request.Held() - int64(len(in.raw)))
}

// refuse replies to a message that cannot be parsed, if a reply is possible.
func (c *conn) refuse(cause error) error {
	if errors.Is(cause, wire.ErrUnanswered) || mongoerr.CodeOf(cause) == wire.CodeRemoved {
		c.srv.service.CountLegacy(c.msg.OpCode)
	}
	if wire.IsFatal(cause) {
		return cause
	}
	out := dispatch.ErrorReply(c.srv.service, c.state, &c.msg, nil, cause)
	return c.send(out)
}

// run handles the parsed message and, for an exhaust stream, the messages that follow from it.
func (c *conn) run(ctx context.Context, size int) (retained bool, err error) {
	c.out = c.replyBuffer()
	defer func() {
		c.srv.buffers.put(c.out)
		c.out = nil
		c.state.Output.Held.Release()
	}()
	for {
		c.begin()
		res := dispatch.Handle(ctx, c.srv.service, c.state, &c.msg, (*c.out)[:0])
		c.end()
		*c.out = res.Out
		c.state.Output.Held.Force(int64(cap(*c.out)))
		c.replySize = nextReplySize(c.replySize, len(res.Out))
		retained = retained || res.Retained
		c.state.CountTraffic(size, len(res.Out))
		if c.msg.Compressor != wire.CompressorNone && size > 0 {
			c.srv.service.CountDecompression(c.msg.Compressor, size, c.msg.Unpacked)
		}
		if len(res.Out) > 0 {
			if err := c.send(res.Out); err != nil {
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

// slowReply is the largest reply that influences the expected size of the next reply. Drivers send
// commands of many kinds over one connection. A buffer that is too large for most replies still
// costs less than one that grows for each batch of a cursor.
const slowReply = 64 << 10

// nextReplySize returns the expected size of the next reply, after a reply of size bytes when
// expected bytes were expected.
func nextReplySize(expected, size int) int {
	if expected > slowReply {
		return max(size, expected/2)
	}
	return max(size, expected-expected/16)
}

// continueStream makes the message that an exhaust stream runs next. It has the id of the previous
// reply, because in the protocol each reply of a stream answers the reply before it.
func (c *conn) continueStream(res dispatch.Result) {
	h, err := wire.ParseHeader(res.Out)
	if err == nil {
		c.msg.RequestID = h.RequestID
	}
	c.msg.Body, c.msg.Ending = append(bsonx.Doc(nil), res.Next...), 0
	clear(c.msg.Sequences)
	c.msg.Sequences = c.msg.Sequences[:0]
}

// replaceBuffer gets a new buffer, because the old one is still in use.
func (c *conn) replaceBuffer() {
	fresh := make([]byte, idleBuffer)
	c.w = copy(fresh, c.buf[c.r:c.w])
	c.r = 0
	c.buf = fresh
}

// logEnd logs why a connection ended, unless it ended normally.
func (c *conn) logEnd(err error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed),
		errors.Is(err, errCloseRequested), c.srv.draining.Load():
	case errors.Is(err, wire.ErrUnanswered):
		c.srv.log.Info("Closing a connection whose client sends removed operations. The client needs a newer driver",
			slog.String("c", "NETWORK"), slog.String("ctx", c.name()), slog.String("remote", c.state.Remote),
			slog.Int("opCode", int(c.msg.OpCode)))
	case errors.Is(err, wire.ErrMalformed), wire.IsFatal(err) && !isNetwork(err):
		c.srv.log.Warn("Terminating connection: the message is malformed", slog.String("c", "NETWORK"),
			slog.String("ctx", c.name()), slog.String("remote", c.state.Remote), slog.String("error", err.Error()))
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.srv.log.Info("Closing a connection that stalled in the middle of a message", slog.String("c", "NETWORK"),
			slog.String("ctx", c.name()), slog.String("remote", c.state.Remote))
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
