package pipeline

import (
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
)

// passOf returns the function that moves predicates before stage s, or nil if no predicate can
// move.
func passOf(s parsing.Stage) passage.Func {
	switch stage := s.(type) {
	case passer:
		return stage.passage()
	case parsing.Changer:
		fields, drops, ok := stage.Changes()
		switch {
		case !ok:
			return nil
		case drops:
			return passage.WhereTotal(passage.Unless(fields...))
		}
		return passage.Unless(fields...)
	}
	return nil
}

// passer is a stage with its own passFunc. passage returns nil if no predicate can move before the
// stage.
type passer interface{ passage() passage.Func }

// passages caches the result of passage for each stage.
type passages map[parsing.Stage]passage.Func

// of returns passOf(s), from the cache if possible.
func (ps passages) of(s parsing.Stage) passage.Func {
	pass, ok := ps[s]
	if !ok {
		pass = passOf(s)
		ps[s] = pass
	}
	return pass
}
