package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/storage"
)

// This file tells clients the time of the replica set, and takes in theirs: the cluster time is the greatest stamp that the
// storage has given or heard of, the operation time of a reply the stamp of what the command wrote or may have read. A
// client that sends the latter back as afterClusterTime reads what it has written and read before.

// maxClockDrift is by how many seconds clients may put the cluster time before the clock, by default.
const maxClockDrift = 365 * 24 * 3600

// StampOf returns the stamp of a BSON timestamp.
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
