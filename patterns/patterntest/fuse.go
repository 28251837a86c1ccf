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

// errDied is the error of each connection after the death of the process.
var errDied = errors.New("patterntest: the process is dead")

// fuse makes the connections of a client, and closes all of them at the point at which the process
// dies.
type fuse struct {
	dialer options.ContextDialer
	death  Death
	blow   context.CancelFunc

	mu sync.Mutex
	// armed is set by arm: from then on the fuse counts commands.
	armed bool
	blown bool
	// commands is the number of commands that were sent.
	commands int
	conns    []net.Conn
}

// dialerOf returns the dialer of the options, or the default dialer.
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

// arm makes the fuse count commands from now on.
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

// sends decides before a command is sent: it returns errDied if the process is dead or dies now.
// last reports that the process must die before the reply to the command arrives.
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

// kill lets the process die and returns errDied.
func (f *fuse) kill() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.blown {
		f.die()
	}
	return errDied
}

// die closes all connections and ends the context of the operation. The caller must hold mu.
func (f *fuse) die() {
	f.blown = true
	f.blow()
	for _, c := range f.conns {
		// An error means that the server has closed the connection already.
		_ = c.Close()
	}
}

// fusedConn is a connection of a fuse. The driver uses it in one goroutine at a time: the goroutine
// writes a command, and then reads the reply.
type fusedConn struct {
	net.Conn
	fuse *fuse
	// last is set if the process must die before the next reply arrives.
	last bool
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
		// The reply has begun to arrive, so that the server has executed the command.
		return 0, c.fuse.kill()
	}
	return n, err
}

// The layout of an OP_MSG message:
// https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
const (
	opMsg      = 2013
	headerSize = 16
	// bodyOffset is the end of the flags and of the kind of the first section.
	bodyOffset = headerSize + 4 + 1
	// nameOffset is the end of the document's length and of the type of its first field.
	nameOffset = bodyOffset + 4 + 1
	// flagOneWayTo is the flag moreToCome: there will not be a reply.
	flagOneWayTo = 1 << 1
)

// parseCommand reports whether a message is a command of the application, and whether the server
// will reply to it. Commands that the driver sends to keep its connections do not count.
func parseCommand(p []byte) (command, answered bool) {
	if len(p) < nameOffset || binary.LittleEndian.Uint32(p[12:]) != opMsg || p[headerSize+4] != 0 {
		return false, true
	}
	name, _, _ := bytes.Cut(p[nameOffset:], []byte{0})
	switch string(name) {
	case "hello", "isMaster", "ismaster", "endSessions", "saslStart", "saslContinue":
		return false, true
	// patterns.Prepared sends these commands once in a process. For the operation, a death before
	// one of them is the same as a death after it.
	case "listIndexes", "listCollections":
		return false, true
	}
	return true, binary.LittleEndian.Uint32(p[headerSize:])&flagOneWayTo == 0
}
