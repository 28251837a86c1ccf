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

// Proxy is a network between clients and a server. It loses connections and is slow, at random. Its
// random decisions depend only on a seed. Toxiproxy, a library for this, uses the clock and its own
// generator instead.
//
// The first message of a connection and its reply always get through, if necessary to a server that
// was started meanwhile. The reason is that drivers do not retry if they cannot greet a server.
type Proxy struct {
	// Addr is the address for clients.
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

// Faults are the probabilities, from 0 to 1, with which the network disturbs each piece of data.
type Faults struct {
	// Cut is the probability that the connection is lost: before, in the middle of or after the
	// piece.
	Cut float64
	// Slow is the probability that the piece is delayed, by at most Delay.
	Slow  float64
	Delay time.Duration
}

// NewProxy opens a network without faults to a server, whose address may change. The end of the
// test closes it.
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

// Set replaces the faults of the network.
func (p *Proxy) Set(f Faults) { p.faults.Store(&f) }

// Cuts returns the number of lost connections.
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

// forward connects a client to the server.
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

// greet sends a connection's first message to the server until there is a reply, and gives the
// reply to the client.
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

// patience is how long the proxy waits for a server.
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

// add registers a connection. It reports false if the proxy is closed.
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

// lose ends connections: normally, or with a reset, which also loses data in transit.
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

// pump forwards data from one side to the other until the connection is lost.
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
