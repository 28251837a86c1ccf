package command

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func collStatsCommands() []Definition {
	return []Definition{
		{
			Name: "collStats", Aliases: []string{"collstats"}, Help: "Shows the size of a collection and its indexes.",
			Run: runCollStats, Fields: []Field{{Name: "scale", Type: SafeInt, Check: AtLeast(1)}, {Name: "verbose", Type: OptionalBool}},
		},
		{
			Name: "dbStats", Aliases: []string{"dbstats"}, Help: "Shows the size of a database.",
			Run: runDBStats, Fields: []Field{{Name: "scale", Type: SafeInt, Check: AtLeast(1)}, {Name: "freeStorage", Type: SafeBool}},
		},
	}
}

func runCollStats(ctx context.Context, req *Request, reply *bsonx.Builder) error {
	name, err := req.Collection()
	if err != nil {
		return err
	}
	c := req.Service.Store.Lookup(req.DB, name)
	if c != nil && c.Kind == catalog.KindView {
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", c.Namespace())
	}
	if buckets := req.Service.Store.Buckets(c); buckets != nil {
		c = buckets
	}
	reply.String("ns", req.DB+"."+name)
	return req.Service.appendStorageStats(ctx, reply, c, req.Int64("scale", 1), req.Conn.Local)
}
