package command

import (
	"crypto/sha256"
	"sync/atomic"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/read"
	"github.com/sheafdb/sheaf/internal/session"
)

// Conn is the part of a connection that commands use. The commands of a connection run one at a
// time, and only they change it.
type Conn struct {
	ID     int64
	Remote string
	// Local is the address of the server that the client has connected to.
	Local string
	// LocalOnly is true if the client is on this machine: it uses a loopback address, a Unix socket
	// or memory.
	LocalOnly bool
	// User is the name of the authenticated user. It is always empty, because there are no users
	// yet.
	User string
	Op   session.Op
	// Output is the buffer for the documents of a reply. The server releases its memory.
	Output read.Output

	// Digest identifies the user in session ids; see UserDigest.
	Digest [32]byte
	// ClientMetadata is the client document of the first hello.
	ClientMetadata bsonx.Doc
	ClientApp      string
	nextID         atomic.Int32

	// The names and the session of the last command. Most connections repeat them, so this saves a
	// look-up.
	lastDB, lastCollection string
	LastCommand            *Entry
	LastSession            *session.Session

	scripting *read.Scripting // JavaScript state of the next command; nil after a cursor took it over
	Last      ending
	Ids       idBlock
	Tally     *Tally
}

// NewConn returns the state of a new connection. $currentOp lists its operations until Release is
// called.
func (s *Service) NewConn(id int64, remote, local string, localOnly bool) *Conn {
	c := &Conn{
		ID: id, Remote: remote, Local: local, LocalOnly: localOnly, Digest: UserDigest(""),
		Output: read.Output{Held: s.Memory.Hold()},
	}
	c.Op.Client = session.Client{ConnectionID: id, Remote: remote}
	c.Op.Memory.Use(s.Memory)
	c.Tally = &s.Stats.Tallies[uint64(id)%tallies]
	s.Ops.Add(&c.Op)
	return c
}

// Release removes a closed connection from the list of operations.
func (s *Service) Release(c *Conn) { s.Ops.Remove(&c.Op) }

// Database checks the name of a database and returns it as a string, without an allocation if the
// last command used the same name.
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

// Collection returns the name of a collection as a string, without an allocation if the last
// command used the same name. It does not check the name.
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

// RequestID returns the request id of the next message to the client.
func (c *Conn) RequestID() int32 { return c.nextID.Add(1) }

// UserDigest returns the SHA-256 of a user's name, which is a part of session ids. The digest of
// the empty name stands for no user.
func UserDigest(user string) [32]byte { return sha256.Sum256([]byte(user)) }

// Own returns a session id that a client sent. If the id has no user digest, Own adds the digest of
// the connection's user. So two users who choose the same UUID have different sessions.
func (c *Conn) Own(id session.SessionID) session.SessionID {
	if id.User == ([32]byte{}) {
		id.User = c.Digest
	}
	return id
}
