package command

import (
	"sync/atomic"
)

// ReadConcernKind is a class of reads that serverStatus counts: by level, and by the origin of the
// level.
type ReadConcernKind int

// The classes of reads, in the order in which serverStatus lists them.
const (
	ReadImplicit ReadConcernKind = iota // the request has no level, and no default is set
	ReadDefaultLocal
	ReadDefaultAvailable
	ReadDefaultMajority
	ReadLocal
	ReadAvailable
	ReadMajority
	ReadSnapshotAt
	ReadSnapshot
	ReadLinearizable
	ReadConcernKinds
)

// readConcernCounts counts reads outside of transactions, and transactions, by their read concern.
type readConcernCounts struct {
	Outside, Transactions [ReadConcernKinds]atomic.Int64
}

// Count counts a read outside of transactions, or a transaction at its first command.
func (c *readConcernCounts) Count(d *Definition, g *Generic) {
	switch {
	case g.StartTxn == BoolTrue:
		c.Transactions[kindOfReadConcern(&g.ReadConcern)].Add(1)
	case d.Read && d.Kind != "getmore" && !g.InTransaction():
		c.Outside[kindOfReadConcern(&g.ReadConcern)].Add(1)
	}
}

func kindOfReadConcern(rc *ReadConcern) ReadConcernKind {
	switch {
	case rc.Level == levelAvailable && rc.Default:
		return ReadDefaultAvailable
	case rc.Level == LevelMajority && rc.Default:
		return ReadDefaultMajority
	case rc.Level == LevelLocal && rc.Default:
		return ReadDefaultLocal
	case rc.Level == levelAvailable:
		return ReadAvailable
	case rc.Level == LevelMajority:
		return ReadMajority
	case rc.Level == LevelLinearizable:
		return ReadLinearizable
	case rc.Level == LevelSnapshot && rc.AtClusterTime != 0:
		return ReadSnapshotAt
	case rc.Level == LevelSnapshot:
		return ReadSnapshot
	case rc.Level == LevelLocal:
		return ReadLocal
	default:
		return ReadImplicit
	}
}
