package server

import (
	"time"

	"github.com/sheafdb/sheaf/internal/memory"
)

const (
	// sendPiece is how many bytes of a large reply are written with one call.
	sendPiece = 1 << 20
	// sendStall is how long a client may pause in the middle of a large reply. The pause is limited
	// because the reply holds memory that other requests may wait for.
	sendStall = 2 * time.Minute
)

// send writes a reply.
func (c *conn) send(out []byte) error {
	if len(out) <= memory.Step {
		_, err := c.nc.Write(out)
		return err
	}
	for len(out) > 0 {
		end := time.Now().Add(sendStall) //nolint:forbidigo // deadlines of a net.Conn are in the computer's time
		if err := c.nc.SetWriteDeadline(end); err != nil {
			return err
		}
		n, err := c.nc.Write(out[:min(len(out), sendPiece)])
		if err != nil {
			return err
		}
		out = out[n:]
	}
	return c.nc.SetWriteDeadline(time.Time{})
}

// room copies a reply that has outgrown its buffer to a larger buffer of the pool. It is the Room
// function of the connection's read.Output.
func (c *conn) room(reply []byte, size int) []byte {
	larger := c.srv.buffers.get(size)
	*larger = append((*larger)[:0], reply...)
	c.srv.buffers.put(c.out)
	c.out = larger
	return *larger
}

// replyBuffer returns a buffer for a reply of the expected size, or a small one if the server lacks
// memory.
func (c *conn) replyBuffer() *[]byte {
	if !c.state.Output.Held.Spare(int64(c.replySize)) {
		c.replySize = 0
	}
	return c.srv.buffers.get(c.replySize)
}
