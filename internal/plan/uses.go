package plan

import "github.com/sheafdb/sheaf/internal/plan/query"

// countUses tells the indexes of a plan that is going to run that an operation uses them ($indexStats), and the
// collection that it is scanned ($collStats).
func countUses(q *query.Query, n node) {
	c := q.Coll
	if c == nil {
		return
	}
	switch n := n.(type) {
	case *indexScan:
		n.index.Used(c)
	case *geoNear:
		n.scan.index.Used(c)
	case *distinctScan:
		n.scan.index.Used(c)
	case *countScan:
		n.scan.index.Used(c)
	case *collScan:
		c.Scans().Add(q.Tailable)
	case *idHack:
		c.IDUses().Add()
	default: // the others read no index themselves
	}
	for i := 0; n.input(i) != nil; i++ {
		countUses(q, n.input(i))
	}
}

// Access returns how many times the plan scans the collection, and the names of the indexes that it reads.
func (e *Execution) Access() (scans int, indexes []string) { return accessed(e.plan.root, 0, nil) }

func accessed(n node, scans int, indexes []string) (int, []string) {
	switch n := n.(type) {
	case *indexScan:
		indexes = append(indexes, n.index.Name)
	case *geoNear:
		indexes = append(indexes, n.scan.index.Name)
	case *distinctScan:
		indexes = append(indexes, n.scan.index.Name)
	case *countScan:
		indexes = append(indexes, n.scan.index.Name)
	case *collScan:
		scans++
	case *idHack:
		indexes = append(indexes, "_id_")
	default: // the others read nothing themselves
	}
	for i := 0; n.input(i) != nil; i++ {
		scans, indexes = accessed(n.input(i), scans, indexes)
	}
	return scans, indexes
}
