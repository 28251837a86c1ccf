package patterntest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// errDied is what a connection answers after the death of its process.
var errDied = errors.New("patterntest: the process is dead")

// fuse makes the connections of a client, and breaks them all at one point.
type fuse struct {
	dialer options.ContextDialer
	death  Death
	blow   context.CancelFunc

	mu       sync.Mutex
	armed    bool // commands count
	blown    bool
	commands int // that were sent
	conns    []net.Conn
}

// dialerOf returns how a client connects.
func dialerOf(o *options.ClientOptions) options.ContextDialer {
	if o.Dialer != nil {
		return o.Dialer
	}
	return &net.Dialer{}
}

// DialContext implements options.ContextDialer.
func (f *fuse) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := f.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blown {
		return nil, errors.Join(errDied, c.Close())
	}
	f.conns = append(f.conns, c)
	return &fusedConn{Conn: c, fuse: f}, nil
}

// arm begins to count.
func (f *fuse) arm() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = true
}

func (f *fuse) state() (blown bool, commands int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blown, f.commands
}

// sends is asked before a command is sent. last reports that its answer must not arrive.
func (f *fuse) sends() (last bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return false, nil
	}
	if !f.blown && f.commands == f.death.Commands {
		f.die()
	}
	if f.blown {
		return false, errDied
	}
	f.commands++
	return f.death.Unheard && f.commands == f.death.Commands, nil
}

// kill ends the process.
func (f *fuse) kill() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.blown {
		f.die()
	}
	return errDied
}

// die needs the lock.
func (f *fuse) die() {
	f.blown = true
	f.blow()
	for _, c := range f.conns {
		_ = c.Close() // the peer may have closed it; it is of no use any more either way
	}
}

// fusedConn is a connection of a fuse. As the driver uses it, one goroutine at a time writes, and
// then reads.
type fusedConn struct {
	net.Conn
	fuse *fuse
	last bool // the answer that comes must not arrive
}

// Write implements net.Conn.
func (c *fusedConn) Write(p []byte) (int, error) {
	command, answered := parseCommand(p)
	if !command {
		return c.Conn.Write(p)
	}
	last, err := c.fuse.sends()
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(p)
	if last && !answered {
		return n, c.fuse.kill()
	}
	c.last = last
	return n, err
}

// Read implements net.Conn.
func (c *fusedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if c.last {
		return 0, c.fuse.kill() // the command was executed: its answer has begun to arrive
	}
	return n, err
}

// Of an OP_MSG message: https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
const (
	opMsg        = 2013
	headerSize   = 16
	bodyOffset   = headerSize + 4 + 1 // behind the flags and the kind of the first section
	nameOffset   = bodyOffset + 4 + 1 // behind the length of the document and the type of its first field
	flagOneWayTo = 1 << 1             // moreToCome: there will be no answer
)

// parseCommand reports whether a message is a command of the application, and whether it will be
// answered. What a driver does on its own account to keep its connections does not count.
func parseCommand(p []byte) (command, answered bool) {
	if len(p) < nameOffset || binary.LittleEndian.Uint32(p[12:]) != opMsg || p[headerSize+4] != 0 {
		return false, true
	}
	name, _, _ := bytes.Cut(p[nameOffset:], []byte{0})
	switch string(name) {
	case "hello", "isMaster", "ismaster", "endSessions", "saslStart", "saslContinue":
		return false, true
	// what patterns.Prepared asks once: an operation is not at another point behind it
	case "listIndexes", "listCollections":
		return false, true
	}
	return true, binary.LittleEndian.Uint32(p[headerSize:])&flagOneWayTo == 0
}
