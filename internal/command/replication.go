package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// replicationNames are the commands that a server outside a replica set refuses with NoReplicationEnabled.
var replicationNames = [...]string{
	"replSetGetStatus", "replSetGetConfig", "replSetInitiate", "replSetReconfig", "replSetStepDown", "replSetStepUp",
	"replSetFreeze", "replSetMaintenance", "replSetSyncFrom", "replSetResizeOplog", "replSetAbortPrimaryCatchUp",
	"replSetHeartbeat", "replSetRequestVotes", "replSetUpdatePosition", "replSetGetRBID", "appendOplogNote",
}

// replicationCommands returns the commands of replica sets, as a standalone answers them.
func replicationCommands() []Definition {
	defs := make([]Definition, 0, len(replicationNames))
	for _, name := range replicationNames {
		defs = append(defs, Definition{
			Name: name, Help: "Needs a replica set.", AdminOnly: true, Loose: true, Hidden: true, Run: runNeedsReplicaSet,
		})
	}
	return defs
}

func runNeedsReplicaSet(context.Context, *Request, *bsonx.Builder) error {
	return mongoerr.New(mongoerr.NoReplicationEnabled, "not running with --replSet")
}
