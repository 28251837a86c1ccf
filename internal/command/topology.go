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
	process [12]byte
	mu      sync.Mutex
	counter int64
	changed chan struct{}
	stopped bool
	Waiting atomic.Int64 // hellos that wait for a change
}

// TopologyVersion orders the states of one process.
type TopologyVersion struct {
	process [12]byte
	counter int64
}

// Append appends the version as a field.
func (v TopologyVersion) Append(b *bsonx.Builder, key string) {
	b.StartDocField(key)
	b.Value("processId", bsonx.ObjectID(v.process))
	b.Int64("counter", v.counter)
	b.End()
}

func (t *topology) init(now time.Time) {
	binary.BigEndian.PutUint32(t.process[:], uint32(now.Unix()))
	binary.BigEndian.PutUint64(t.process[4:], rand.Uint64())
	t.changed = make(chan struct{})
}

func (t *topology) Version() TopologyVersion {
	t.mu.Lock()
	defer t.mu.Unlock()
	return TopologyVersion{t.process, t.counter}
}

// Bump announces a change to the hellos that wait for one.
func (t *topology) Bump() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.counter++
		close(t.changed)
		t.changed = make(chan struct{})
	}
}

// stop announces the end of the server.
func (t *topology) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.stopped {
		t.stopped = true
		t.counter++
		close(t.changed)
	}
}

const (
	codeNegativeCounter = mongoerr.Code(51758)
	codeNegativeAwait   = mongoerr.Code(51759)
	codeAwaitIncomplete = mongoerr.Code(51760)
	codeTopologyFuture  = mongoerr.Code(31382)
)
