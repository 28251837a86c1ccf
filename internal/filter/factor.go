package filter

// Absorb returns a disjunction without the branches that another branch includes, as {a: 1}
// includes {a: 1, b: 2}. It matches the same documents. It returns o itself where there is nothing
// to do, or the operation ended meanwhile. The filter is canonical.
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

// Factor returns a disjunction with the conjuncts that all branches have before the disjunction of
// the rest: {$or: [{a: 1, b: 2}, {a: 1, c: 3}]} is {a: 1, $or: [{b: 2}, {c: 3}]}. It matches the
// same documents. It returns o itself where there is nothing to do, or the operation ended
// meanwhile. The filter is canonical, and no branch includes another one.
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

// result returns the canonical form of n, or o where the operation ended.
func (z *normalizer) result(o *Or, n Node) Node {
	n = z.normalize(n)
	if z.ended {
		return o
	}
	return n
}

// spelledBranch is a branch of a disjunction as its conjuncts, with what tells whether two are the
// same.
type spelledBranch struct {
	conjuncts []Node
	spelled   []string // empty for functions and expressions, which are never taken for the same
}

// spell returns the branches of a disjunction, or nil where none of them is a conjunction.
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

// sharedSpellings returns the conjuncts that all branches have.
func sharedSpellings(branches []spelledBranch) map[string]bool {
	count := map[string]int{} // how many branches, from the first one on, have a conjunct
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

// soleSpellings returns the conjuncts that are a branch.
func soleSpellings(branches []spelledBranch) map[string]bool {
	sole := map[string]bool{}
	for _, b := range branches {
		if len(b.spelled) == 1 && b.spelled[0] != "" {
			sole[b.spelled[0]] = true
		}
	}
	return sole
}

// includes reports whether the branch is one of several conjuncts, of which one alone is a branch,
// too.
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

// which returns the conjuncts that are in a set, or those that are not.
func (b *spelledBranch) which(set map[string]bool, in bool) []Node {
	var out []Node
	for i, n := range b.conjuncts {
		if set[b.spelled[i]] == in {
			out = append(out, n)
		}
	}
	return out
}
