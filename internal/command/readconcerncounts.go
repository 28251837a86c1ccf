package command

import (
	"sync/atomic"
)

// ReadConcernKind is how a read came by its read concern.
type ReadConcernKind int

// The kinds, in the order of serverStatus.
const (
	ReadImplicit ReadConcernKind = iota // neither given nor set as the default
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

// readConcernCounts counts reads by their read concerns, outside of transactions and transactions themselves.
type readConcernCounts struct {
	Outside, Transactions [ReadConcernKinds]atomic.Int64
}

// Count counts a read, or a transaction by its first command.
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
