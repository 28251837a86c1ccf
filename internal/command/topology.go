package command

import (
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// topology tells drivers that wait in a hello when the server's answer to hello changes. The only
// change of a set of one member is that it stops.
type topology struct {
	Process [12]byte
	Mu      sync.Mutex
	Counter int64
	Changed chan struct{}
	Stopped bool
	Waiting atomic.Int64 // number of hellos that wait for a change
}

// TopologyVersion numbers the states of one server process. Drivers ignore a hello with an older
// version.
type TopologyVersion struct {
	Process [12]byte
	Counter int64
}

// Append appends the version as a field.
func (v TopologyVersion) Append(b *bsonx.Builder, key string) {
	b.StartDocField(key)
	b.Value("processId", bsonx.ObjectID(v.Process))
	b.Int64("counter", v.Counter)
	b.End()
}

func (t *topology) init(now time.Time) {
	binary.BigEndian.PutUint32(t.Process[:], uint32(now.Unix()))
	binary.BigEndian.PutUint64(t.Process[4:], rand.Uint64())
	t.Changed = make(chan struct{})
}

func (t *topology) Version() TopologyVersion {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	return TopologyVersion{t.Process, t.Counter}
}

// Bump announces a change to all waiting hellos.
func (t *topology) Bump() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !t.Stopped {
		t.Counter++
		close(t.Changed)
		t.Changed = make(chan struct{})
	}
}

// stop announces to all waiting hellos that the server stops.
func (t *topology) stop() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !t.Stopped {
		t.Stopped = true
		t.Counter++
		close(t.Changed)
	}
}

// The error codes of a hello that waits for a change of the topology.
const (
	CodeNegativeCounter = mongoerr.Code(51758)
	CodeNegativeAwait   = mongoerr.Code(51759)
	CodeAwaitIncomplete = mongoerr.Code(51760)
	CodeTopologyFuture  = mongoerr.Code(31382)
)
