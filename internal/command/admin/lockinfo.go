package admin

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
)

// LockInfoCommands returns the definition of lockInfo.
func LockInfoCommands() []command.Definition {
	return []command.Definition{{
		Name: "lockInfo", Help: "Shows who holds and awaits the lock of fsync.", Run: runLockInfo,
		Properties: command.Properties{
			Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
			Secret: feature.No, AdminOnly: feature.Yes,
		},
	}}
}

// runLockInfo shows the lock of fsync and the operations that wait for it. There are no other locks
// to show: databases and collections have no locks, and transactions lock records without a queue.
func runLockInfo(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	reply.StartArrayField("lockInfo")
	if s.Gate.Locked() {
		reply.StartDocElem()
		reply.String("resourceId", "{Global}")
		reply.StartArrayField("granted")
		appendLock(reply, "S", "fsyncLockWorker", 0)
		reply.End()
		reply.StartArrayField("pending")
		for _, op := range s.Ops.Snapshots(false) {
			if op.Waiting {
				appendLock(reply, "IX", command.ConnName(op.Client.ConnectionID), op.ID)
			}
		}
		reply.End()
		reply.End()
	}
	reply.End()
	return nil
}

func appendLock(b *bsonx.Builder, mode, desc string, opid int64) {
	b.StartDocElem()
	b.String("mode", mode)
	b.StartDocField("clientInfo")
	b.String("desc", desc)
	if opid != 0 {
		b.Int64("opid", opid)
	}
	b.End()
	b.End()
}
