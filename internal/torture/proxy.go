package torture

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is a network between clients and a server that loses connections and is slow, at random. Toxiproxy, the library for this,
// decides by the clock and its own generator; here a seed decides.
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
	// Cut is how probably the connection is lost: before the piece, in the midst of it or behind it.
	Cut float64
	// Slow is how probably the piece waits, for at most Delay.
	Slow  float64
	Delay time.Duration
}

// NewProxy opens a network without faults to a server, whose address may change. It is closed with the test.
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
		server, err := net.Dial("tcp", p.server())
		if err != nil {
			_ = client.Close()
			continue
		}
		up, down, ok := p.add(client, server)
		if !ok {
			return
		}
		p.wg.Go(func() { p.pump(server, client, up) })
		p.wg.Go(func() { p.pump(client, server, down) })
	}
}

// add registers a pair of connections, and returns a generator for each direction.
func (p *Proxy) add(client, server net.Conn) (up, down *rand.Rand, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_, _ = client.Close(), server.Close()
		return nil, nil, false
	}
	p.conns[client], p.conns[server] = true, true
	fork := func() *rand.Rand { return rand.New(rand.NewPCG(p.rng.Uint64(), p.rng.Uint64())) }
	return fork(), fork(), true
}

// lose ends a pair of connections: sometimes in order, sometimes with a reset, which takes along what is under way.
func (p *Proxy) lose(a, b net.Conn, reset bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{a, b} {
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
			p.lose(to, from, cut && rng.IntN(2) == 0)
			return
		}
	}
}
