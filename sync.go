package sheaf

import "github.com/sheafdb/sheaf/internal/storage"

// withSync returns an engine that makes every commit as durable as the policy says. Without it, the
// caller of each commit decides whether the commit is synced.
func withSync(engine storage.Engine, policy SyncPolicy) storage.Engine {
	switch policy {
	case SyncAlways:
		return syncEngine{engine, storage.Durable}
	case SyncNever:
		return syncEngine{engine, storage.Buffered}
	default:
		return engine
	}
}

type syncEngine struct {
	storage.Engine
	durability storage.Durability
}

func (e syncEngine) Begin() storage.Txn { return syncTxn{e.Engine.Begin(), e.durability} }
func (e syncEngine) BeginSnapshot() storage.Txn {
	return syncTxn{e.Engine.BeginSnapshot(), e.durability}
}

type syncTxn struct {
	storage.Txn
	durability storage.Durability
}

func (t syncTxn) Commit(storage.Durability) error { return t.Txn.Commit(t.durability) }
