package plan

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// predicate is a part of a conjunction that may bound an index field.
type predicate struct {
	node filter.Node // a Leaf or a Not of one, or a disjunction of those that are about one path
	// conjunct is the child of the conjunction that the predicate stands in: itself or the $elemMatch around it.
	conjunct filter.Node
	path     string
	elems    []elemFrame
	// The bounds on index fields that were no arrays so far, and on others; see boundsOn.
	bounds   predicateBounds
	onArrays *predicateBounds
	covering covering
	// expression says that the predicate is a comparison of an $expr, part that the $expr holds more.
	expression, part bool
	// served says that the predicate bounds an access.
	served bool
}

// predicateBounds are the bounds that a predicate gives to the field of its path.
type predicateBounds struct {
	bounds.Field
	ok     bool // the predicate can bound the field
	points bool // the bounds are single values
	made   bool
	room   [1]bounds.Interval
}

// boundsOn returns the bounds that a predicate gives to a field of its path. They are made once
// for all indexes that have the query's collation.
func (cq *canonical) boundsOn(p *predicate, x *indexinfo.Index, field int) *predicateBounds {
	c := cq.q.Collation
	switch {
	case p.expression:
		return p.expressionBounds(x, field, c)
	case x.Fields[field].Kind == index.Hashed:
		return p.hashedBounds(x, c)
	case indexinfo.IsGeo(x.Fields[field]) || x.Kind == index.Plane:
		return p.geoBounds(x, field)
	}
	multikey := x.Bits(field) != 0
	if !multikey && hasOnly(x, p) {
		return &presentBounds
	}
	b := &p.bounds
	if multikey {
		if p.onArrays == nil {
			p.onArrays = &predicateBounds{}
		}
		b = p.onArrays
	}
	mismatch := !x.Collation.Same(c)
	if mismatch {
		b = &predicateBounds{}
	}
	if b.made {
		return b
	}
	ctx := bounds.Context{
		Multikey: multikey, Dotted: isDotted(p.path), Numeric: bounds.HasNumber(p.path), Mismatch: mismatch,
		Folded: x.Collation != nil, CollatedRegex: cq.collatedRegex, Collation: c, Room: b.room[:0],
	}
	b.made = true
	b.Field, b.ok = bounds.Of(p.node, ctx)
	if b.Tight == bounds.InexactCovered && x.Collation != nil {
		b.Tight = bounds.InexactFetch // the key does not tell what the string is
	}
	if len(p.elems) > 0 || ctx.Numeric && ctx.Multikey {
		b.Tight = bounds.InexactFetch
	}
	b.points = b.Intervals.IsPoints()
	return b
}

// presentBounds are the bounds of $exists on a field without which a document has no entry.
var presentBounds = predicateBounds{Field: bounds.Field{Intervals: bounds.All, Tight: bounds.Exact}, ok: true, made: true}

// hasOnly reports whether every entry belongs to a document that matches the predicate: $exists on
// the only field of a sparse index. The caller knows that the field was never an array.
func hasOnly(x *indexinfo.Index, p *predicate) bool {
	_, exists := p.node.(*filter.Exists)
	return exists && x.Sparse && x.Wild == nil && len(x.Fields) == 1 && len(p.elems) == 0
}

// elemFrame is an $elemMatch that a predicate stands in: all that is in it is about the same array element.
type elemFrame struct {
	path string
	node *filter.ElemMatchObject
}

// conjunction is a filter as its conjuncts.
type conjunction struct {
	cq         *canonical // counts the work
	conjuncts  []filter.Node
	predicates []*predicate
	ors        []*filter.Or
	// branch is true for a branch of an $or with the predicates beside it.
	branch bool

	// block has room for the next predicates.
	block []predicate
	room  struct {
		conjuncts  [usualConjuncts]filter.Node
		predicates [usualConjuncts]*predicate
		block      [usualConjuncts]predicate
	}
}

// usualConjuncts is how many conjuncts a conjunction has room for without further memory: most filters are that small.
const usualConjuncts = 2

// maxPredicateBlock is how many predicates get their memory at once, at most. The operation can end
// between two blocks.
const maxPredicateBlock = 256

// conjunctionOf splits a filter; nil matches everything.
func (cq *canonical) conjunctionOf(n filter.Node) *conjunction {
	c := &conjunction{cq: cq}
	c.split(n)
	return c
}

// split fills a conjunction that is empty.
func (c *conjunction) split(n filter.Node) {
	c.conjuncts, c.predicates, c.block = c.room.conjuncts[:0], c.room.predicates[:0], c.room.block[:0]
	if and, ok := n.(*filter.And); ok && len(and.Children) > usualConjuncts {
		c.conjuncts = make([]filter.Node, 0, len(and.Children))
		c.predicates = make([]*predicate, 0, len(and.Children))
	}
	if n != nil {
		c.add(n)
	}
}

// isBoundBy reports whether predicates on a path can bound an index field.
func isBoundBy(f index.Field, path string) bool {
	switch f.Kind {
	case index.Ordered, index.Hashed, index.Plane, index.Sphere:
		return f.Path == path
	default:
		return false
	}
}

// bounds reports whether a predicate is about the values that a field holds.
func (c *conjunction) bounds(f index.Field) bool {
	for _, p := range c.predicates {
		if isBoundBy(f, p.path) {
			return true
		}
	}
	return false
}

func (c *conjunction) add(n filter.Node) {
	if and, ok := n.(*filter.And); ok {
		for _, child := range and.Children {
			c.add(child)
		}
		return
	}
	if query.IsTrue(n) {
		return
	}
	c.conjuncts = append(c.conjuncts, n)
	if o, ok := n.(*filter.Or); ok {
		c.ors = append(c.ors, o)
		if path, ok := solePath(o); ok {
			c.addPredicate(predicate{node: o, conjunct: o, path: path})
		}
		return
	}
	c.collect(n, n, "", nil)
}

// collect adds the predicates in n, which stands in conjunct under the prefix of the $elemMatch around it.
func (c *conjunction) collect(n, conjunct filter.Node, prefix string, elems []elemFrame) {
	switch n := n.(type) {
	case *filter.And:
		if len(elems) == 0 {
			return
		}
		for _, child := range n.Children {
			c.collect(child, conjunct, prefix, elems)
		}
	case *filter.ElemMatchObject:
		path := prefix + n.FieldPath().String()
		frames := append(elems[:len(elems):len(elems)], elemFrame{path, n})
		c.collect(n.Child, conjunct, path+".", frames)
	case *filter.Not:
		if l, ok := n.Child.(filter.Leaf); ok {
			c.addLeaf(n, l, conjunct, prefix, elems)
		}
	case *filter.Nor:
		if l, ok := soleLeaf(n); ok {
			c.addLeaf(&filter.Not{Child: l}, l, conjunct, prefix, elems)
		}
	case *filter.Expr:
		c.addComparisons(n.Expr, conjunct, true)
	case filter.Leaf:
		c.addLeaf(n, n, conjunct, prefix, elems)
	default: // the others need nothing here
	}
}

// solePath returns the path that all branches of a disjunction are about, each a predicate that can
// bound an index.
func solePath(o *filter.Or) (path string, ok bool) {
	for i, n := range o.Children {
		if not, ok := n.(*filter.Not); ok {
			n = not.Child
		}
		l, ok := n.(filter.Leaf)
		if !ok || n.Kind() == filter.KindElemMatchObject {
			return "", false
		}
		own := l.FieldPath().String()
		if i > 0 && own != path {
			return "", false
		}
		path = own
	}
	return path, len(o.Children) > 0
}

// soleLeaf returns the only child of a $nor, which then is a negation.
func soleLeaf(n *filter.Nor) (filter.Leaf, bool) {
	if len(n.Children) != 1 {
		return nil, false
	}
	l, ok := n.Children[0].(filter.Leaf)
	return l, ok
}

func (c *conjunction) addLeaf(n filter.Node, l filter.Leaf, conjunct filter.Node, prefix string, elems []elemFrame) {
	path := prefix + l.FieldPath().String()
	// Below an $elemMatch a number is a field of the element, which may be an array; the index sees it otherwise.
	if len(elems) > 0 && bounds.HasNumber(path) {
		return
	}
	c.addPredicate(predicate{node: n, conjunct: conjunct, path: path, elems: elems})
}

// addPredicate adds a predicate, unless the operation has ended.
func (c *conjunction) addPredicate(p predicate) {
	if len(c.block) == cap(c.block) {
		n := min(max(2*len(c.predicates), usualConjuncts), maxPredicateBlock)
		if c.cq.stopped(n * interrupt.Step) {
			return
		}
		c.block = make([]predicate, 0, n)
	}
	c.block = append(c.block, p)
	c.predicates = append(c.predicates, &c.block[len(c.block)-1])
}

// with returns the conjunction with further predicates that can bound indexes.
func (c *conjunction) with(predicates []*predicate) *conjunction {
	n := len(c.predicates) + len(predicates)
	out := &conjunction{cq: c.cq, conjuncts: c.conjuncts, ors: c.ors, branch: true}
	out.predicates, out.block = make([]*predicate, 0, n), make([]predicate, 0, min(n, maxPredicateBlock))
	for _, p := range c.predicates {
		out.addPredicate(*p)
	}
	for _, p := range predicates {
		out.addPredicate(*p)
	}
	return out
}

// serves reports whether the predicate that a disjunction is bounds an access already.
func (c *conjunction) serves(o *filter.Or) bool {
	return slices.ContainsFunc(c.predicates, func(p *predicate) bool { return p.served && p.node == filter.Node(o) })
}

// node returns the conjunction as one filter.
func (c *conjunction) node() filter.Node { return allOf(c.conjuncts) }

// allOf returns the conjunction of nodes; nil for none.
func allOf(nodes []filter.Node) filter.Node {
	switch len(nodes) {
	case 0:
		return nil
	case 1:
		return nodes[0]
	default:
		return &filter.And{Children: nodes}
	}
}

// combine reports whether the bounds of two predicates may hold for one index key: every array that their paths have
// in common must be one of which an $elemMatch around both picks the element. bits tell the arrays on p's path.
func combine(p, q *predicate, bits uint64) bool {
	if bits == 0 {
		return true
	}
	shared := sharedComponents(p.path, q.path)
	end := 0
	for k := range shared {
		next := strings.IndexByte(p.path[end:], '.')
		if next < 0 {
			next = len(p.path)
		} else {
			next += end
		}
		if bits&(1<<k) != 0 && !joined(p, q, p.path[:next]) {
			return false
		}
		end = next + 1
	}
	return true
}

// sharedComponents counts the leading components that two paths have in common.
func sharedComponents(a, b string) int {
	n := 0
	for {
		ca, ra, okA := strings.Cut(a, ".")
		cb, rb, okB := strings.Cut(b, ".")
		if ca != cb {
			return n
		}
		n++
		if !okA || !okB {
			return n
		}
		a, b = ra, rb
	}
}

// joined reports whether one $elemMatch on that path stands around both predicates.
func joined(p, q *predicate, path string) bool {
	for _, e := range p.elems {
		for _, f := range q.elems {
			if e.node == f.node && e.path == path {
				return true
			}
		}
	}
	return false
}

func isDotted(path string) bool {
	for i := range len(path) {
		if path[i] == '.' {
			return true
		}
	}
	return false
}
