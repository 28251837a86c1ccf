package command

import (
	"encoding/binary"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// The offsets of the two timestamps in the fields of timesOfReply. clusterTimeAt counts from the
// beginning of the fields, operationTimeAt from their end.
const (
	clusterTimeAt   = 1 + len("$clusterTime\x00") + 4 + 1 + len("clusterTime\x00")
	operationTimeAt = 8
)

// timesOfReply is a template for AppendTimes, which overwrites both timestamps. The signature is
// zero, because a server without users has no key to sign the time with.
var timesOfReply = bsonx.NewDoc(
	"$clusterTime", bsonx.NewDoc(
		"clusterTime", bsonx.Timestamp(0, 0),
		"signature", bsonx.NewDoc("hash", bsonx.Binary(0, make([]byte, 20)), "keyId", int64(0)),
	),
	"operationTime", bsonx.Timestamp(0, 0),
)

// AppendTimes appends $clusterTime and operationTime to the reply of a replica set member.
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

// StampNow returns the first stamp of the current second.
func (s *Service) StampNow() storage.Stamp { return storage.StampAt(s.settled.Now()) }
