package plan

import "github.com/sheafdb/sheaf/internal/table"

// countUses tells the indexes of a plan that is going to run that an operation uses them ($indexStats), and the
// collection that it is scanned ($collStats).
func countUses(q *Query, n node) {
	c := q.Coll
	if c == nil {
		return
	}
	switch n := n.(type) {
	case *indexScan:
		n.index.used(c)
	case *distinctScan:
		n.scan.index.used(c)
	case *countScan:
		n.scan.index.used(c)
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

func (x *indexInfo) used(c *table.Collection) {
	if x.ix == nil || x.ix == c.IDIndex {
		c.IDUses().Add()
		return
	}
	x.ix.Uses().Add()
}
