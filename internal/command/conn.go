package command

import (
	"crypto/sha256"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
)

// Conn is the state of a connection that commands see. Commands of one connection run one after
// another; only they change it.
type Conn struct {
	ID     int64
	Remote string
	// Local is the address by which the client reaches the server.
	Local string
	// LocalOnly reports that the peer is on this machine: a loopback address, a Unix socket or
	// memory.
	LocalOnly bool
	// User is the authenticated user, "" while there are none.
	User string
	Op   session.Op
	// Output is where replies are built. The server releases what it holds.
	Output read.Output

	// Digest stands for the user in session ids.
	Digest [32]byte
	// metadata is the client document of the first hello.
	ClientMetadata bsonx.Doc
	ClientApp      string
	nextID         atomic.Int32

	// What the last commands named: most connections name the same again and again.
	lastDB, lastCollection string
	LastCommand            *Entry
	LastSession            *session.Session

	scripting *read.Scripting // nil after a cursor took it
	Last      ending
	Ids       idBlock
	Tally     *Tally
}

// NewConn returns the state of a new connection and lists its operations until Release.
func (s *Service) NewConn(id int64, remote, local string, localOnly bool) *Conn {
	c := &Conn{ID: id, Remote: remote, Local: local, LocalOnly: localOnly, Digest: UserDigest(""), Output: read.Output{Held: s.Memory.Hold()}}
	c.Op.Client = session.Client{ConnectionID: id, Remote: remote}
	c.Op.Memory.Use(s.Memory)
	c.Tally = &s.Stats.Tallies[uint64(id)%tallies]
	s.Ops.Add(&c.Op)
	return c
}

// Release forgets a connection that has ended.
func (s *Service) Release(c *Conn) { s.Ops.Remove(&c.Op) }

// Database checks the name of a database and returns it as a string.
func (c *Conn) Database(name []byte) (string, error) {
	if len(name) > 0 && string(name) == c.lastDB {
		return c.lastDB, nil
	}
	db := internDB(name)
	if err := checkDatabaseName(db); err != nil {
		return db, err
	}
	c.lastDB = db
	return db, nil
}

// Collection returns the name of a collection as a string.
func (c *Conn) Collection(name []byte) string {
	switch {
	case string(name) == c.lastCollection:
	case len(name) > limits.NamespaceBytes:
		return string(name)
	default:
		c.lastCollection = string(name)
	}
	return c.lastCollection
}

// RequestID returns the next number for a message to the client.
func (c *Conn) RequestID() int32 { return c.nextID.Add(1) }

// UserDigest returns the SHA-256 of the name of a user, which is a part of session ids. The digest
// of "" stands for no user.
func UserDigest(user string) [32]byte { return sha256.Sum256([]byte(user)) }

// Own completes an id that a client sent with its user, so that users never share sessions.
func (c *Conn) Own(id session.SessionID) session.SessionID {
	if id.User == ([32]byte{}) {
		id.User = c.Digest
	}
	return id
}
