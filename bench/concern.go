package main

import (
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// concern says whether writes wait for the disk. The same concern has the same meaning on all
// sides.
type concern string

const (
	// concernNone is the concern of workloads that only read.
	concernNone concern = ""
	// concernUnsynced means that a write is acknowledged before it is on disk: w: 1 in MongoDB, and
	// synchronous_commit off in PostgreSQL.
	concernUnsynced concern = "w:1, unsynced"
	// concernSynced means that a write is acknowledged when it is on disk: w: majority with j: true
	// in MongoDB, and synchronous_commit on in PostgreSQL.
	concernSynced concern = "majority, synced"
)

// writeConcern returns the write concern of MongoDB's driver that corresponds to c.
func (c concern) writeConcern() *writeconcern.WriteConcern {
	if c != concernSynced {
		return writeconcern.W1()
	}
	journal := true
	return &writeconcern.WriteConcern{W: "majority", Journal: &journal}
}

// concerns holds the default concern of each operation that writes.
var concerns = map[operation]concern{
	opInsert:       concernUnsynced,
	opInsertMany:   concernUnsynced,
	opUpdateInc:    concernUnsynced,
	opScans:        concernUnsynced,
	opInsertSynced: concernSynced,
	opUpdateSynced: concernSynced,
	opScansSynced:  concernSynced,
}

// concern returns the concern of a workload: the field Concern, or else the default of its
// operation.
func (w workload) concern() concern {
	if w.Concern != "" {
		return w.Concern
	}
	return concerns[w.Op]
}
