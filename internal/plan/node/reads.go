package node

import "github.com/sheafdb/sheaf/internal/plan/query"

// reading is what an operator reads itself. The zero value is nothing.
type reading struct {
	scan    *IndexScan // of an index
	records bool       // the collection, or a range of it
	id      bool       // one record by its _id
}

// ScanOf returns the scan of an index that a node stands for, or nil.
func ScanOf(n Node) *IndexScan { return n.reads().scan }

// CountUses tells the indexes of a plan that is going to run that an operation uses them
// ($indexStats), and the collection that it is scanned ($collStats).
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

// Accessed adds to scans how many times a plan scans the collection, and to indexes the names of
// the indexes that it reads.
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
