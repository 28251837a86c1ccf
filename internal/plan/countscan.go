package plan

import "github.com/sheafdb/sheaf/internal/plan/bounds"

// countScanOf returns the plan of a count that no other can beat: of nothing, or of one range of an index. It returns
// nil where there is none.
func countScanOf(solutions []*solution) *solution {
	for _, s := range solutions {
		if none, ok := s.root.(*eof); ok {
			return newSolution(&count{in: none})
		}
		if c := toCountScan(s); c != nil {
			return c
		}
	}
	return nil
}

// toCountScan turns a plan that is one range of an index into a COUNT_SCAN, or returns nil.
func toCountScan(s *solution) *solution {
	c, ok := s.root.(*count)
	if !ok {
		return nil
	}
	scan, ok := c.in.(*indexScan)
	if !ok || scan.filter != nil || scan.min != nil || scan.max != nil || !bounds.IsSimple(scan.bounds) {
		return nil
	}
	return newSolution(&count{&countScan{scan}, c.skip, c.limit})
}
