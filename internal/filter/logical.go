package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// And matches if all its children match. Without children it matches every document.
type And struct {
	Children []Node

	fields []fieldTest // see newConjunction; empty if one pass is not possible
}

// Or matches if one of its children matches.
type Or struct{ Children []Node }

// Nor matches if none of its children matches.
type Nor struct{ Children []Node }

// Not matches if its child does not match.
type Not struct{ Child Node }

// Kind returns KindAnd.
func (*And) Kind() Kind { return KindAnd }

// Kind returns KindOr.
func (*Or) Kind() Kind { return KindOr }

// Kind returns KindNor.
func (*Nor) Kind() Kind { return KindNor }

// Kind returns KindNot.
func (*Not) Kind() Kind { return KindNot }

func (n *And) matchDoc(doc bsonx.Doc, st *state) bool {
	if (st == nil || st.details == nil) && len(n.fields) > 0 {
		if matched, done := n.matchFields(doc); done {
			return matched
		}
	}
	for _, child := range n.Children {
		if st.stopped(interrupt.Step) {
			return false
		}
		if !child.matchDoc(doc, st) {
			if st != nil && st.details != nil {
				st.details.Reset()
			}
			return false
		}
	}
	return true
}

func (n *And) matchElem(v bsonx.Value, st *state) bool {
	for _, child := range n.Children {
		if st.stopped(interrupt.Step) || !child.matchElem(v, st) {
			return false
		}
	}
	return true
}

// Or, Nor and Not record no details, because the choice of the predicate that led to the match
// would be arbitrary.

func (n *Or) matchDoc(doc bsonx.Doc, st *state) bool {
	d := st.silence()
	ok := false
	for _, child := range n.Children {
		if st.stopped(interrupt.Step) {
			break
		}
		if child.matchDoc(doc, st) {
			ok = true
			break
		}
	}
	st.restore(d)
	return ok
}

func (n *Or) matchElem(v bsonx.Value, st *state) bool {
	for _, child := range n.Children {
		if st.stopped(interrupt.Step) {
			return false
		}
		if child.matchElem(v, st) {
			return true
		}
	}
	return false
}

func (n *Nor) matchDoc(doc bsonx.Doc, st *state) bool {
	return !(*Or)(n).matchDoc(doc, st)
}

func (n *Nor) matchElem(v bsonx.Value, st *state) bool {
	return !(*Or)(n).matchElem(v, st)
}

func (n *Not) matchDoc(doc bsonx.Doc, st *state) bool {
	d := st.silence()
	ok := !n.Child.matchDoc(doc, st)
	st.restore(d)
	return ok
}

func (n *Not) matchElem(v bsonx.Value, st *state) bool { return !n.Child.matchElem(v, st) }

func (n *And) serialize(b *serializer) {
	if len(n.Children) > 0 {
		serializeChildren(b, "$and", n.Children)
	}
}

func (n *Or) serialize(b *serializer) { serializeChildren(b, "$or", n.Children) }

func (n *Nor) serialize(b *serializer) { serializeChildren(b, "$nor", n.Children) }

// serialize writes { path: { $not: { … } } } if the child is a leaf, and $nor for other children.
func (n *Not) serialize(b *serializer) {
	if l, ok := n.Child.(Leaf); ok {
		b.StartDocField(l.FieldPath().String())
		n.serializeOperator(b)
		b.End()
		return
	}
	serializeChildren(b, "$nor", []Node{n.Child})
}

// serializeOperator writes the $not without the path.
func (n *Not) serializeOperator(b *serializer) {
	b.StartDocField("$not")
	serializeOperators(b, n.Child)
	b.End()
}

// serializeOperators writes the operators of a predicate on one path.
func serializeOperators(b *serializer, n Node) {
	switch n := n.(type) {
	case Leaf:
		n.serializeOperator(b)
	case *Not:
		n.serializeOperator(b)
	case *And:
		for _, child := range n.Children {
			serializeOperators(b, child)
		}
	case *AlwaysFalse, *AlwaysTrue, *Expr, *JSONSchema, *Nor, *Or, *SampleRate, *Text, *Where:
		n.serialize(b)
	}
}

func serializeChildren(b *serializer, name string, nodes []Node) {
	b.StartArrayField(name)
	for _, child := range nodes {
		if b.stopped(interrupt.Step) {
			break
		}
		b.StartDocElem()
		child.serialize(b)
		b.End()
	}
	b.End()
}

func parseLogical(build func([]Node) Node) topParser {
	return func(p *parser, name string, v bsonx.Value, level level, depth int) (Node, error) {
		if v.Type != bsonx.TypeArray {
			return nil, mongoerr.New(mongoerr.BadValue, "%s argument must be an array", name)
		}
		if v.Doc().IsEmpty() {
			return nil, mongoerr.New(mongoerr.BadValue, "%s argument must be a non-empty array", name)
		}
		var nodes []Node
		for it := v.Doc().Iter(); it.Next(); {
			if it.Value().Type != bsonx.TypeDocument {
				return nil, mongoerr.New(mongoerr.BadValue, "%s argument's entries must be objects", name)
			}
			n, err := p.parseDoc(it.Value().Doc(), level.below(), depth+1)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		}
		return build(nodes), nil
	}
}

func newAnd(nodes []Node) Node { return newConjunction(nodes) }
func newOr(nodes []Node) Node  { return &Or{nodes} }
func newNor(nodes []Node) Node { return &Nor{nodes} }

func parseNot(p *parser, f field) (Node, error) {
	switch f.value.Type {
	case bsonx.TypeRegex:
		n, err := p.regexValue(f.path, f.value)
		if err != nil {
			return nil, err
		}
		return &Not{Child: n}, nil
	case bsonx.TypeDocument:
	default:
		return nil, mongoerr.New(mongoerr.BadValue, "$not argument must be a regex or an object")
	}
	if f.value.Doc().IsEmpty() {
		return nil, mongoerr.New(mongoerr.BadValue, "$not argument must be a non-empty object")
	}
	nodes, err := p.parseOperators(f.path, f.value.Doc(), f.level, f.depth+1)
	if err != nil {
		return nil, err
	}
	return &Not{Child: single(nodes)}, nil
}

// single returns the only node, or a conjunction of several nodes.
func single(nodes []Node) Node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	return newConjunction(nodes)
}
