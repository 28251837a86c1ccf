package command

import (
	"net"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/storage"
)

// DefaultReplicaSet is the default name of the replica set whose only member is this server.
const DefaultReplicaSet = "rs0"

// ElectionID is the election id of the set's only term. Drivers compare election ids to tell an old
// primary from the new one.
var ElectionID = [12]byte{0: 0x7f, 1: 0xff, 2: 0xff, 3: 0xff, 11: SetTerm}

// Replicates reports whether the server presents itself as a member of a replica set.
func (s *Service) Replicates() bool { return s.ReplicaSet != "" }

// Member returns the server's name in its replica set, as host:port. local is the address that the
// client has connected to, and if it is not empty, it is the name. Reason: drivers connect to the
// members that hello lists, and drop the address they were given if hello does not list it. So
// hello must list an address that the client can reach. All replies on a connection use the same
// name. Without local the name is the host name, with MongoDB's port 27017 if no port is served.
func (s *Service) Member(local string) string {
	switch {
	case local != "":
		return local
	case s.Port.Load() > 0:
		return s.HostAndPort()
	}
	return net.JoinHostPort(s.Hostname, "27017")
}

// HeartbeatMillis is the heartbeat interval of the set's configuration, in milliseconds.
const HeartbeatMillis = 2000

// AppendConfig appends the configuration of a set whose only member is named member.
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

// Constants of a set whose only member elected itself once.
const (
	SetVersion = 1
	SetTerm    = 1

	StatePrimary = 1
)

// AppendOptime appends an optime, a position in the oplog, as {ts, t}: stamp and term.
func AppendOptime(b *bsonx.Builder, key string, at storage.Stamp) {
	b.StartDocField(key)
	b.Value("ts", oplog.Timestamp(at))
	b.Int64("t", SetTerm)
	b.End()
}

// MillisOf returns the time of a stamp, in milliseconds since 1970.
func MillisOf(at storage.Stamp) int64 { return int64(at.Seconds()) * 1000 }

// Durable returns the stamp up to which all commits are synced to disk. The result is not greater
// than the stamp at.
func (s *Service) Durable(at storage.Stamp) storage.Stamp {
	if s.Store == nil {
		return at
	}
	return min(at, s.Store.Engine().Durable())
}
