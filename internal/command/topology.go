package command

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
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

// AwaitTopology delays an awaitable hello until the topology changes or its maxAwaitTimeMS has
// passed.
func (s *Service) AwaitTopology(ctx context.Context, req *Request) error {
	tv, wait := req.Doc("topologyVersion"), req.Get("maxAwaitTimeMS")
	switch {
	case tv == nil && wait.IsMissing():
		return nil
	case tv == nil:
		return mongoerr.New(codeAwaitIncomplete, "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'")
	case wait.IsMissing():
		return mongoerr.New(codeAwaitIncomplete, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'")
	case bsonx.SaturatingInt64(wait) < 0:
		return mongoerr.New(codeNegativeAwait, "maxAwaitTimeMS must be a non-negative integer")
	}
	known, err := parseTopologyVersion(tv)
	if err != nil {
		return err
	}
	t := &s.Topology
	t.mu.Lock()
	now, changed, stopped := TopologyVersion{t.process, t.counter}, t.changed, t.stopped
	t.mu.Unlock()
	if known.process != now.process || stopped {
		return nil
	}
	if known.counter > now.counter {
		return mongoerr.New(codeTopologyFuture, "Received a topology version with counter: %d which is greater than the server "+
			"topology version counter: %d", known.counter, now.counter)
	}
	if known.counter < now.counter {
		return nil
	}
	t.Waiting.Add(1)
	defer t.Waiting.Add(-1)
	_, err = read.Await(ctx, req.Op, req.Service.Clock, changed, time.Duration(bsonx.SaturatingInt64(wait))*time.Millisecond)
	return err
}

var topologyFields = []Field{{Name: "processId", Type: ObjectID, Required: true}, {Name: "counter", Type: Long, Required: true}}

func parseTopologyVersion(doc bsonx.Doc) (TopologyVersion, error) {
	var v TopologyVersion
	err := ParseFields("TopologyVersion", doc, topologyFields, func(i int, val bsonx.Value) error {
		if i == 0 {
			v.process = val.ObjectID()
			return nil
		}
		if v.counter = val.Int64(); v.counter < 0 {
			return mongoerr.New(codeNegativeCounter, "topologyVersion must have a non-negative counter")
		}
		return nil
	})
	return v, err
}

const (
	codeNegativeCounter = mongoerr.Code(51758)
	codeNegativeAwait   = mongoerr.Code(51759)
	codeAwaitIncomplete = mongoerr.Code(51760)
	codeTopologyFuture  = mongoerr.Code(31382)
)
