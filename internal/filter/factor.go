package filter

// Absorb returns an equivalent disjunction without redundant branches. In {$or: [{a: 1}, {a: 1, b:
// 2}]} the second branch is redundant, because the first one matches all of its documents. The
// filter must be canonical. Absorb returns o itself if no branch is redundant, or if the operation
// was interrupted.
func (f *Filter) Absorb(o *Or) Node {
	z := normalizer{running: f.running}
	var rest []Node
	branches := z.spell(o)
	sole := soleSpellings(branches)
	for i := range branches {
		if !branches[i].includes(sole) {
			rest = append(rest, o.Children[i])
		}
	}
	if len(rest) == len(branches) {
		return o
	}
	return z.result(o, &Or{rest})
}

// Factor moves the predicates that all branches of a disjunction share out of it: {$or: [{a: 1, b:
// 2}, {a: 1, c: 3}]} becomes {a: 1, $or: [{b: 2}, {c: 3}]}. The filter must be canonical, and no
// branch may be redundant (see Absorb). Factor returns o itself if the branches share no predicate,
// or if the operation was interrupted.
func (f *Filter) Factor(o *Or) Node {
	z := normalizer{running: f.running}
	branches := z.spell(o)
	shared := sharedSpellings(branches)
	if len(shared) == 0 {
		return o
	}
	rest := make([]Node, 0, len(branches))
	for i := range branches {
		rest = append(rest, newConjunction(branches[i].which(shared, false)))
	}
	return z.result(o, newConjunction(append(branches[0].which(shared, true), &Or{rest})))
}

// result returns the canonical form of n, or o if the operation was interrupted.
func (z *normalizer) result(o *Or, n Node) Node {
	n = z.normalize(n)
	if z.ended {
		return o
	}
	return n
}

// spelledBranch is a branch of a disjunction as a list of predicates, each with a text that
// identifies it.
type spelledBranch struct {
	conjuncts []Node
	spelled   []string // "" for a predicate that never counts as equal, such as $expr
}

// spell returns the branches of a disjunction. It returns nil if no branch is a conjunction, or if
// the operation was interrupted.
func (z *normalizer) spell(o *Or) []spelledBranch {
	var out []spelledBranch
	for i, child := range o.Children {
		and, ok := child.(*And)
		if !ok {
			continue
		}
		if out == nil {
			out = make([]spelledBranch, len(o.Children))
		}
		out[i].conjuncts = and.Children
	}
	for i := range out {
		b := &out[i]
		if b.conjuncts == nil {
			b.conjuncts = o.Children[i : i+1]
		}
		for _, n := range b.conjuncts {
			if z.stopped(nodeWork) {
				return nil
			}
			spelled := ""
			if !hasKind(n, KindExpr, KindWhere, KindSampleRate, KindText) {
				spelled = string(identity(n))
			}
			b.spelled = append(b.spelled, spelled)
		}
	}
	return out
}

// sharedSpellings returns the texts of the predicates that all branches share.
func sharedSpellings(branches []spelledBranch) map[string]bool {
	// count contains, for each predicate, how many consecutive branches contain it, beginning with
	// the first.
	count := map[string]int{}
	for i, b := range branches {
		for _, s := range b.spelled {
			if s != "" && count[s] == i {
				count[s]++
			}
		}
	}
	shared := map[string]bool{}
	for s, n := range count {
		if n == len(branches) {
			shared[s] = true
		}
	}
	return shared
}

// soleSpellings returns the texts of the branches that consist of one predicate.
func soleSpellings(branches []spelledBranch) map[string]bool {
	sole := map[string]bool{}
	for _, b := range branches {
		if len(b.spelled) == 1 && b.spelled[0] != "" {
			sole[b.spelled[0]] = true
		}
	}
	return sole
}

// includes reports whether the branch is redundant: one of its predicates is itself a branch of the
// disjunction.
func (b *spelledBranch) includes(sole map[string]bool) bool {
	if len(b.conjuncts) == 1 {
		return false
	}
	for _, s := range b.spelled {
		if sole[s] {
			return true
		}
	}
	return false
}

// which returns the predicates of the branch that are in set or, if in is false, the others.
func (b *spelledBranch) which(set map[string]bool, in bool) []Node {
	var out []Node
	for i, n := range b.conjuncts {
		if set[b.spelled[i]] == in {
			out = append(out, n)
		}
	}
	return out
}
