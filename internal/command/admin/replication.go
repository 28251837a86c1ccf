package admin

import (
	"context"
	"math"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/session"
	"github.com/sheafdb/sheaf/internal/storage"
)

// ReplicationCommands returns the commands for replica sets. They fail on a standalone server.
func ReplicationCommands() []command.Definition {
	defs := replicaSetCommands()
	for i := range defs {
		run := defs[i].Run
		defs[i].Run = func(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
			if err := checkReplicates(req); err != nil {
				return err
			}
			return run(ctx, req, reply)
		}
	}
	for _, r := range replicationRefusals {
		defs = append(defs, command.Definition{
			Name: r.name, Help: "Refused: the set has one member.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Refuse: func(req *command.Request) error {
				if err := checkReplicates(req); err != nil {
					return err
				}
				return mongoerr.New(r.code, "%s", r.message)
			},
		})
	}
	for i := range defs {
		defs[i].Loose, defs[i].Hidden = true, true
	}
	return defs
}

func replicaSetCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "replSetGetStatus", Help: "Describes the state of the replica set.", Run: runReplSetStatus,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "replSetGetConfig", Help: "Returns the configuration of the replica set.", Run: runReplSetConfig,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "replSetGetRBID",
			Help: "Returns the number of rollbacks, which is that of none.", Run: runReplSetRBID,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "replSetStepUp", Help: "Makes the member the primary, which it is.", Run: runStepUp,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "replSetStepDown", Help: "Makes the primary step down. The only member is elected again at once.", Run: runStepDown,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
		{
			Name: "replSetResizeOplog", Help: "Changes the limits of the log of changes.", Run: runResizeOplog,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{
				{Name: "size", Type: command.SafeInt},
				{Name: "minRetentionHours", Type: command.SafeInt},
			},
		},
		{
			Name: "appendOplogNote", Help: "Adds a document to the log of changes.", Run: runOplogNote,
			Properties: command.Properties{
				Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{
				{Name: "data", Type: command.Any},
				{Name: "maxClusterTime", Type: command.Timestamp},
			},
		},
	}
}

func runStepUp(context.Context, *command.Request, *bsonx.Builder) error { return nil }

func checkReplicates(r *command.Request) error {
	if !r.Service.Replicates() {
		return mongoerr.New(mongoerr.NoReplicationEnabled, "not running with --replSet")
	}
	return nil
}

// replicationRefusals are the commands that always fail in a set with one member.
var replicationRefusals = []struct {
	name    string
	code    mongoerr.Code
	message string
}{
	{"replSetInitiate", mongoerr.AlreadyInitialized, "already initialized"},
	{"replSetReconfig", mongoerr.NewReplicaSetConfigurationIncompatible, "the set has this server as its only member, and its configuration cannot be changed"},
	{"replSetFreeze", mongoerr.NotSecondary, "cannot freeze node when primary or running for election. state: Primary"},
	{"replSetMaintenance", mongoerr.NotSecondary, "primaries can't modify maintenance mode"},
	{"replSetSyncFrom", mongoerr.NotSecondary, "primaries don't sync"},
	{"replSetAbortPrimaryCatchUp", mongoerr.IllegalOperation, "The node is not in catch-up mode."},
	{"replSetHeartbeat", mongoerr.IllegalOperation, "the set has no other member"},
	{"replSetRequestVotes", mongoerr.IllegalOperation, "the set has no other member"},
	{"replSetUpdatePosition", mongoerr.IllegalOperation, "the set has no other member"},
}

// runStepDown fails like a primary without electable secondaries. With force the only member steps
// down and is immediately elected again: its transactions are aborted, and waiting hellos get a new
// topology version.
func runStepDown(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	if req.Body.Lookup("force").Truthy() {
		req.Service.Transactions.KillSession(func(session.SessionID) bool { return true })
		req.Service.Topology.Bump()
		return nil
	}
	return mongoerr.New(mongoerr.ExceededTimeLimit, "No electable secondaries caught up as of %s. Please use the replSetStepDown "+
		"command with the argument {force: true} to force node to step down.", req.Now.UTC().Format("2006-01-02T15:04:05.000-0700"))
}

func runReplSetRBID(_ context.Context, _ *command.Request, reply *bsonx.Builder) error {
	reply.Int32("rbid", 1)
	return nil
}

// runReplSetStatus runs the command replSetGetStatus. Because the set has one member, the newest
// write is always committed and applied.
func runReplSetStatus(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	at := s.Order.Visible()
	reply.String("set", s.ReplicaSet)
	reply.Date("date", req.Now.UnixMilli())
	reply.Int32("myState", command.StatePrimary)
	reply.Int64("term", command.SetTerm)
	reply.String("syncSourceHost", "")
	reply.Int32("syncSourceId", -1)
	reply.Int64("heartbeatIntervalMillis", command.HeartbeatMillis)
	for _, count := range [...]string{
		"majorityVoteCount", "writeMajorityCount", "votingMembersCount",
		"writableVotingMembersCount",
	} {
		reply.Int32(count, 1)
	}
	reply.StartDocField("optimes")
	command.AppendOptime(reply, "lastCommittedOpTime", at)
	reply.Date("lastCommittedWallTime", command.MillisOf(at))
	durable := s.Durable(at)
	command.AppendOptime(reply, "readConcernMajorityOpTime", at)
	command.AppendOptime(reply, "appliedOpTime", at)
	command.AppendOptime(reply, "durableOpTime", durable)
	command.AppendOptime(reply, "writtenOpTime", at)
	reply.Date("lastAppliedWallTime", command.MillisOf(at))
	reply.Date("lastDurableWallTime", command.MillisOf(durable))
	reply.Date("lastWrittenWallTime", command.MillisOf(at))
	reply.End()
	reply.Value("lastStableRecoveryTimestamp", oplog.Timestamp(durable))
	reply.StartArrayField("members")
	reply.StartDocElem()
	appendMemberStatus(s, req, reply, at)
	reply.End()
	reply.End()
	return nil
}

func appendMemberStatus(s *command.Service, req *command.Request, b *bsonx.Builder, at storage.Stamp) {
	b.Int32("_id", 0)
	b.String("name", s.Member(req.Conn.Local))
	b.Double("health", 1)
	b.Int32("state", command.StatePrimary)
	b.String("stateStr", "PRIMARY")
	b.Int32("uptime", int32(req.Now.Sub(s.Started)/time.Second))
	command.AppendOptime(b, "optime", at)
	b.Date("optimeDate", command.MillisOf(at))
	command.AppendOptime(b, "optimeWritten", at)
	b.Date("optimeWrittenDate", command.MillisOf(at))
	b.Date("lastAppliedWallTime", command.MillisOf(at))
	b.Date("lastDurableWallTime", command.MillisOf(s.Durable(at)))
	b.Date("lastWrittenWallTime", command.MillisOf(at))
	b.String("syncSourceHost", "")
	b.Int32("syncSourceId", -1)
	b.String("infoMessage", "")
	b.Value("electionTime", oplog.Timestamp(storage.StampAt(s.Started)))
	b.Date("electionDate", s.Started.Unix()*1000)
	b.Int32("configVersion", command.SetVersion)
	b.Int64("configTerm", command.SetTerm)
	b.Bool("self", true)
	b.String("lastHeartbeatMessage", "")
}

func runReplSetConfig(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	reply.StartDocField("config")
	s.AppendConfig(reply, s.Member(req.Conn.Local))
	reply.End()
	if req.Body.Lookup("commitmentStatus").Truthy() {
		reply.Bool("commitmentStatus", true)
	}
	return nil
}

// The limits of the argument size of replSetResizeOplog, in megabytes.
const (
	minOplogMegabytes = 990
	maxOplogMegabytes = 1 << 50 / 1_000_000
)

func runResizeOplog(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	store := req.Service.Store
	size, retention := store.OplogLimits()
	if v := req.Get("size"); !v.IsMissing() {
		n := bsonx.SaturatingInt64(v)
		if n < minOplogMegabytes || n > maxOplogMegabytes {
			return mongoerr.New(mongoerr.BadValue, "BSON field 'size' value must be >= %d and <= %d, actual value '%d'",
				minOplogMegabytes, int64(maxOplogMegabytes), n)
		}
		size = n << 20
	}
	if v := req.Get("minRetentionHours"); !v.IsMissing() {
		hours, _ := v.AsFloat64()
		if !(hours >= 0) || hours > float64(math.MaxInt64/time.Hour) {
			return mongoerr.New(mongoerr.BadValue, "BSON field 'minRetentionHours' value must be >= 0, actual value '%s'", bsonx.NumberText(v))
		}
		retention = time.Duration(hours * float64(time.Hour))
	}
	return store.ResizeOplog(size, retention)
}

func runOplogNote(_ context.Context, req *command.Request, _ *bsonx.Builder) error {
	data := req.Get("data")
	switch {
	case data.IsMissing():
		return mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"data\"")
	case data.Type != bsonx.TypeDocument:
		return mongoerr.New(mongoerr.TypeMismatch, "\"data\" had the wrong type. Expected object, found %s", data.Type)
	}
	if v := req.Get("maxClusterTime"); !v.IsMissing() && command.StampOf(v) <= req.Service.Order.Visible() {
		return mongoerr.New(mongoerr.StaleClusterTime, "Requested maxClusterTime %s is less or equal to the last primary OpTime: %s",
			command.StampOf(v), req.Service.Order.Visible())
	}
	return req.Service.Store.Log().Noop(data.Doc())
}

// appendRepl appends the section repl of serverStatus.
func appendRepl(s *command.Service, reply *bsonx.Builder, conn *command.Conn) {
	version := s.Topology.Version()
	reply.StartDocField("repl")
	version.Append(reply, "topologyVersion")
	appendMember(s, reply, conn, "isWritablePrimary")
	reply.Int32("rbid", 1)
	reply.End()
}
