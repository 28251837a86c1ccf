package main

import (
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// concern says whether the writes of a row wait for the disk. It means the same on all sides.
type concern string

const (
	// concernNone is for workloads that only read.
	concernNone concern = ""
	// concernUnsynced acknowledges a write before it is on disk: w: 1, and synchronous_commit off.
	concernUnsynced concern = "w:1, unsynced"
	// concernSynced acknowledges a write when it is on disk: w: majority with j: true, and
	// synchronous_commit on.
	concernSynced concern = "majority, synced"
)

// writeConcern returns the corresponding write concern of the driver.
func (c concern) writeConcern() *writeconcern.WriteConcern {
	if c != concernSynced {
		return writeconcern.W1()
	}
	journal := true
	return &writeconcern.WriteConcern{W: "majority", Journal: &journal}
}

// concerns maps the operations that write to their concern.
var concerns = map[operation]concern{
	opInsert:       concernUnsynced,
	opInsertMany:   concernUnsynced,
	opUpdateInc:    concernUnsynced,
	opScans:        concernUnsynced,
	opInsertSynced: concernSynced,
	opUpdateSynced: concernSynced,
	opScansSynced:  concernSynced,
}

// concern returns the write concern of a workload.
func (w workload) concern() concern {
	if w.Concern != "" {
		return w.Concern
	}
	return concerns[w.Op]
}
