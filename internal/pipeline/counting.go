package pipeline

import "github.com/sheafdb/sheaf/internal/expr"

// OnlyCounts reports whether the results depend only on the number of input documents and not on
// their contents. That holds for $count and for a $group whose expressions are all constants, which
// drivers use to count. Such a pipeline can run over source.EmptyDocs.
func (p *Pipeline) OnlyCounts() bool {
	if len(p.steps) == 0 {
		return false
	}
	switch s := p.steps[0].Stage.(type) {
	case *count:
		return true
	case *group:
		_, constant := expr.ConstValue(s.id)
		for _, f := range s.fields {
			_, ok := expr.ConstValue(f.Arg)
			constant = constant && ok
		}
		return constant
	default:
		return false
	}
}
