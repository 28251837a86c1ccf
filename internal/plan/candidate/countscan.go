package candidate

import (
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/node"
)

// countScanOf returns a plan for a count that no other plan can beat: a count of nothing, or of one
// range of an index. It returns nil if there is no such plan.
func countScanOf(solutions []*node.Solution) *node.Solution {
	for _, s := range solutions {
		if none, ok := s.Root.(*node.EOF); ok {
			return node.NewSolution(&node.Count{In: none})
		}
		if c := toCountScan(s); c != nil {
			return c
		}
	}
	return nil
}

// toCountScan turns a count of one index range into a COUNT_SCAN. It returns nil for other plans.
func toCountScan(s *node.Solution) *node.Solution {
	c, ok := s.Root.(*node.Count)
	if !ok {
		return nil
	}
	scan, ok := c.In.(*node.IndexScan)
	if !ok || scan.Filter != nil || scan.Min != nil || scan.Max != nil || !bounds.IsSimple(scan.Bounds) {
		return nil
	}
	return node.NewSolution(&node.Count{In: &node.CountScan{Scan: scan}, Skip: c.Skip, Limit: c.Limit})
}
