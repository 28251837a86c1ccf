package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/table"
)

// TopCommands returns the definition of top.
func TopCommands() []command.Definition {
	return []command.Definition{{
		Name: "top", Help: "Tells how many operations collections had, and how long they took.", Loose: true, Run: runTop,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
	}}
}

// trafficColumns are the columns in the reply of the command top, in order.
var trafficColumns = [table.TrafficKinds]struct {
	kind table.TrafficKind
	name string
}{
	{table.TrafficQueries, "queries"},
	{table.TrafficGetMore, "getmore"},
	{table.TrafficInsert, "insert"},
	{table.TrafficUpdate, "update"},
	{table.TrafficRemove, "remove"},
	{table.TrafficCommands, "commands"},
}

func runTop(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	reply.StartDocField("totals")
	reply.String("note", "all times in microseconds")
	for _, e := range req.Service.Store.Catalog().All() {
		if c := e.Attached; c != nil {
			appendTraffic(reply, e.Namespace(), c.Traffic())
		}
	}
	reply.End()
	return nil
}

// appendTraffic appends the counters of a collection. It omits a collection that nobody has used
// since the start, as MongoDB does.
func appendTraffic(b *bsonx.Builder, ns string, t *table.Traffic) {
	reads, readMicros := t.Locks(false)
	writes, writeMicros := t.Locks(true)
	if reads+writes == 0 {
		return
	}
	b.StartDocField(ns)
	appendTimed(b, "total", reads+writes, readMicros+writeMicros)
	appendTimed(b, "readLock", reads, readMicros)
	appendTimed(b, "writeLock", writes, writeMicros)
	for _, column := range trafficColumns {
		ops, micros := t.Sum(column.kind)
		appendTimed(b, column.name, ops, micros)
	}
	b.End()
}

func appendTimed(b *bsonx.Builder, name string, ops, micros int64) {
	b.StartDocField(name)
	b.Int64("time", micros)
	b.Int64("count", ops)
	b.End()
}
