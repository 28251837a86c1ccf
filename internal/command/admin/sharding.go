package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// ShardingCommands returns the sharding commands that every mongod has. They reply as on a replica
// set that is not part of a sharded cluster.
func ShardingCommands() []command.Definition {
	defs := []command.Definition{{
		Name: "shardingState", Help: "Tells whether the server belongs to a sharded cluster.",
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
		Run: func(_ context.Context, _ *command.Request, reply *bsonx.Builder) error {
			reply.Bool("enabled", false)
			return nil
		},
	}}
	for _, r := range []struct {
		name    string
		code    mongoerr.Code
		message string
	}{
		{"getShardVersion", mongoerr.NoShardingEnabled, noShardServer},
		{"cleanupOrphaned", mongoerr.NoShardingEnabled, noShardServer},
		{"getShardMap", mongoerr.ShardingStateNotInitialized, "Sharding is not enabled"},
		{"flushRouterConfig", mongoerr.ShardingStateNotInitialized, "Sharding is not enabled"},
	} {
		defs = append(defs, command.Definition{
			Name: r.name, Help: "Refused: the server belongs to no sharded cluster.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Refuse: func(*command.Request) error { return mongoerr.New(r.code, "%s", r.message) },
		})
	}
	for i := range defs {
		defs[i].Loose, defs[i].Hidden = true, true
	}
	return defs
}

const noShardServer = "Cannot accept sharding commands if not started with --shardsvr"
