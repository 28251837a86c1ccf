package canonical

import (
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/index"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/plan/bounds"
	"github.com/sheafdb/sheaf/internal/plan/indexinfo"
	"github.com/sheafdb/sheaf/internal/plan/query"
)

// Predicate is a part of a conjunction that may bound an index field.
type Predicate struct {
	Node filter.Node // a Leaf, a Not of a Leaf, or a disjunction of predicates on one path
	// Conjunct is the child of the conjunction that contains the predicate: the predicate itself,
	// or the $elemMatch around it.
	Conjunct filter.Node
	Path     string
	Elems    []elemFrame
	// bounds are the bounds on index fields that were never arrays, onArrays the bounds on others;
	// see BoundsOn.
	bounds   Bounds
	onArrays *Bounds
	covering covering
	// Expression says that the predicate is a comparison in an $expr. part says that the $expr has
	// further parts.
	Expression, part bool
	// Served says that the predicate bounds an access.
	Served bool
}

// Bounds are the bounds that a predicate gives to the index field of its path.
type Bounds struct {
	bounds.Field
	Ok     bool // the predicate can bound the field
	Points bool // the bounds are single values
	made   bool
	room   [1]bounds.Interval
}

// BoundsOn returns the bounds that a predicate gives to an index field of its path. They are
// computed once for all indexes with the query's collation.
func (cq *Query) BoundsOn(p *Predicate, x *indexinfo.Index, field int) *Bounds {
	c := cq.Asked.Collation
	switch {
	case p.Expression:
		return p.expressionBounds(x, field, c)
	case x.Fields[field].Kind.Definition().Image != nil:
		return p.imageBounds(x, field, c)
	case indexinfo.IsGeo(x.Fields[field]) || x.JoinsValues():
		return p.geoBounds(x, field)
	}
	multikey := x.Bits(field) != 0
	if !multikey && hasOnly(x, p) {
		return &presentBounds
	}
	b := &p.bounds
	if multikey {
		if p.onArrays == nil {
			p.onArrays = &Bounds{}
		}
		b = p.onArrays
	}
	mismatch := !x.Collation.Same(c)
	if mismatch {
		b = &Bounds{}
	}
	if b.made {
		return b
	}
	ctx := bounds.Context{
		Multikey: multikey, Dotted: isDotted(p.Path), Numeric: bounds.HasNumber(p.Path), Mismatch: mismatch,
		Folded: x.Collation != nil, CollatedRegex: cq.CollatedRegex, Collation: c, Room: b.room[:0],
	}
	b.made = true
	b.Field, b.Ok = bounds.Of(p.Node, ctx)
	if b.Tight == bounds.InexactCovered && x.Collation != nil {
		b.Tight = bounds.InexactFetch // the key does not restore the string
	}
	if len(p.Elems) > 0 || ctx.Numeric && ctx.Multikey {
		b.Tight = bounds.InexactFetch
	}
	b.Points = b.Intervals.IsPoints()
	return b
}

// presentBounds are the bounds of $exists on a field if the index contains only documents that have
// it.
var presentBounds = Bounds{Field: bounds.Field{Intervals: bounds.All, Tight: bounds.Exact}, Ok: true, made: true}

// hasOnly reports whether every entry belongs to a document that matches the predicate. That holds
// for $exists on the only field of a sparse index. The field must never have been an array.
func hasOnly(x *indexinfo.Index, p *Predicate) bool {
	_, exists := p.Node.(*filter.Exists)
	return exists && x.Sparse && x.Wild == nil && len(x.Fields) == 1 && len(p.Elems) == 0
}

// elemFrame is an $elemMatch around a predicate. All predicates inside apply to the same array
// element.
type elemFrame struct {
	path string
	node *filter.ElemMatchObject
}

// Conjunction is a filter, split into its conjuncts.
type Conjunction struct {
	Query      *Query // counts the work
	Conjuncts  []filter.Node
	Predicates []*Predicate
	Ors        []*filter.Or
	// Branch is true for a branch of an $or, together with the predicates beside the $or.
	Branch bool

	// block is memory for the next predicates, so that several of them need one allocation.
	block []Predicate
	room  struct {
		conjuncts  [UsualConjuncts]filter.Node
		predicates [UsualConjuncts]*Predicate
		block      [UsualConjuncts]Predicate
	}
}

// UsualConjuncts is the number of conjuncts that a Conjunction can hold without an allocation. Most
// filters are that small.
const UsualConjuncts = 2

// maxPredicateBlock is the largest number of predicates that are allocated at once. The end of the
// operation is checked between blocks.
const maxPredicateBlock = 256

// ConjunctionOf splits a filter; nil matches everything.
func (cq *Query) ConjunctionOf(n filter.Node) *Conjunction {
	c := &Conjunction{Query: cq}
	c.Split(n)
	return c
}

// Split fills an empty conjunction with the parts of a filter.
func (c *Conjunction) Split(n filter.Node) {
	c.Conjuncts, c.Predicates, c.block = c.room.conjuncts[:0], c.room.predicates[:0], c.room.block[:0]
	if and, ok := n.(*filter.And); ok && len(and.Children) > UsualConjuncts {
		c.Conjuncts = make([]filter.Node, 0, len(and.Children))
		c.Predicates = make([]*Predicate, 0, len(and.Children))
	}
	if n != nil {
		c.Add(n)
	}
}

// IsBoundBy reports whether predicates on a path can bound an index field.
func IsBoundBy(f index.Field, path string) bool {
	return f.Path == path && f.Kind.Definition().Bounded == feature.Yes
}

// Bounds reports whether a predicate of the conjunction can bound an index field.
func (c *Conjunction) Bounds(f index.Field) bool {
	for _, p := range c.Predicates {
		if IsBoundBy(f, p.Path) {
			return true
		}
	}
	return false
}

// Add adds the conjuncts of a filter.
func (c *Conjunction) Add(n filter.Node) {
	if and, ok := n.(*filter.And); ok {
		for _, child := range and.Children {
			c.Add(child)
		}
		return
	}
	if query.IsTrue(n) {
		return
	}
	c.Conjuncts = append(c.Conjuncts, n)
	if o, ok := n.(*filter.Or); ok {
		c.Ors = append(c.Ors, o)
		if path, ok := solePath(o); ok {
			c.addPredicate(Predicate{Node: o, Conjunct: o, Path: path})
		}
		return
	}
	c.collect(n, n, "", nil)
}

// collect adds the predicates in n. conjunct is the conjunct that contains n, prefix the path of
// the $elemMatch around n, and elems are all such $elemMatch.
func (c *Conjunction) collect(n, conjunct filter.Node, prefix string, elems []elemFrame) {
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
	case *filter.ElemMatchValue, *filter.Size, *filter.Compare, *filter.Regex, *filter.Mod,
		*filter.Exists, *filter.In, *filter.Bits, *filter.TypeOf, *filter.Geo, *filter.GeoNear:
		c.addLeaf(n, n.(filter.Leaf), conjunct, prefix, elems)
	case *filter.Or, *filter.Where, *filter.AlwaysFalse, *filter.AlwaysTrue, *filter.Text,
		*filter.SampleRate, *filter.JSONSchema: // not predicates on a path
	}
}

// solePath returns the path of a disjunction whose branches are all predicates on one path that can
// bound an index. ok is false for other disjunctions.
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

// soleLeaf returns the only child of a $nor, which is then a negation.
func soleLeaf(n *filter.Nor) (filter.Leaf, bool) {
	if len(n.Children) != 1 {
		return nil, false
	}
	l, ok := n.Children[0].(filter.Leaf)
	return l, ok
}

func (c *Conjunction) addLeaf(n filter.Node, l filter.Leaf, conjunct filter.Node, prefix string, elems []elemFrame) {
	path := prefix + l.FieldPath().String()
	// Inside an $elemMatch, a number in a path names a field of the element, also if the element is
	// an array. Index keys follow another rule, so the predicate cannot bound an index.
	if len(elems) > 0 && bounds.HasNumber(path) {
		return
	}
	c.addPredicate(Predicate{Node: n, Conjunct: conjunct, Path: path, Elems: elems})
}

// addPredicate adds a predicate, unless the operation has ended.
func (c *Conjunction) addPredicate(p Predicate) {
	if len(c.block) == cap(c.block) {
		n := min(max(2*len(c.Predicates), UsualConjuncts), maxPredicateBlock)
		if c.Query.Stopped(n * interrupt.Step) {
			return
		}
		c.block = make([]Predicate, 0, n)
	}
	c.block = append(c.block, p)
	c.Predicates = append(c.Predicates, &c.block[len(c.block)-1])
}

// With returns a copy of the conjunction with further predicates, which can bound indexes.
func (c *Conjunction) With(predicates []*Predicate) *Conjunction {
	n := len(c.Predicates) + len(predicates)
	out := &Conjunction{Query: c.Query, Conjuncts: c.Conjuncts, Ors: c.Ors, Branch: true}
	out.Predicates, out.block = make([]*Predicate, 0, n), make([]Predicate, 0, min(n, maxPredicateBlock))
	for _, p := range c.Predicates {
		out.addPredicate(*p)
	}
	for _, p := range predicates {
		out.addPredicate(*p)
	}
	return out
}

// Serves reports whether a predicate that consists of the disjunction o already bounds an access.
func (c *Conjunction) Serves(o *filter.Or) bool {
	return slices.ContainsFunc(c.Predicates, func(p *Predicate) bool { return p.Served && p.Node == filter.Node(o) })
}

// Node returns the conjunction as one filter.
func (c *Conjunction) Node() filter.Node { return AllOf(c.Conjuncts) }

// AllOf returns the conjunction of nodes; nil if there are no nodes.
func AllOf(nodes []filter.Node) filter.Node {
	switch len(nodes) {
	case 0:
		return nil
	case 1:
		return nodes[0]
	default:
		return &filter.And{Children: nodes}
	}
}

// Combine reports whether the bounds of two predicates can be applied to the same index key. For
// each array that their paths have in common, one $elemMatch around both predicates must select the
// element. bits says which components of p's path are arrays.
func Combine(p, q *Predicate, bits uint64) bool {
	if bits == 0 {
		return true
	}
	shared := SharedComponents(p.Path, q.Path)
	end := 0
	for k := range shared {
		next := strings.IndexByte(p.Path[end:], '.')
		if next < 0 {
			next = len(p.Path)
		} else {
			next += end
		}
		if bits&(1<<k) != 0 && !joined(p, q, p.Path[:next]) {
			return false
		}
		end = next + 1
	}
	return true
}

// SharedComponents returns the number of leading components that two paths have in common.
func SharedComponents(a, b string) int {
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

// joined reports whether one $elemMatch on that path surrounds both predicates.
func joined(p, q *Predicate, path string) bool {
	for _, e := range p.Elems {
		for _, f := range q.Elems {
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
