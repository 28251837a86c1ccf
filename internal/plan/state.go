package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/table"
)

// IsEOF reports whether the execution is known to have no further row, without calling Next.
func (e *Execution) IsEOF() bool { return e.root.IsEOF() }

// CheckIndexes fails with QueryPlanKilled if an index that the plan reads no longer exists in the
// newest version of its collection. It is called before Restore.
func (e *Execution) CheckIndexes(current *table.Collection) error {
	for _, ix := range exec.IndexesOf(e.root) {
		if ix == current.IDIndex {
			continue
		}
		if found := current.Collection.Index(ix.Name); found == nil || found.ID != ix.ID {
			return mongoerr.New(mongoerr.QueryPlanKilled, "query plan killed :: index '%s' dropped", ix.Name)
		}
	}
	return nil
}

// Access returns how many times the plan scans the collection, and the names of the indexes that it
// reads.
func (e *Execution) Access() (scans int, indexes []string) { return node.Accessed(e.plan.Root, 0, nil) }
