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

// topology tells waiting drivers when what hello answers has changed: for a server alone, when it stops.
type topology struct {
	Process [12]byte
	Mu      sync.Mutex
	Counter int64
	Changed chan struct{}
	Stopped bool
	Waiting atomic.Int64 // hellos that wait for a change
}

// TopologyVersion orders the states of one process.
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

// Bump announces a change to the hellos that wait for one.
func (t *topology) Bump() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !t.Stopped {
		t.Counter++
		close(t.Changed)
		t.Changed = make(chan struct{})
	}
}

// stop announces the end of the server.
func (t *topology) stop() {
	t.Mu.Lock()
	defer t.Mu.Unlock()
	if !t.Stopped {
		t.Stopped = true
		t.Counter++
		close(t.Changed)
	}
}

// Errors of a hello that waits for a change of the topology.
const (
	CodeNegativeCounter = mongoerr.Code(51758)
	CodeNegativeAwait   = mongoerr.Code(51759)
	CodeAwaitIncomplete = mongoerr.Code(51760)
	CodeTopologyFuture  = mongoerr.Code(31382)
)
