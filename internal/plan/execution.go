package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Execution is a running plan. Only one goroutine at a time may use it.
//
//	for {
//		row, err := e.Next(ctx)   // row.Doc is borrowed until the next call
//		if row == nil { break }
//	}
//	e.Save()                    // the reader may be closed now
//	e.Restore(newReader)        // continues with another reader for the next batch
type Execution struct {
	env  *exec.Env
	root exec.Node
	plan *node.Solution
	// processors lends processors to Share; nil lends none.
	processors *exec.Processors

	observer           storage.PlanObserver // may be nil
	toldKeys, toldDocs uint64
	cached             bool
	cq                 *canonical.Query // nil if the query needed no planning
	key                []byte           // key in the plan cache; nil if there was only one candidate
}

// Next returns the next row, or nil at the end. In an execution of Find, row.Doc is the final
// document.
func (e *Execution) Next(ctx context.Context) (*exec.Row, error) { return e.root.Next(ctx) }

// Share reads the rows with several goroutines while processors are idle. It calls work in each of
// them with a node that yields some of the rows: each row once, in no particular order; see
// exec.Parallel. Share returns the number of goroutines. It returns 0 and does not call work if the
// rows of this plan cannot be shared. Otherwise the execution is then at its end, and cannot be
// used after an error.
func (e *Execution) Share(ctx context.Context, work func(ctx context.Context, in exec.Node) error,
) (workers int, err error) {
	if e.processors == nil {
		return 0, nil
	}
	shared := exec.Share(e.root, e.processors)
	if shared == nil {
		return 0, nil
	}
	err = shared.Run(ctx, work)
	return shared.Workers(), err
}

// Save releases the reader, so that an idle cursor holds no snapshot.
func (e *Execution) Save() {
	e.tell()
	e.root.Save()
	e.env.Reader = nil
}

// Kept estimates the memory in bytes that the execution keeps after Save; see exec.Kept.
func (e *Execution) Kept() int64 { return exec.Kept(e.root) }

// Restore continues with another reader at the position where Save stopped.
func (e *Execution) Restore(r storage.Reader) {
	exec.Pin(r)
	e.env.Reader = r
	restored(e.root)
}

func restored(n exec.Node) {
	n.Stats().RestoreStates++
	for _, in := range n.Inputs() {
		restored(in)
	}
}

// Close releases everything that the plan holds. It may be called more than once.
func (e *Execution) Close() {
	e.tell()
	e.root.Close()
}

// Summary implements session.PlanSummary: it describes the plan in one line, as MongoDB's slow
// query log does, for example "IXSCAN { a: 1 }".
func (e *Execution) Summary() string { return e.plan.Summary() }

// Examined returns the number of index keys and of documents examined so far.
func (e *Execution) Examined() (keys, docs uint64) { return exec.Examined(e.root) }
