package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Cluster time: every reply tells the client two timestamps, and every request may carry one.
// $clusterTime is the greatest stamp that the storage has assigned or that a client has sent.
// operationTime is the stamp of the command's write, or of the newest state that the command may
// have read. A client that sends operationTime back as afterClusterTime reads everything it has
// written and read before.

// StampOf converts a BSON timestamp to a stamp.
func StampOf(v bsonx.Value) storage.Stamp { return storage.NewStamp(v.Timestamp()) }

func setClusterTime(g *Generic, _ string, v bsonx.Value) error {
	t := v.Doc().Lookup("clusterTime")
	switch t.Type {
	case bsonx.TypeTimestamp:
		g.ClusterTime = StampOf(t)
		return nil
	case bsonx.TypeMissing:
		return mongoerr.New(mongoerr.NoSuchKey, "Missing expected field \"clusterTime\"")
	default:
		return mongoerr.New(mongoerr.TypeMismatch, "\"clusterTime\" had the wrong type. Expected timestamp, found %s", t.Type)
	}
}
