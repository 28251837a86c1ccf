package command

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/read"
)

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
