package command

import (
	"sync/atomic"
)

// readConcernKind is how a read came by its read concern.
type readConcernKind int

const (
	readImplicit readConcernKind = iota // neither given nor set as the default
	readDefaultLocal
	readDefaultAvailable
	readDefaultMajority
	readLocal
	readAvailable
	readMajority
	readSnapshotAt
	readSnapshot
	readLinearizable
	readConcernKinds
)

// readConcernCounts counts reads by their read concerns, outside of transactions and transactions themselves.
type readConcernCounts struct {
	outside, transactions [readConcernKinds]atomic.Int64
}

// Count counts a read, or a transaction by its first command.
func (c *readConcernCounts) Count(d *Definition, g *Generic) {
	switch {
	case g.StartTxn == BoolTrue:
		c.transactions[kindOfReadConcern(&g.ReadConcern)].Add(1)
	case d.Read && d.Kind != "getmore" && !g.InTransaction():
		c.outside[kindOfReadConcern(&g.ReadConcern)].Add(1)
	}
}

func kindOfReadConcern(rc *ReadConcern) readConcernKind {
	switch {
	case rc.Level == levelAvailable && rc.Default:
		return readDefaultAvailable
	case rc.Level == LevelMajority && rc.Default:
		return readDefaultMajority
	case rc.Level == LevelLocal && rc.Default:
		return readDefaultLocal
	case rc.Level == levelAvailable:
		return readAvailable
	case rc.Level == LevelMajority:
		return readMajority
	case rc.Level == LevelLinearizable:
		return readLinearizable
	case rc.Level == LevelSnapshot && rc.AtClusterTime != 0:
		return readSnapshotAt
	case rc.Level == LevelSnapshot:
		return readSnapshot
	case rc.Level == LevelLocal:
		return readLocal
	default:
		return readImplicit
	}
}
