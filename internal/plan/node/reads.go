package node

import "github.com/sheafdb/sheaf/internal/plan/query"

// reading describes what an operator itself reads. The zero value means nothing.
type reading struct {
	scan    *IndexScan // the index scan
	records bool       // reads the collection, or a range of it
	id      bool       // reads one record by its _id
}

// ScanOf returns the index scan of a node, or nil if the node does not scan an index.
func ScanOf(n Node) *IndexScan { return n.reads().scan }

// CountUses counts a plan that is about to run: as a use of its indexes ($indexStats), and as a
// scan of the collection ($collStats).
func CountUses(q *query.Query, n Node) {
	c := q.Coll
	if c == nil {
		return
	}
	switch r := n.reads(); {
	case r.scan != nil:
		r.scan.Index.Used(c)
	case r.records:
		c.Scans().Add(q.Tailable)
	case r.id:
		c.IDUses().Add()
	}
	for i := 0; n.input(i) != nil; i++ {
		CountUses(q, n.input(i))
	}
}

// Accessed adds to scans the number of times that a plan scans the collection, and to indexes the
// names of the indexes that it reads.
func Accessed(n Node, scans int, indexes []string) (int, []string) {
	switch r := n.reads(); {
	case r.scan != nil:
		indexes = append(indexes, r.scan.Index.Name)
	case r.records:
		scans++
	case r.id:
		indexes = append(indexes, "_id_")
	}
	for i := 0; n.input(i) != nil; i++ {
		scans, indexes = Accessed(n.input(i), scans, indexes)
	}
	return scans, indexes
}
