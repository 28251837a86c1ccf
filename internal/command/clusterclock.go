package command

import (
	"context"
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Where the two times stand in the fields of timesOfReply: from their beginning, and from their end.
const (
	clusterTimeAt   = 1 + len("$clusterTime\x00") + 4 + 1 + len("clusterTime\x00")
	operationTimeAt = 8
)

// timesOfReply is a document with the fields that AppendTimes appends. Without users nothing signs the time: the key is 0.
var timesOfReply = bsonx.NewDoc(
	"$clusterTime", bsonx.NewDoc(
		"clusterTime", bsonx.Timestamp(0, 0),
		"signature", bsonx.NewDoc("hash", bsonx.Binary(0, make([]byte, 20)), "keyId", int64(0)),
	),
	"operationTime", bsonx.Timestamp(0, 0),
)

// AppendTimes ends a reply of a replica set's member.
func (s *Service) AppendTimes(b *bsonx.Builder, op *session.Op) {
	now := s.Order.Visible()
	at := op.Stamp
	if at == 0 {
		at = now
	}
	start := b.Len()
	b.Fields(timesOfReply)
	binary.LittleEndian.PutUint64(b.Bytes()[start+clusterTimeAt:], uint64(max(now, at)))
	binary.LittleEndian.PutUint64(b.Bytes()[b.Len()-operationTimeAt:], uint64(at))
}

// LearnTime takes in the cluster time of a client.
func (s *Service) LearnTime(req *Request) error {
	t := req.Generic.ClusterTime
	if !s.Replicates() || t <= s.Order.Visible() {
		return nil
	}
	now := req.Now.Unix()
	if int64(t.Seconds())-now > s.maxClockDrift.Load() {
		return mongoerr.New(mongoerr.ClusterTimeFailsRateLimiter, "New cluster time, %d, is too far from this node's wall clock time, %d.",
			t.Seconds(), now)
	}
	s.Order.Advance(t)
	return nil
}

// AwaitTime waits until everything up to a stamp can be read.
func (s *Service) AwaitTime(ctx context.Context, t storage.Stamp) error {
	if t <= s.Order.Visible() {
		return nil
	}
	s.Order.Advance(t)
	for {
		arrival := s.Order.Arrival()
		if t <= s.Order.Visible() {
			return nil
		}
		select {
		case <-arrival:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// StampNow returns the least stamp of what happens now.
func (s *Service) StampNow() storage.Stamp { return storage.StampAt(s.settled.Now()) }
