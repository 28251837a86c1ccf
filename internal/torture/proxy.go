package torture

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a network between clients and a server that loses connections and is slow, at random.
// Toxiproxy, the library for this, decides by the clock and its own generator; here a seed decides.
//
// The first message of a connection and its answer always come through, if need be to a server that
// was started meanwhile: drivers do not try again where they cannot greet a server.
type Proxy struct {
	// Addr is where clients connect to.
	Addr string

	listener net.Listener
	server   func() string
	faults   atomic.Pointer[Faults]
	cuts     atomic.Int64
	wg       sync.WaitGroup

	mu     sync.Mutex
	rng    *rand.Rand
	conns  map[net.Conn]bool
	closed bool
}

// Faults are what a network does to each piece of data, with the probabilities from 0 to 1.
type Faults struct {
	// Cut is how probably the connection is lost: before the piece, in the midst of it or behind
	// it.
	Cut float64
	// Slow is how probably the piece waits, for at most Delay.
	Slow  float64
	Delay time.Duration
}

// NewProxy opens a network without faults to a server, whose address may change. It is closed with
// the test.
func NewProxy(tb testing.TB, rng *rand.Rand, server func() string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), listener: l, server: server, rng: rng, conns: map[net.Conn]bool{}}
	p.Set(Faults{})
	p.wg.Go(p.accept)
	tb.Cleanup(p.close)
	return p
}

// Set changes what the network does from now on.
func (p *Proxy) Set(f Faults) { p.faults.Store(&f) }

// Cuts returns how many connections were lost.
func (p *Proxy) Cuts() int64 { return p.cuts.Load() }

func (p *Proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.forward(client) })
	}
}

// forward connects a client.
func (p *Proxy) forward(client net.Conn) {
	if !p.add(client) {
		return
	}
	greeting, err := message(client)
	if err != nil {
		p.lose(false, client)
		return
	}
	server, err := p.greet(client, greeting)
	if err != nil {
		p.lose(false, client)
		return
	}
	p.mu.Lock()
	up, down := p.fork(), p.fork()
	p.mu.Unlock()
	p.wg.Go(func() { p.pump(server, client, up) })
	p.wg.Go(func() { p.pump(client, server, down) })
}

// greet sends a connection's first message to the server until there is an answer, which it gives
// the client.
func (p *Proxy) greet(client net.Conn, greeting []byte) (net.Conn, error) {
	for begin := now(); ; {
		server, err := net.Dial("tcp", p.server())
		if err == nil {
			if !p.add(server) {
				return nil, net.ErrClosed
			}
			var answer []byte
			if _, err = server.Write(greeting); err == nil {
				answer, err = message(server)
			}
			if err == nil {
				_, err = client.Write(answer)
				return server, err
			}
			p.lose(false, server)
		}
		if now().Sub(begin) > patience || p.isClosed() {
			return nil, err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// patience is how long is waited for a server.
const patience = 30 * time.Second

// message reads a message of MongoDB's protocol.
func message(c net.Conn) ([]byte, error) {
	out := make([]byte, 4)
	if _, err := io.ReadFull(c, out); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(out)
	if n < 16 || n > 48<<20 {
		return nil, fmt.Errorf("a message of %d bytes", n)
	}
	out = append(out, make([]byte, n-4)...)
	_, err := io.ReadFull(c, out[4:])
	return out, err
}

func (p *Proxy) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// add registers a connection; false is returned at the end.
func (p *Proxy) add(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return false
	}
	p.conns[c] = true
	return true
}

func (p *Proxy) fork() *rand.Rand { return rand.New(rand.NewPCG(p.rng.Uint64(), p.rng.Uint64())) }

// lose ends connections: in order, or with a reset, which takes along what is under way.
func (p *Proxy) lose(reset bool, conns ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if tcp, ok := c.(*net.TCPConn); ok && reset {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
		delete(p.conns, c)
	}
}

// pump forwards what comes from one side to the other, until it is lost.
func (p *Proxy) pump(to, from net.Conn, rng *rand.Rand) {
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		f := p.faults.Load()
		if rng.Float64() < f.Slow {
			time.Sleep(time.Duration(rng.Int64N(int64(f.Delay) + 1)))
		}
		cut := err == nil && rng.Float64() < f.Cut
		if cut {
			n = [...]int{0, rng.IntN(n + 1), n}[rng.IntN(3)]
			p.cuts.Add(1)
		}
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil || cut {
			p.lose(cut && rng.IntN(2) == 0, to, from)
			return
		}
	}
}
