package plan

import (
	"context"

	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/plan/canonical"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/storage"
)

// Execution is a running plan. It is used by one goroutine at a time.
//
//	for {
//		row, err := e.Next(ctx)   // row.Doc is borrowed until the next call
//		if row == nil { break }
//	}
//	e.Save()                    // the reader may be closed now
//	e.Restore(newReader)        // and another one taken for the next batch
type Execution struct {
	env  *exec.Env
	root exec.Node
	plan *node.Solution
	// processors lends those that Share uses; nil lends none.
	processors *exec.Processors

	observer           storage.PlanObserver // nil for none
	toldKeys, toldDocs uint64
	cached             bool
	cq                 *canonical.Query // nil where there was nothing to plan
	key                []byte           // of the plan cache; nil where there was one candidate
}

// Next returns the next row, or nil at the end. For Find, row.Doc is the final document.
func (e *Execution) Next(ctx context.Context) (*exec.Row, error) { return e.root.Next(ctx) }

// Share calls work with nodes that yield the rows, each row once and in no order, on several
// goroutines where processors are idle; see exec.Parallel. It returns how many took part: 0,
// without a call, where the rows of this plan cannot be shared. The execution is at its end then;
// after an error it is of no use.
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

// Save lets go of the reader: an idle cursor pins no snapshot.
func (e *Execution) Save() {
	e.tell()
	e.root.Save()
	e.env.Reader = nil
}

// Kept returns about how many bytes the execution keeps after Save; see exec.Kept.
func (e *Execution) Kept() int64 { return exec.Kept(e.root) }

// Restore goes on with another reader from where Save stopped.
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
// query log does: "IXSCAN { a: 1 }".
func (e *Execution) Summary() string { return e.plan.Summary() }

// Examined returns how many index keys and documents were looked at so far.
func (e *Execution) Examined() (keys, docs uint64) { return exec.Examined(e.root) }
