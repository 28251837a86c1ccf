package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// CollStatsCommands returns the definitions of collStats and dbStats.
func CollStatsCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "collStats", Aliases: []string{"collstats"}, Help: "Shows the size of a collection and its indexes.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Run: runCollStats, Fields: []command.Field{{
				Name: "scale", Type: command.SafeInt,
				Check: command.AtLeast(1),
			}, {Name: "verbose", Type: command.OptionalBool}},
		},
		{
			Name: "dbStats", Aliases: []string{"dbstats"}, Help: "Shows the size of a database.",
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.No,
			},
			Run: runDBStats, Fields: []command.Field{
				{Name: "scale", Type: command.SafeInt, Check: command.AtLeast(1)},
				{Name: "freeStorage", Type: command.SafeBool},
			},
		},
	}
}

func runCollStats(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c != nil && c.Kind == catalog.KindView {
		return mongoerr.New(mongoerr.CommandNotSupportedOnView,
			"Namespace %s is a view, not a collection", c.Namespace())
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		c = buckets
	}
	reply.String("ns", req.DB+"."+name)
	return appendStorageStats(ctx, req.Service, reply, c, req.Int64("scale", 1), req.Conn.Local)
}
