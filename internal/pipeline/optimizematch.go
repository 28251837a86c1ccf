package pipeline

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/limits"
	"github.com/sheafdb/sheaf/internal/pipeline/foreign"
)

// predicate is one of the conditions that a $match combines with AND.
type predicate struct {
	spec  bsonx.Doc
	paths []string // the paths that the predicate reads
	// fixed is true if the predicate cannot be moved, because its paths are unknown or its result
	// may change between evaluations.
	fixed bool
	// canFail reports whether the predicate may return an error. Then it must not see documents
	// that another stage drops.
	canFail bool
	// hasExpr reports whether the filter contains an $expr. The paths in it cannot be renamed.
	hasExpr bool
	// compares reports whether the predicate only compares with scalars other than null. Such a
	// predicate gives the same answer for all values that $group treats as equal, and does not
	// distinguish null from a missing field.
	compares bool
	// misses reports whether a part of the predicate, leaving negations aside, matches a missing
	// field.
	misses bool
	// negates reports whether the predicate contains a negation.
	negates bool
}

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
		pass, stay, renamed := divide(known.of(steps[i-1].Stage), rest)
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
func (m *match) of(predicates []predicate) (step, bool) {
	spec := predicates[0].spec
	if len(predicates) > 1 {
		all := make([]bsonx.Value, len(predicates))
		for i, p := range predicates {
			all[i] = bsonx.Document(p.spec)
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
func (m *match) predicates() []predicate {
	var out []predicate
	for _, spec := range conjuncts(nil, m.filter.Spec(), 0) {
		out = append(out, m.predicate(spec))
	}
	return out
}

// conjuncts appends the conditions of spec to dst, each as a document with one field. It flattens
// nested $and.
func conjuncts(dst []bsonx.Doc, spec bsonx.Doc, depth int) []bsonx.Doc {
	for it := spec.Iter(); it.Next(); {
		if string(it.Key()) == "$and" && it.Value().Type == bsonx.TypeArray && depth < limits.DocumentDepth {
			for _, v := range it.Value().Doc().Values() {
				dst = conjuncts(dst, v.Doc(), depth+1)
			}
			continue
		}
		dst = append(dst, bsonx.NewDoc(string(it.Key()), it.Value()))
	}
	return dst
}

func (m *match) predicate(spec bsonx.Doc) predicate {
	f, err := parseFilter(&m.opts, spec)
	if err != nil || m.ended() != nil {
		return predicate{spec: spec, compares: true, fixed: true}
	}
	return newPredicate(spec, f, m.opts.Vars.Operators())
}

// newPredicate returns the predicate spec, which was compiled to f.
func newPredicate(spec bsonx.Doc, f *filter.Filter, operators *expr.Table) predicate {
	p := predicate{spec: spec, compares: true}
	if hasChance(bsonx.Document(spec), operators, 0) {
		p.fixed = true
		return p
	}
	// A filter that is always false reads nothing.
	if f.Normalize().Root.Kind() != filter.KindAlwaysFalse {
		p.read(f.Root)
	}
	return p
}

// read records the paths and properties of the filter root in p.
func (p *predicate) read(root filter.Node) {
	filter.WalkNodes(root, func(n filter.Node) bool {
		if leaf, ok := n.(filter.Leaf); ok {
			p.misses = p.misses || filter.HoldsOfMissing(leaf)
		}
		switch n := n.(type) {
		case *filter.And, *filter.Or:
			return true
		case *filter.Nor, *filter.Not:
			p.negates = true
			return true
		case *filter.AlwaysTrue, *filter.AlwaysFalse:
		case *filter.Expr:
			var deps expr.Dependencies
			deps.Depend(n.Expr)
			p.fixed = p.fixed || deps.WholeDocument || deps.Meta
			p.paths = append(p.paths, deps.Paths...)
			p.canFail = p.canFail || !expr.CannotFail(n.Expr)
			p.hasExpr, p.compares = true, false
		case *filter.Compare:
			p.compares = p.compares && comparable(n.Value)
			p.paths = append(p.paths, n.Path)
		case *filter.In:
			p.compares = p.compares && len(n.Regexes) == 0 &&
				!slices.ContainsFunc(n.Values, func(v bsonx.Value) bool { return !comparable(v) })
			p.paths = append(p.paths, n.Path)
		case filter.Leaf:
			p.compares = false
			p.paths = append(p.paths, n.FieldPath().String())
		case *filter.JSONSchema, *filter.SampleRate, *filter.Text, *filter.Where:
			p.fixed = true
		}
		return false
	})
}

// comparable reports whether a comparison with v gives the same answer for all values that $group
// treats as equal.
func comparable(v bsonx.Value) bool {
	switch v.Type {
	case bsonx.TypeBool, bsonx.TypeString, bsonx.TypeObjectID, bsonx.TypeDate, bsonx.TypeTimestamp:
		return true
	default:
		return v.Type.IsNumber()
	}
}

// hasChance reports whether a predicate depends on random values, JavaScript or the document's
// metadata.
func hasChance(v bsonx.Value, operators *expr.Table, depth int) bool {
	if v.Type != bsonx.TypeDocument && v.Type != bsonx.TypeArray {
		return false
	}
	for it := v.Doc().Iter(); it.Next(); {
		if name := it.Key(); operators.Depends(name).Varies() || filter.Depends(name).Varies() {
			return true
		}
		if depth > limits.DocumentDepth || hasChance(it.Value(), operators, depth+1) {
			return true
		}
	}
	return false
}

// divide separates the predicates that can move before a stage, with their paths renamed for that
// place, from the predicates that must stay. renamed is true if a path changed.
func divide(rename passFunc, predicates []predicate) (pass, stay []predicate, renamed bool) {
	if rename == nil {
		return nil, predicates, false
	}
	if allKeep(predicates, rename) {
		return predicates, nil, false
	}
	for _, p := range predicates {
		moved, ok := p.through(rename)
		if !ok {
			stay = append(stay, p)
			continue
		}
		renamed = renamed || !slices.Equal(moved.paths, p.paths)
		pass = append(pass, moved)
	}
	return pass, stay, renamed
}

// allKeep reports whether all predicates can move before a stage without renaming.
func allKeep(predicates []predicate, pass passFunc) bool {
	for i := range predicates {
		if !predicates[i].keeps(pass) {
			return false
		}
	}
	return true
}

// keeps reports whether the predicate can move before a stage without renaming.
func (p *predicate) keeps(pass passFunc) bool {
	if p.fixed {
		return false
	}
	for _, path := range p.paths {
		if to, ok := pass(path, p); !ok || to != path {
			return false
		}
	}
	if len(p.paths) > 0 {
		return true
	}
	_, ok := pass("", p)
	return ok
}

// through returns the predicate with its paths renamed for the place before the stage. It returns
// false if a path does not exist there.
func (p predicate) through(pass passFunc) (predicate, bool) {
	if p.keeps(pass) {
		return p, true
	}
	if p.fixed || p.hasExpr {
		return p, false
	}
	names := make(map[string]string, len(p.paths))
	out := p
	out.paths = make([]string, len(p.paths))
	for i, path := range p.paths {
		to, ok := pass(path, &p)
		if !ok {
			return p, false
		}
		names[path], out.paths[i] = to, to
	}
	out.spec = renamePaths(p.spec, names)
	return out, len(p.paths) > 0
}

// renamePaths returns the predicate with each path replaced by its name in names.
func renamePaths(spec bsonx.Doc, names map[string]string) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := spec.Iter(); it.Next(); {
		key, v := string(it.Key()), it.Value()
		switch {
		case !strings.HasPrefix(key, "$"):
			b.Value(names[key], v)
		case v.Type == bsonx.TypeArray:
			b.StartArrayField(key)
			for _, branch := range v.Doc().Values() {
				b.Elem(bsonx.Document(renamePaths(branch.Doc(), names)))
			}
			b.End()
		default:
			b.Value(key, v)
		}
	}
	b.End()
	return b.Bytes()
}
