package command

import (
	"net"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// DefaultReplicaSet is the name of the replica set of one member that the server presents by
// default.
const DefaultReplicaSet = "rs0"

// ElectionID is that of the set's first term; drivers compare it to tell old primaries from new
// ones.
var ElectionID = [12]byte{0: 0x7f, 1: 0xff, 2: 0xff, 3: 0xff, 11: SetTerm}

// Replicates reports whether the server presents itself as the member of a replica set.
func (s *Service) Replicates() bool { return s.ReplicaSet != "" }

// Member returns the name under which the server is a member of its set for clients that reach it
// by the address local. Drivers go on with the members that hello tells them, and leave the address
// that they were given if it is not among them: so the name is that address, which the client can
// reach whatever name it used. All that tells the name tells the same on a connection. A member has
// a port; without an address and a port that is served it is MongoDB's.
func (s *Service) Member(local string) string {
	switch {
	case local != "":
		return local
	case s.Port.Load() > 0:
		return s.HostAndPort()
	}
	return net.JoinHostPort(s.Hostname, "27017")
}

// HeartbeatMillis is how often members of a set would ask each other.
const HeartbeatMillis = 2000

// AppendConfig appends the configuration of the set whose only member has a name.
func (s *Service) AppendConfig(reply *bsonx.Builder, member string) {
	reply.String("_id", s.ReplicaSet)
	reply.Int32("version", SetVersion)
	reply.Int64("term", SetTerm)
	reply.StartArrayField("members")
	reply.StartDocElem()
	reply.Int32("_id", 0)
	reply.String("host", member)
	reply.Bool("arbiterOnly", false)
	reply.Bool("buildIndexes", true)
	reply.Bool("hidden", false)
	reply.Int32("priority", 1)
	reply.Doc("tags", bsonx.Empty)
	reply.Int64("secondaryDelaySecs", 0)
	reply.Int32("votes", 1)
	reply.End()
	reply.End()
	reply.Int64("protocolVersion", 1)
	reply.Bool("writeConcernMajorityJournalDefault", true)
	reply.StartDocField("settings")
	reply.Bool("chainingAllowed", true)
	reply.Int32("heartbeatIntervalMillis", HeartbeatMillis)
	reply.Int32("heartbeatTimeoutSecs", 10)
	reply.Int32("electionTimeoutMillis", 10_000)
	reply.Int32("catchUpTimeoutMillis", -1)
	reply.Int32("catchUpTakeoverDelayMillis", 30_000)
	reply.Doc("getLastErrorModes", bsonx.Empty)
	reply.Doc("getLastErrorDefaults", bsonx.NewDoc("w", 1, "wtimeout", 0))
	reply.Value("replicaSetId", bsonx.ObjectID(ElectionID))
	reply.End()
}

// What never changes in a set of one member that elected itself once.
const (
	SetVersion = 1
	SetTerm    = 1

	StatePrimary = 1
)

// AppendOptime appends a place in the oplog: a stamp and the term.
func AppendOptime(b *bsonx.Builder, key string, at storage.Stamp) {
	b.StartDocField(key)
	b.Value("ts", oplog.Timestamp(at))
	b.Int64("t", SetTerm)
	b.End()
}

// MillisOf returns the time of a stamp in milliseconds since 1970.
func MillisOf(at storage.Stamp) int64 { return int64(at.Seconds()) * 1000 }

// Durable returns the place in the log up to which everything is synced, not behind at.
func (s *Service) Durable(at storage.Stamp) storage.Stamp {
	if s.Store == nil {
		return at
	}
	return min(at, s.Store.Engine().Durable())
}
