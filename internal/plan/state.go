package plan

import (
	"github.com/sheafdb/sheaf/internal/exec"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/plan/node"
	"github.com/sheafdb/sheaf/internal/table"
)

// IsEOF reports whether it is known, without another look, that there is no further row.
func (e *Execution) IsEOF() bool { return exec.IsEOF(e.root) }

// CheckIndexes fails with QueryPlanKilled where an index that the plan reads is gone from the
// newest form of its collection. It is asked before Restore.
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
