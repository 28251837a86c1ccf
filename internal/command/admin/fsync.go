package admin

import (
	"context"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// fsyncLockPatience is how long fsyncLock waits by default for running writes to finish.
const fsyncLockPatience = 90 * time.Second

const fsyncHelp = "http://dochub.mongodb.org/core/fsynccommand"

// FsyncCommands returns the definitions of fsync and fsyncUnlock.
func FsyncCommands() []command.Definition {
	return []command.Definition{
		{
			Name: "fsync", Help: "Makes all writes durable; with lock: true, keeps further writes out.", Run: runFsync,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
			Fields: []command.Field{
				{Name: "lock", Type: command.SafeBool},
				{Name: "fsyncLockAcquisitionTimeoutMillis", Type: command.Int, Check: command.AtLeast(1)},
				{Name: "forBackup", Type: command.SafeBool},
			},
		},
		{
			Name: "fsyncUnlock", Loose: true, Help: "Lets writes in again.", Run: runFsyncUnlock,
			Properties: command.Properties{
				Writes: feature.No, Transactions: feature.No, StableAPI: feature.No, Expendable: feature.Yes,
				Secret: feature.No, AdminOnly: feature.Yes,
			},
		},
	}
}

func runFsync(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
	s := req.Service
	if !req.Bool("lock") {
		if err := s.Store.Engine().Checkpoint(""); err != nil {
			return err
		}
		reply.Int32("numFiles", 1)
		return nil
	}
	patience := req.Int64("fsyncLockAcquisitionTimeoutMillis", fsyncLockPatience.Milliseconds())
	count, err := s.Gate.Lock(ctx,
		time.Duration(min(patience, int64(24*time.Hour/time.Millisecond)))*time.Millisecond)
	if err != nil {
		return err
	}
	if err := s.Store.Engine().Checkpoint(""); err != nil {
		_, _ = s.Gate.Unlock()
		return err
	}
	s.Logger.Warn("Instance is locked, blocking all writes", "c", "COMMAND", "id", 20469,
		"lockCount", count, "seeAlso", fsyncHelp)
	reply.String("info", "now locked against writes, use db.fsyncUnlock() to unlock")
	reply.Int64("lockCount", count)
	reply.String("seeAlso", fsyncHelp)
	return nil
}

func runFsyncUnlock(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
	left, ok := req.Service.Gate.Unlock()
	if !ok {
		return mongoerr.New(mongoerr.IllegalOperation, "fsyncUnlock called when not locked")
	}
	req.Service.Logger.Info("fsyncUnlock completed", "c", "COMMAND", "id", 20476, "lockCount", left)
	reply.String("info", "fsyncUnlock completed")
	reply.Int64("lockCount", left)
	return nil
}
