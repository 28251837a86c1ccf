package filter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Normalize returns the filter in canonical form: nested conjunctions and disjunctions flattened, constants and
// duplicates removed, single children in place of their parents, equalities of one path joined to $in, children sorted.
// It matches the same documents. A filter that is in that form already is returned as it is, and so is one whose operation ended
// meanwhile.
func (f *Filter) Normalize() *Filter {
	z := normalizer{running: f.running}
	root := z.normalize(f.Root)
	if root == f.Root || z.ended {
		return f
	}
	out := newFilter(root, f.spec, f.opts)
	out.text, out.nodes = f.text, f.nodes
	return out
}

// normalizer makes trees canonical. Once its operation has ended what it returns is of no use.
type normalizer struct {
	running *interrupt.Running
	meter   interrupt.Meter
	ended   bool
}

// stopped counts work, and reports whether the operation has ended.
func (z *normalizer) stopped(work int) bool {
	z.ended = z.ended || z.meter.Did(work, z.running) != nil
	return z.ended
}

// usualChildren is how many children a node has at most in most filters: so many are looked at without an allocation.
const usualChildren = 8

// normalize returns n itself where it is canonical, as most filters are and all are that were normalised before.
func (z *normalizer) normalize(n Node) Node {
	switch n := n.(type) {
	case *And:
		return z.normalizeAnd(n)
	case *Or:
		return z.normalizeOr(n)
	case *Nor:
		return z.normalizeNor(n)
	case *Not:
		return z.normalizeNot(n)
	case *In:
		return normalizeIn(n)
	case *ElemMatchObject:
		switch child := z.normalize(n.Child); {
		case child.Kind() == KindAlwaysFalse:
			return child
		case child == n.Child:
			return n
		default:
			return &ElemMatchObject{n.leaf, child}
		}
	case *ElemMatchValue:
		return z.normalizeElemMatchValue(n)
	case *Expr:
		if v, ok := expr.ConstValue(n.Expr); ok {
			return constantly(v.Truthy())
		}
		return n
	case *SampleRate:
		if n.Rate == 1 {
			return constantly(true)
		}
		return n
	default:
		return n
	}
}

// constantly is a canonical constant.
func constantly(holds bool) Node {
	if holds {
		return &And{}
	}
	return &AlwaysFalse{}
}

func (z *normalizer) normalizeAnd(n *And) Node {
	var room [usualChildren]Node
	nodes := room[:0]
	for _, child := range n.Children {
		switch child := z.normalize(child).(type) {
		case *And:
			nodes = append(nodes, child.Children...)
		case *Nor:
			// None of several is the conjunction of negations, which an index can answer one by one.
			for _, c := range child.Children {
				nodes = append(nodes, negate(c))
			}
		case *AlwaysTrue:
		case *AlwaysFalse:
			return child
		default:
			nodes = append(nodes, child)
		}
	}
	nodes = z.sortAndDedupe(nodes)
	switch {
	case len(nodes) == 1:
		return nodes[0]
	case slices.Equal(nodes, n.Children):
		return n
	}
	return newConjunction(slices.Clone(nodes))
}

func (z *normalizer) normalizeOr(n *Or) Node {
	var room [usualChildren]Node
	nodes := room[:0]
	for _, child := range n.Children {
		switch child := z.normalize(child).(type) {
		case *Or:
			nodes = append(nodes, child.Children...)
		case *AlwaysFalse:
		case *AlwaysTrue:
			if len(n.Children) == 1 {
				return child
			}
			return constantly(true)
		default:
			if and, ok := child.(*And); ok && len(and.Children) == 0 {
				return and
			}
			nodes = append(nodes, child)
		}
	}
	nodes = z.joinEqualities(z.sortAndDedupe(nodes))
	switch len(nodes) {
	case 0:
		return &AlwaysFalse{}
	case 1:
		return nodes[0]
	}
	if slices.Equal(nodes, n.Children) {
		return n
	}
	return &Or{slices.Clone(nodes)}
}

func (z *normalizer) normalizeNor(n *Nor) Node {
	var room [usualChildren]Node
	nodes := room[:0]
	for _, child := range n.Children {
		switch child := z.normalize(child).(type) {
		case *AlwaysFalse:
		case *AlwaysTrue:
			return &AlwaysFalse{}
		default:
			nodes = append(nodes, child)
		}
	}
	nodes = z.sortAndDedupe(nodes)
	switch len(nodes) {
	case 0:
		return &And{}
	case 1:
		return negate(nodes[0])
	}
	if slices.Equal(nodes, n.Children) {
		return n
	}
	return &Nor{slices.Clone(nodes)}
}

func (z *normalizer) normalizeNot(n *Not) Node {
	child := z.normalize(n.Child)
	if child == n.Child && negatedConstant(child) == nil {
		return n
	}
	return negate(child)
}

func negate(n Node) Node {
	if c := negatedConstant(n); c != nil {
		return c
	}
	return &Not{Child: n}
}

// negatedConstant returns the negation of a constant, nil for other nodes.
func negatedConstant(n Node) Node {
	switch n := n.(type) {
	case *AlwaysFalse:
		return &And{}
	case *AlwaysTrue:
		return &AlwaysFalse{}
	case *And:
		if len(n.Children) == 0 {
			return &AlwaysFalse{}
		}
	default:
	}
	return nil
}

// normalizeIn replaces an $in of one member by the member, and an empty one by false.
func normalizeIn(n *In) Node {
	switch {
	case len(n.Values)+len(n.Regexes) == 0:
		return &AlwaysFalse{}
	case len(n.Values) == 1 && len(n.Regexes) == 0:
		eq := NewCompare("", Eq, n.Values[0], n.Collation)
		eq.leaf = n.leaf
		return eq
	case len(n.Values) == 0 && len(n.Regexes) == 1:
		return n.Regexes[0]
	}
	return n
}

// joinEqualities replaces equalities, and regular expressions beside them, of one path by an $in.
func (z *normalizer) joinEqualities(nodes []Node) []Node {
	if !slices.ContainsFunc(nodes, isRegex) && !hasPair(nodes) {
		return nodes
	}
	groups := map[string][]Node{}
	var order []string
	rest := make([]Node, 0, len(nodes))
	for _, n := range nodes {
		if path, ok := inMember(n); ok {
			if groups[path] == nil {
				order = append(order, path)
			}
			groups[path] = append(groups[path], n)
		}
	}
	for _, n := range nodes {
		if path, ok := inMember(n); !ok || len(groups[path]) < 2 {
			rest = append(rest, n)
		}
	}
	for _, path := range order {
		if len(groups[path]) >= 2 {
			rest = append(rest, z.joinToIn(path, groups[path]))
		}
	}
	return z.sortAndDedupe(rest)
}

func isRegex(n Node) bool { return n.Kind() == KindRegex }

// hasPair reports whether two of the nodes, which are sorted, are equalities of one path.
func hasPair(nodes []Node) bool {
	for i := 1; i < len(nodes); i++ {
		a, isMember := inMember(nodes[i-1])
		b, isNext := inMember(nodes[i])
		if isMember && isNext && a == b {
			return true
		}
	}
	return false
}

// inMember reports whether a node can be a member of an $in. Equality with a regular expression as a value cannot: there
// it would be a pattern.
func inMember(n Node) (path string, ok bool) {
	switch n := n.(type) {
	case *Compare:
		return n.Path, n.Op == Eq && n.Value.Type != bsonx.TypeRegex
	case *Regex:
		return n.Path, true
	default:
		return "", false
	}
}

func (z *normalizer) joinToIn(path string, nodes []Node) Node {
	var values []bsonx.Value
	var regexes []*Regex
	var c *collation.Collator
	for _, n := range nodes {
		switch n := n.(type) {
		case *Compare:
			values, c = append(values, n.Value), n.Collation
		case *Regex:
			regexes = append(regexes, n)
		default:
		}
	}
	in, err := newIn(path, values, regexes, c, &z.meter, z.running)
	if err != nil {
		z.ended = true
		return nodes[0]
	}
	in.joined = nodes
	return in
}

func (z *normalizer) normalizeElemMatchValue(n *ElemMatchValue) Node {
	var room [usualChildren]Node
	nodes := room[:0]
	for _, child := range n.Children {
		switch child := z.normalize(child).(type) {
		case *And:
			nodes = append(nodes, child.Children...)
		case *AlwaysFalse:
			return child
		default:
			nodes = append(nodes, child)
		}
	}
	nodes = z.sortAndDedupe(nodes)
	if slices.Equal(nodes, n.Children) {
		return n
	}
	return &ElemMatchValue{n.leaf, slices.Clone(nodes)}
}

// sortAndDedupe sorts in place by kind, path and children; nodes that are equal in all that keep their order. Of nodes
// that are the same one remains.
func (z *normalizer) sortAndDedupe(nodes []Node) []Node {
	if err := interrupt.Sort(nodes, interrupt.Step, compareNodes, &z.meter, z.running); err != nil {
		z.ended = true
		return nodes
	}
	out := nodes[:0]
	for i := 0; i < len(nodes); {
		end := i + 1
		for end < len(nodes) && compareNodes(nodes[i], nodes[end]) == 0 {
			end++
		}
		out = z.appendDistinct(out, nodes[i:end])
		i = end
	}
	return out
}

// appendDistinct appends the first of each of the nodes that are spelled alike. Functions and expressions are never taken for
// the same.
func (z *normalizer) appendDistinct(out, nodes []Node) []Node {
	if len(nodes) == 1 {
		return append(out, nodes[0])
	}
	seen := make(map[string]struct{}, len(nodes))
	for _, n := range nodes {
		if z.stopped(nodeWork) {
			break
		}
		if !hasKind(n, KindExpr, KindWhere, KindSampleRate) {
			spelled := identity(n)
			if _, ok := seen[string(spelled)]; ok {
				continue
			}
			seen[string(spelled)] = struct{}{}
		}
		out = append(out, n)
	}
	return out
}

func compareNodes(a, b Node) int {
	if c := cmp.Compare(a.Kind(), b.Kind()); c != 0 {
		return c
	}
	la, ok := a.(Leaf)
	if ok {
		if c := strings.Compare(la.FieldPath().String(), b.(Leaf).FieldPath().String()); c != 0 {
			return c
		}
	}
	ca, cb := children(a), children(b)
	for i := range min(len(ca), len(cb)) {
		if c := compareNodes(ca[i], cb[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(ca), len(cb))
}
