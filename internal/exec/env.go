package exec

import (
	"context"
	"errors"
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/memory"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/table"
)

// ErrPaused is returned by Next when the works budget of the Env is used up. Package plan handles
// it; it is never returned to clients.
var ErrPaused = errors.New("exec: works budget used up")

// interruptInterval is the number of works between two checks of the context.
const interruptInterval = 256

// Env holds the state that the nodes of one tree share. Only one goroutine may use it.
type Env struct {
	// Reader is the source of all reads. It changes only while the tree is saved.
	Reader storage.Reader
	// TempDir is the directory of the files that blocking nodes spill to. If it is empty, they use
	// the system's default.
	TempDir string
	// SortMemory is the memory limit of one blocking node, in bytes.
	SortMemory int
	// Memory is the memory budget of the whole server, which all requests share. If it is nil,
	// memory is not accounted.
	Memory *memory.Budget
	// Whole is the complete filter of the query; nil matches everything. A row that was read before
	// the tree was saved is matched against it again afterwards, because the record may have
	// changed.
	Whole table.Predicate
	// AllowDiskUse allows blocking nodes to spill to disk.
	AllowDiskUse bool

	works uint64
	// stop is the number of works at which step calls check: the end of the budget or the next
	// check of the context.
	stop  uint64
	limit uint64
}

// NewEnv returns an Env with an unlimited works budget and with MongoDB's default memory limit of a
// blocking node.
func NewEnv(r storage.Reader) *Env {
	return &Env{Reader: r, SortMemory: limits.OperatorBytes, limit: math.MaxUint64, stop: interruptInterval}
}

func (e *Env) matchesWhole(doc bsonx.Doc) (bool, error) {
	if e.Whole == nil {
		return true, nil
	}
	return e.Whole.Match(doc)
}

// Works returns the number of works that the tree has done.
func (e *Env) Works() uint64 { return e.works }

// SetLimit sets the works budget: Next returns ErrPaused when Works has reached limit.
func (e *Env) SetLimit(limit uint64) {
	e.limit = limit
	e.stop = min(limit, e.works+interruptInterval)
}

// Unlimited removes the works budget.
func (e *Env) Unlimited() { e.SetLimit(math.MaxUint64) }

func (e *Env) isUnlimited() bool { return e.limit == math.MaxUint64 }

// step counts one work. Nodes call it before they do the work, so a node that returns step's error
// has not moved and can be called again.
func (e *Env) step(ctx context.Context) error {
	if e.works >= e.stop {
		if err := e.check(ctx); err != nil {
			return err
		}
	}
	e.works++
	return nil
}

func (e *Env) check(ctx context.Context) error {
	if e.works >= e.limit {
		return ErrPaused
	}
	e.stop = min(e.limit, e.works+interruptInterval)
	return interrupted(ctx)
}

// interrupted returns nil while the operation may continue. Afterwards it returns the reason why
// the operation was ended: killOp, maxTimeMS or a closed connection.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
