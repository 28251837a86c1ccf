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

// Normalize returns an equivalent filter in canonical form. Nested conjunctions and disjunctions
// are flattened. Constants and duplicates are removed. A parent with a single child is replaced by
// the child. Equalities on one path are joined to $in. Children are sorted. Normalize returns f
// itself if it is already canonical, or if the operation was interrupted.
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

// normalizer makes trees canonical. After an interrupt, its results must not be used.
type normalizer struct {
	running *interrupt.Running
	meter   interrupt.Meter
	ended   bool
}

// stopped adds work to the meter, and reports whether the operation was interrupted.
func (z *normalizer) stopped(work int) bool {
	z.ended = z.ended || z.meter.Did(work, z.running) != nil
	return z.ended
}

// usualChildren is the number of children up to which normalising allocates no list. Most nodes
// have no more children.
const usualChildren = 8

// normalize returns the canonical form of n. It returns n itself if n is already canonical, like
// most nodes.
func (z *normalizer) normalize(n Node) Node {
	switch n := n.(type) {
	case *And:
		return z.normalizeList(n, n.Children, newAnd)
	case *Or:
		return z.normalizeList(n, n.Children, newOr)
	case *Nor:
		return z.normalizeList(n, n.Children, newNor)
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
		return z.normalizeList(n, n.Children, func(list []Node) Node { return &ElemMatchValue{n.leaf, list} })
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
	case *Bits, *Compare, *Exists, *Geo, *GeoNear, *Mod, *Regex, *Size, *TypeOf:
	case *AlwaysFalse, *AlwaysTrue, *JSONSchema, *Text, *Where:
	}
	return n
}

// constantly returns a canonical node that matches every document or, if holds is false, none.
func constantly(holds bool) Node {
	if holds {
		return &And{}
	}
	return &AlwaysFalse{}
}

// normalizeList returns the canonical form of the node n, whose children are of. build makes a node
// like n with other children.
func (z *normalizer) normalizeList(n Node, of []Node, build func([]Node) Node) Node {
	var room [usualChildren]Node
	nodes, kind := room[:0], n.Kind()
	for _, child := range of {
		var decided Node
		nodes, decided = absorb(kind, nodes, z.normalize(child))
		if decided != nil && decided.Kind() == KindAlwaysTrue && len(of) > 1 {
			return constantly(true)
		}
		if decided != nil {
			return decided
		}
	}
	nodes = z.sortAndDedupe(nodes)
	if kind == KindOr {
		nodes = z.joinEqualities(nodes)
	}
	if few := ofFew(kind, nodes); few != nil {
		return few
	}
	if slices.Equal(nodes, of) {
		return n
	}
	return build(slices.Clone(nodes)) // a copy, because nodes may be a slice of room
}

// ofFew returns the replacement of a node of the given kind that has at most one canonical child.
// It returns nil if the node stays.
func ofFew(kind Kind, nodes []Node) Node {
	switch {
	case kind == KindElemMatchValue || len(nodes) > 1 || kind == KindAnd && len(nodes) == 0:
		return nil
	case kind == KindOr && len(nodes) == 0:
		return &AlwaysFalse{}
	case len(nodes) == 0:
		return &And{}
	case kind == KindNor:
		return negate(nodes[0])
	default:
		return nodes[0]
	}
}

// absorb adds a canonical child to the children nodes of a node of the given kind. If the child
// decides the result of the node, absorb returns the constant node in decided.
func absorb(kind Kind, nodes []Node, child Node) (all []Node, decided Node) {
	switch child := child.(type) {
	case *AlwaysTrue:
		switch kind {
		case KindAnd:
			return nodes, nil
		case KindOr:
			return nil, child
		case KindNor:
			return nil, &AlwaysFalse{}
		default:
		}
	case *AlwaysFalse:
		if kind == KindOr || kind == KindNor {
			return nodes, nil
		}
		return nil, child
	case *And:
		if kind == KindAnd || kind == KindElemMatchValue {
			return append(nodes, child.Children...), nil
		}
		if kind == KindOr && len(child.Children) == 0 {
			return nil, child
		}
	case *Or:
		if kind == KindOr {
			return append(nodes, child.Children...), nil
		}
	case *Nor:
		if kind == KindAnd {
			// $nor with several children becomes a conjunction of negations. An index can answer
			// each of them.
			for _, c := range child.Children {
				nodes = append(nodes, negate(c))
			}
			return nodes, nil
		}
	case Leaf, *Expr, *JSONSchema, *Not, *SampleRate, *Text, *Where:
	}
	return append(nodes, child), nil
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

// negatedConstant returns the negation of a constant, or nil for other nodes.
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
	case Leaf, *Expr, *JSONSchema, *Nor, *Not, *Or, *SampleRate, *Text, *Where:
	}
	return nil
}

// normalizeIn returns the canonical form of an $in: the member if there is only one, and
// AlwaysFalse if there is no member.
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

// joinEqualities joins the equalities and regular expressions on one path to an $in.
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

// hasPair reports whether two of the nodes, which are sorted, are equalities on the same path.
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

// inMember reports whether a node can be a member of an $in, and returns its path. An equality with
// a regular expression cannot, because in $in it would be a pattern.
func inMember(n Node) (path string, ok bool) {
	if n, ok := n.(*Compare); ok {
		return n.Path, n.Op == Eq && n.Value.Type != bsonx.TypeRegex
	}
	if n, ok := n.(*Regex); ok {
		return n.Path, true
	}
	return "", false
}

func (z *normalizer) joinToIn(path string, nodes []Node) Node {
	var values []bsonx.Value
	var regexes []*Regex
	var c *collation.Collator
	for _, n := range nodes {
		if n, ok := n.(*Compare); ok {
			values, c = append(values, n.Value), n.Collation
		}
		if n, ok := n.(*Regex); ok {
			regexes = append(regexes, n)
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

// sortAndDedupe sorts nodes in place by kind, path and children, and removes duplicates. Nodes that
// are equal in all three keep their order.
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

// appendDistinct appends the nodes to out without duplicates, which are nodes with the same
// serialised form. Functions and expressions never count as duplicates.
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
