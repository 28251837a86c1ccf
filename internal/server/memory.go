package server

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// MemoryListener is a net.Listener whose connections are in memory.
type MemoryListener struct {
	name   string
	pool   *bufferPool
	accept chan net.Conn
	done   chan struct{}
	once   sync.Once
}

// NewMemoryListener returns a listener. name is the address of its connections.
func NewMemoryListener(name string) *MemoryListener {
	return &MemoryListener{name: name, pool: new(bufferPool), accept: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *MemoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *MemoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *MemoryListener) Addr() net.Addr { return memoryAddr(l.name) }

// DialContext connects to the listener. It ignores network and address, so that it can be the
// driver's dialer.
func (l *MemoryListener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := memoryPair(l.name, l.pool)
	select {
	case l.accept <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryAddr string

func (memoryAddr) Network() string  { return "memory" }
func (a memoryAddr) String() string { return string(a) }

// memoryConn is one end of a connection in memory. It reads from one pipe and writes to the other.
type memoryConn struct {
	in, out *memoryPipe
	addr    memoryAddr
}

func memoryPair(name string, pool *bufferPool) (client, server net.Conn) {
	a, b := newMemoryPipe(pool), newMemoryPipe(pool)
	return &memoryConn{a, b, memoryAddr(name)}, &memoryConn{b, a, memoryAddr(name)}
}

func (c *memoryConn) Read(p []byte) (int, error)  { return c.in.read(p) }
func (c *memoryConn) Write(p []byte) (int, error) { return c.out.write(p) }
func (c *memoryConn) LocalAddr() net.Addr         { return c.addr }
func (c *memoryConn) RemoteAddr() net.Addr        { return c.addr }

// Close ends both directions. The other end can still read the bytes written before.
func (c *memoryConn) Close() error {
	c.in.closeRead()
	c.out.closeWrite()
	return nil
}

func (c *memoryConn) SetDeadline(t time.Time) error {
	c.in.readLimit.set(&c.in.mu, &c.in.readable, t)
	c.out.writeLimit.set(&c.out.mu, &c.out.writable, t)
	return nil
}

func (c *memoryConn) SetReadDeadline(t time.Time) error {
	c.in.readLimit.set(&c.in.mu, &c.in.readable, t)
	return nil
}

func (c *memoryConn) SetWriteDeadline(t time.Time) error {
	c.out.writeLimit.set(&c.out.mu, &c.out.writable, t)
	return nil
}

const (
	// pipeLimit is the number of unread bytes at which writers of a pipe wait.
	pipeLimit = 1 << 20
	// pipeKeep is the largest buffer that an empty pipe keeps. Larger buffers return to the pool
	// between messages: new memory for every large reply would cost more than the reply itself.
	pipeKeep = 16 << 10
)

// memoryPipe carries bytes in one direction. The buffer is linear: it is read to its end before it
// is reused from the start, which happens for every request and reply. A mutex and conditions are
// cheaper than channels. net.Pipe has no buffer: a reader that takes a message in two parts would
// switch goroutines twice.
type memoryPipe struct {
	pool       *bufferPool
	mu         sync.Mutex
	readable   sync.Cond
	writable   sync.Cond
	buf        []byte // buf[off:] is unread
	off        int
	small      []byte // the pipe's own buffer, while buf is from the pool
	readEnd    bool   // no one will read
	writeEnd   bool   // no one will write
	readLimit  deadline
	writeLimit deadline
}

func newMemoryPipe(pool *bufferPool) *memoryPipe {
	p := &memoryPipe{pool: pool}
	p.readable.L, p.writable.L = &p.mu, &p.mu
	return p
}

func (p *memoryPipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.off == len(p.buf) {
		switch {
		case p.readEnd:
			return 0, net.ErrClosed
		case p.writeEnd:
			return 0, io.EOF
		case p.readLimit.passed:
			return 0, os.ErrDeadlineExceeded
		case len(b) == 0:
			return 0, nil
		}
		p.readable.Wait()
	}
	n := copy(b, p.buf[p.off:])
	p.off += n
	if p.off == len(p.buf) {
		full := len(p.buf) >= pipeLimit
		p.off, p.buf = 0, p.buf[:0]
		p.giveBack()
		if full {
			p.writable.Signal()
		}
	}
	return n, nil
}

func (p *memoryPipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	written := 0
	for {
		switch {
		case p.writeEnd:
			return written, net.ErrClosed
		case p.readEnd:
			return written, io.ErrClosedPipe
		case p.writeLimit.passed:
			return written, os.ErrDeadlineExceeded
		}
		if room := pipeLimit - len(p.buf); room > 0 {
			n := min(room, len(b)-written)
			p.grow(n)
			p.buf = append(p.buf, b[written:written+n]...)
			written += n
			p.readable.Signal()
		}
		if written == len(b) {
			return written, nil
		}
		p.writable.Wait()
	}
}

// grow makes room for n more bytes.
func (p *memoryPipe) grow(n int) {
	if need := len(p.buf) + n; need > max(cap(p.buf), pipeKeep) {
		buf := p.buf
		p.buf = append(*p.pool.get(need), buf...)
		if cap(buf) > pipeKeep {
			p.pool.put(&buf)
		} else {
			p.small = buf[:0]
		}
	}
}

// giveBack returns a buffer that the pipe does not keep.
func (p *memoryPipe) giveBack() {
	if cap(p.buf) > pipeKeep {
		buf := p.buf
		p.buf, p.small = p.small, nil
		p.pool.put(&buf)
	}
}

func (p *memoryPipe) closeRead() {
	p.mu.Lock()
	p.readEnd = true
	p.buf, p.small, p.off = nil, nil, 0
	p.readLimit.stop()
	p.mu.Unlock()
	p.readable.Broadcast()
	p.writable.Broadcast()
}

func (p *memoryPipe) closeWrite() {
	p.mu.Lock()
	p.writeEnd = true
	p.writeLimit.stop()
	p.mu.Unlock()
	p.readable.Broadcast()
	p.writable.Broadcast()
}

// deadline wakes the waiters of a condition when its time has passed. The pipe's lock guards it.
type deadline struct {
	passed bool
	timer  *time.Timer
	round  uint64
}

func (d *deadline) stop() {
	d.round++
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

func (d *deadline) set(mu *sync.Mutex, wake *sync.Cond, t time.Time) {
	mu.Lock()
	defer mu.Unlock()
	d.stop()
	d.passed = false
	if t.IsZero() {
		return
	}
	wait := time.Until(t) //nolint:forbidigo // deadlines of a net.Conn are in the computer's time
	if wait <= 0 {
		d.passed = true
		wake.Broadcast()
		return
	}
	round := d.round
	d.timer = time.AfterFunc(wait, func() { //nolint:forbidigo // for the same reason
		mu.Lock()
		defer mu.Unlock()
		if d.round == round {
			d.passed = true
			wake.Broadcast()
		}
	})
}
