package pipeline

import "github.com/sheafdb/sheaf/internal/expr"

// OnlyCounts reports whether the results depend on how many documents there are, and on nothing in them: $count, or a
// $group by constants, which is how drivers count. Such a pipeline can be run over EmptyDocs.
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
