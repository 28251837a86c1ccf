package pipeline

import (
	"slices"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/pipeline/passage"
)

// moveMatches implements RuleMoveMatch: it moves predicates of $match towards the beginning of the
// pipeline.
func moveMatches(steps []step) []step {
	steps = copyBeforeRedact(mergeMatchRuns(steps))
	known := passages{}
	for i := 1; i < len(steps); i++ {
		// RuleMerge later merges predicates that end up next to each other.
		if _, ok := steps[i].Stage.(*match); ok {
			steps = sinkMatch(steps, i, known)
		}
	}
	return steps
}

// sinkMatch moves step i, a $match, towards the beginning of steps. Predicates that a stage does
// not let pass stay after it. If the operation is interrupted, the $match stays at the position
// that it has reached.
func sinkMatch(steps []step, i int, known passages) []step {
	if known.of(steps[i-1].Stage) == nil {
		return steps
	}
	m, _ := steps[i].Stage.(*match)
	rest := m.predicates()
	moved := steps[i]
	for copied := false; i > 0 && m.ended() == nil; i-- {
		pass, stay, renamed := passage.Divide(known.of(steps[i-1].Stage), rest)
		if len(pass) == 0 {
			break
		}
		var behind []step
		if len(stay) > 0 {
			left, ok := m.of(stay)
			if !ok {
				break
			}
			behind = []step{left}
		}
		if renamed || len(stay) > 0 {
			var ok bool
			if moved, ok = m.of(pass); !ok {
				break
			}
		}
		before, ok := withMatch(steps[i-1], moved)
		if !ok {
			break
		}
		if !copied {
			steps, copied = slices.Clone(steps), true
		}
		steps[i-1] = moved
		steps = slices.Replace(steps, i, i+1, append([]step{before}, behind...)...)
		rest = pass
	}
	return steps
}

// withMatch returns stage s as it must be after a $match was moved before it. A $unionWith also
// yields documents from its sub-pipeline, so the $match is added there. It returns false if the
// sub-pipeline has no room.
func withMatch(s, match step) (step, bool) {
	if u, ok := s.Stage.(*foreign.UnionWith); ok {
		return with(u, "$match", match.spec)
	}
	return s, true
}

// ended returns the reason for which the operation was interrupted, or nil while it may continue.
func (m *match) ended() error { return m.opts.Vars.Scripts().Running.Err() }

// of returns a $match stage with the given predicates.
func (m *match) of(predicates []passage.Predicate) (step, bool) {
	spec := predicates[0].Spec
	if len(predicates) > 1 {
		all := make([]bsonx.Value, len(predicates))
		for i, p := range predicates {
			all[i] = bsonx.Document(p.Spec)
		}
		spec = bsonx.NewDoc("$and", all)
	}
	f, err := parseFilter(&m.opts, spec)
	if err != nil {
		// The predicates come from the client's filter, which compiled before. So this does not
		// fail.
		return step{}, false
	}
	return step{"$match", bsonx.Document(spec), &match{filter: f, opts: m.opts}}, true
}

// predicates returns the conditions of the $match that must all hold.
func (m *match) predicates() []passage.Predicate {
	var out []passage.Predicate
	for _, spec := range passage.Conjuncts(m.filter.Spec()) {
		out = append(out, m.predicate(spec))
	}
	return out
}

func (m *match) predicate(spec bsonx.Doc) passage.Predicate {
	f, err := parseFilter(&m.opts, spec)
	if err != nil || m.ended() != nil {
		return passage.Predicate{Spec: spec, Compares: true, Fixed: true}
	}
	return passage.NewPredicate(spec, f, m.opts.Vars.Operators())
}

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
