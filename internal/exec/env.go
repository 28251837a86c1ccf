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

// ErrPaused is returned by Next when the works budget of the Env is used up. It never leaves package plan.
var ErrPaused = errors.New("exec: works budget used up")

// interruptInterval is how many works pass between two looks at the context.
const interruptInterval = 256

// Env is what the nodes of one tree share.
type Env struct {
	// Reader is what the nodes read from. It changes only while the tree is saved.
	Reader storage.Reader
	// TempDir is where blocking nodes spill; the system's default where empty.
	TempDir string
	// SortMemory is the budget of one blocking node in bytes.
	SortMemory int
	// Memory is what all requests of the server hold together; nil where nobody counts.
	Memory *memory.Budget
	// Whole is the query's whole filter, which records must match that are looked at again because the
	// tree was saved meanwhile; nil passes everything.
	Whole table.Predicate
	// AllowDiskUse lets blocking nodes spill.
	AllowDiskUse bool

	works uint64
	stop  uint64 // works at which step must look closer: the earlier of the budget's end and the next interrupt check
	limit uint64
}

// NewEnv returns an Env without a works budget and with MongoDB's sort memory.
func NewEnv(r storage.Reader) *Env {
	return &Env{Reader: r, SortMemory: limits.OperatorBytes, limit: math.MaxUint64, stop: interruptInterval}
}

func (e *Env) matchesWhole(doc bsonx.Doc) (bool, error) {
	if e.Whole == nil {
		return true, nil
	}
	return e.Whole.Match(doc)
}

// Works returns how many works the tree has done.
func (e *Env) Works() uint64 { return e.works }

// SetLimit lets the tree work until Works reaches limit; then Next returns ErrPaused.
func (e *Env) SetLimit(limit uint64) {
	e.limit = limit
	e.stop = min(limit, e.works+interruptInterval)
}

// Unlimited takes the works budget away.
func (e *Env) Unlimited() { e.SetLimit(math.MaxUint64) }

func (e *Env) isUnlimited() bool { return e.limit == math.MaxUint64 }

// step counts one work. It is called before the work is done, so that a node that returns its error has not moved.
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

// interrupted returns the cause for which an operation was ended: killOp, maxTimeMS, a closed connection.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
