package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"time"

	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/wire"
)

const (
	// firstRead is the most memory that is allocated for a message before its bytes have arrived.
	firstRead = 1 << 20
	// DefaultStall is how long a client may pause in the middle of a message.
	DefaultStall = 30 * time.Second
)

// received is a complete message.
type received struct {
	raw []byte
	// large is the pooled buffer that holds raw. It is nil if raw is in the connection's own
	// buffer.
	large *[]byte
}

// errRefused means that a message was skipped and has got its reply.
var errRefused = errors.New("the message was refused")

// next reads a complete message. It reads nothing of a large message until the message has its
// share of the server's memory.
func (c *conn) next(ctx context.Context) (received, error) {
	if err := c.fill(wire.HeaderLen); err != nil {
		return received{}, err
	}
	h, err := wire.ParseHeader(c.buf[c.r:c.w])
	if err != nil {
		return received{}, err
	}
	n := int(h.Length)
	if err := c.admit(ctx, h); err != nil {
		return received{}, err
	}
	if n <= len(c.buf) {
		if err := c.fill(n); err != nil {
			return received{}, unexpected(err)
		}
		raw := c.buf[c.r : c.r+n : c.r+n]
		c.r += n
		return received{raw: raw}, nil
	}
	large := c.srv.buffers.get(min(n, firstRead))
	*large, err = c.readLarge(*large, n)
	if err != nil {
		c.srv.buffers.put(large)
		return received{}, unexpected(err)
	}
	return received{raw: *large, large: large}, nil
}

// admit takes the share of the server's memory that a message needs, including its size after
// decompression.
func (c *conn) admit(ctx context.Context, h wire.Header) error {
	need := int64(h.Length)
	if h.OpCode == wire.OpCompressed && h.Length >= wire.HeaderLen+wire.CompressedPrefix {
		if err := c.fill(wire.HeaderLen + wire.CompressedPrefix); err != nil {
			return unexpected(err)
		}
		need += int64(wire.PlainSize(c.buf[c.r+wire.HeaderLen : c.w]))
	}
	if need <= int64(len(c.buf)) {
		return nil
	}
	// Small messages take a share too, because ten thousand of them may stall.
	if need < memory.Step {
		if c.request.Fits(memory.Step) {
			return nil
		}
		need = memory.Step
	}
	if c.request.TryAdmit(need) {
		return nil
	}
	err := c.await(ctx, need, int(h.Length))
	if err == nil || ctx.Err() != nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return c.refuseUnread(h, err)
}

// refuseUnread skips a message and replies with an error. If the message is compressed, its flags
// are unknown and it may want no reply. Then refuseUnread returns cause, which closes the
// connection.
func (c *conn) refuseUnread(h wire.Header, cause error) error {
	if h.OpCode != wire.OpMsg || h.Length < wire.HeaderLen+4 {
		return cause
	}
	if err := c.fill(wire.HeaderLen + 4); err != nil {
		return unexpected(err)
	}
	flags := wire.Flags(binary.LittleEndian.Uint32(c.buf[c.r+wire.HeaderLen:]))
	if err := c.discard(int(h.Length)); err != nil {
		return unexpected(err)
	}
	if flags&wire.FlagMoreToCome != 0 {
		return errRefused
	}
	c.msg = wire.Message{Header: h, Sequences: c.msg.Sequences[:0]}
	if err := c.refuse(cause); err != nil {
		return err
	}
	return errRefused
}

// discard reads and drops the next n bytes of the connection.
func (c *conn) discard(n int) error {
	for n > 0 {
		if c.r == c.w {
			c.r, c.w = 0, 0
			m, err := c.readInside(c.buf)
			c.w = m
			if m == 0 && err != nil {
				return err
			}
		}
		skip := min(n, c.w-c.r)
		c.r += skip
		n -= skip
	}
	return c.endMessage()
}

func (c *conn) readLarge(buf []byte, n int) ([]byte, error) {
	buf = append(buf[:0], c.buf[c.r:c.w]...)
	c.r, c.w = 0, 0
	buf, err := wire.ReadRest(insideReader{c}, buf, n)
	return buf, errors.Join(err, c.endMessage())
}

// fill reads until n bytes are in the buffer. It returns io.EOF at the end of the connection
// between two messages.
func (c *conn) fill(n int) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	for c.w-c.r < n {
		if c.r > 0 && c.r+n > len(c.buf) {
			copy(c.buf, c.buf[c.r:c.w])
			c.r, c.w = 0, c.w-c.r
		}
		read := c.Read
		if c.w > c.r {
			read = c.readInside
		}
		m, err := read(c.buf[c.w:])
		c.w += m
		if err != nil && c.w-c.r < n {
			if c.w > c.r {
				return unexpected(err)
			}
			return err
		}
	}
	return c.endMessage()
}

// insideReader reads the rest of a message.
type insideReader struct{ c *conn }

// Read implements io.Reader.
func (r insideReader) Read(p []byte) (int, error) { return r.c.readInside(p) }

// readInside is Read in the middle of a message. It fails if no byte arrives for too long, because
// a partial message holds memory for which others wait.
func (c *conn) readInside(p []byte) (int, error) {
	if len(c.watch.early) > 0 {
		return c.Read(p)
	}
	end := time.Now().Add(c.srv.opts.Stall) //nolint:forbidigo // deadlines of a net.Conn are in the computer's time
	if err := c.nc.SetReadDeadline(end); err != nil {
		return 0, err
	}
	c.timed = true
	if c.srv.draining.Load() {
		c.wake() // a shutdown ended the reads of all connections before the deadline was set
	}
	return c.nc.Read(p)
}

// endMessage removes the deadline of readInside.
func (c *conn) endMessage() error {
	if !c.timed {
		return nil
	}
	c.timed = false
	return c.nc.SetReadDeadline(time.Time{})
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
