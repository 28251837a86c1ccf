package update

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// node is a node of the trie of update paths.
//
//sumtype:decl
type node interface{ isNode() }

// objectNode contains the operators below one path, by field name or array index.
type objectNode struct {
	children   []child // sorted by compareNames
	positional node    // the node for the component $, or nil
	// byName maps names to positions in children while a node with many children is compiled.
	// putInOrder sorts the children afterwards.
	byName map[string]int
}

// manyChildren is the number of children from which a node does not keep them sorted while it is
// compiled.
const manyChildren = 64

// child is a named child of an objectNode.
type child struct {
	name  string
	index int // the name as an array index, or -1
	node  node
}

// arrayNode contains the operators for the elements of an array that filters select.
type arrayNode struct {
	branches []branch
}

// branch is one $[] or $[identifier] in an arrayNode.
type branch struct {
	identifier string
	filter     *arrayFilter // nil for $[]
	node       node
}

// leaf is an operator at the end of a path.
type leaf struct {
	op         operator
	path       string
	onID       bool // the path is _id, or is inside it
	dollar     bool // the path is a top-level field whose name begins with $
	insertOnly bool
}

func (*objectNode) isNode() {}
func (*arrayNode) isNode()  {}
func (*leaf) isNode()       {}

// find returns the position of the child name, and whether it exists.
func (n *objectNode) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.children, name,
		func(c child, name string) int { return compareNames(c.name, name) })
}

// slot returns a pointer to the node of the child name. It adds the child if it does not exist.
func (n *objectNode) slot(name string) *node {
	if n.byName == nil {
		i, found := n.find(name)
		if !found && len(n.children) >= manyChildren {
			n.index()
			return n.slot(name)
		}
		if !found {
			n.children = slices.Insert(n.children, i, child{name: name, index: arrayIndex(name)})
		}
		return &n.children[i].node
	}
	i, found := n.byName[name]
	if !found {
		i = len(n.children)
		n.byName[name] = i
		n.children = append(n.children, child{name: name, index: arrayIndex(name)})
	}
	return &n.children[i].node
}

func (n *objectNode) index() {
	n.byName = make(map[string]int, 2*len(n.children))
	for i := range n.children {
		n.byName[n.children[i].name] = i
	}
}

// putInOrder sorts the children of all nodes with many children, at and below n.
func putInOrder(n node, m *interrupt.Meter, r *interrupt.Running) error {
	switch n := n.(type) {
	case *objectNode:
		if n.byName != nil {
			n.byName = nil
			if err := interrupt.Sort(n.children, interrupt.Step,
				func(a, b child) int { return compareNames(a.name, b.name) }, m, r); err != nil {
				return err
			}
		}
		for i := range n.children {
			if err := putInOrder(n.children[i].node, m, r); err != nil {
				return err
			}
		}
		return putInOrder(n.positional, m, r)
	case *arrayNode:
		for i := range n.branches {
			if err := putInOrder(n.branches[i].node, m, r); err != nil {
				return err
			}
		}
	case *leaf:
	}
	return nil
}

// with returns the children. If the node has a positional child, it appears under the index of the
// array element that the query matched.
func (n *objectNode) with(env *Env) ([]child, error) {
	if n.positional == nil {
		return n.children, nil
	}
	if !env.HasMatchedIndex {
		return nil, mongoerr.New(mongoerr.BadValue, "The positional operator did not find the match needed from the query.")
	}
	name := strconv.Itoa(env.MatchedIndex)
	children := slices.Clone(n.children)
	i, found := n.find(name)
	if !found {
		return slices.Insert(children, i, child{name: name, index: env.MatchedIndex, node: n.positional}), nil
	}
	merged, err := merge(children[i].node, n.positional, name)
	if err != nil {
		return nil, err
	}
	children[i].node = merged
	return children, nil
}

// add adds a leaf at the end of a path, and creates the nodes on the path. It returns an error if
// there is a leaf on the path, or any node at its end.
func (n *objectNode) add(path []component, l *leaf, filters []*arrayFilter) error {
	var cur node = n
	for i, c := range path {
		slot, err := edge(cur, c, path[:i], l.path, filters)
		if err != nil {
			return err
		}
		if i == len(path)-1 {
			if *slot != nil {
				return conflict(l.path, join(path))
			}
			*slot = l
			return nil
		}
		if *slot == nil {
			*slot = newInner(path[i+1])
		}
		if cur = *slot; !accepts(cur, path[i+1]) {
			return conflict(l.path, join(path[:i+1]))
		}
	}
	return nil
}

// newInner returns an empty node whose children have the kind of the component.
func newInner(c component) node {
	if c.step == stepArray {
		return &arrayNode{}
	}
	return &objectNode{}
}

// accepts reports whether a node can have children of the component's kind.
func accepts(n node, c component) bool {
	switch n.(type) {
	case *objectNode:
		return c.step != stepArray
	case *arrayNode:
		return c.step == stepArray
	case *leaf:
	}
	return false
}

// edge returns a pointer to the node that the component leads to. The node is nil if it does not
// exist yet.
func edge(n node, c component, before []component, full string, filters []*arrayFilter) (*node, error) {
	switch n := n.(type) {
	case *objectNode:
		if c.step == stepPositional {
			return &n.positional, nil
		}
		return n.slot(c.name), nil
	case *arrayNode:
		for i := range n.branches {
			if n.branches[i].identifier == c.name {
				return &n.branches[i].node, nil
			}
		}
		b := branch{identifier: c.name}
		if c.name != "" {
			if b.filter = findFilter(filters, c.name); b.filter == nil {
				return nil, mongoerr.New(mongoerr.BadValue,
					"No array filter found for identifier '%s' in path '%s'", c.name, full)
			}
			b.filter.used = true
		}
		n.branches = append(n.branches, b)
		return &n.branches[len(n.branches)-1].node, nil
	case *leaf:
	}
	return nil, conflict(full, join(before))
}

func conflict(path, at string) error {
	return mongoerr.New(mongoerr.ConflictingUpdateOperators,
		"Updating the path '%s' would create a conflict at '%s'", path, at)
}

func join(path []component) string {
	var b strings.Builder
	for i, c := range path {
		if i > 0 {
			b.WriteByte('.')
		}
		if c.step == stepArray {
			b.WriteString("$[" + c.name + "]")
			continue
		}
		b.WriteString(c.name)
	}
	return b.String()
}

// merge combines two nodes that apply to the same element, whose path is at. It fails if their
// operators conflict.
func merge(a, b node, at string) (node, error) {
	switch a := a.(type) {
	case *objectNode:
		if b, ok := b.(*objectNode); ok {
			return mergeObjects(a, b, at)
		}
	case *arrayNode:
		if b, ok := b.(*arrayNode); ok {
			return mergeArrays(a, b, at)
		}
	case *leaf:
	}
	return nil, mongoerr.New(mongoerr.ConflictingUpdateOperators, "Update created a conflict at '%s'", at)
}

func mergeObjects(a, b *objectNode, at string) (node, error) {
	out := &objectNode{children: slices.Clone(a.children), positional: a.positional}
	if out.positional == nil {
		out.positional = b.positional
	} else if b.positional != nil {
		merged, err := merge(a.positional, b.positional, at+".$")
		if err != nil {
			return nil, err
		}
		out.positional = merged
	}
	for _, c := range b.children {
		i, found := out.find(c.name)
		if !found {
			out.children = slices.Insert(out.children, i, c)
			continue
		}
		merged, err := merge(out.children[i].node, c.node, at+"."+c.name)
		if err != nil {
			return nil, err
		}
		out.children[i].node = merged
	}
	return out, nil
}

func mergeArrays(a, b *arrayNode, at string) (node, error) {
	out := &arrayNode{branches: slices.Clone(a.branches)}
	for _, br := range b.branches {
		i := slices.IndexFunc(out.branches, func(x branch) bool { return x.identifier == br.identifier })
		if i < 0 {
			out.branches = append(out.branches, br)
			continue
		}
		merged, err := merge(out.branches[i].node, br.node, at+".$["+br.identifier+"]")
		if err != nil {
			return nil, err
		}
		out.branches[i].node = merged
	}
	return out, nil
}
