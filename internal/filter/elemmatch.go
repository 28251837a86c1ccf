package filter

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

var elemMatchFailure = &failure{
	no: "array did not satisfy the child predicate", yes: "array did satisfy the child predicate", whole: true,
	expected: []string{"array"},
}

// ElemMatchObject is the object form {$elemMatch: { field: …, … }}: an element of the array matches
// Child. The element must be a document or an array.
type ElemMatchObject struct {
	leaf
	Child Node
}

// ElemMatchValue is the value form {$elemMatch: { $gt: …, … }}: an element of the array satisfies
// all Children, whose paths are empty.
type ElemMatchValue struct {
	leaf
	Children []Node
}

// Kind returns KindElemMatchObject.
func (*ElemMatchObject) Kind() Kind { return KindElemMatchObject }

// Kind returns KindElemMatchValue.
func (*ElemMatchValue) Kind() Kind { return KindElemMatchValue }

func (n *ElemMatchObject) matchDoc(doc bsonx.Doc, st *state) bool {
	return n.path.match(doc, Whole, n, st)
}

func (n *ElemMatchObject) matchElem(v bsonx.Value, st *state) bool {
	return anyElement(v, st, n.matchElement)
}

// anyElement reports whether v is an array with a matching element, and records the index of the
// element.
func anyElement(v bsonx.Value, st *state, match func(bsonx.Value, *state) bool) bool {
	if v.Type != bsonx.TypeArray {
		return false
	}
	d := st.silence()
	i, found := 0, false
	for it := v.Doc().Iter(); !found && !st.stopped(interrupt.Step) && it.Next(); i++ {
		found = match(it.Value(), st)
	}
	st.restore(d)
	if found {
		st.record(i - 1)
	}
	return found
}

// matchElement matches one element. The predicates inside the element record no details.
func (n *ElemMatchObject) matchElement(v bsonx.Value, st *state) bool {
	return (v.Type == bsonx.TypeDocument || v.Type == bsonx.TypeArray) && n.Child.matchDoc(v.Doc(), st)
}

func (n *ElemMatchValue) matchDoc(doc bsonx.Doc, st *state) bool {
	return n.path.match(doc, Whole, n, st)
}

func (n *ElemMatchValue) matchElem(v bsonx.Value, st *state) bool {
	return anyElement(v, st, n.matchElement)
}

func (n *ElemMatchValue) matchElement(v bsonx.Value, st *state) bool {
	for _, child := range n.Children {
		if st.stopped(interrupt.Step) || !child.matchElem(v, st) {
			return false
		}
	}
	return true
}

func (n *ElemMatchObject) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *ElemMatchObject) serializeOperator(b *serializer) {
	b.StartDocField("$elemMatch")
	n.Child.serialize(b)
	b.End()
}

func (n *ElemMatchValue) serialize(b *serializer) { serializeLeaf(b, n) }

func (n *ElemMatchValue) serializeOperator(b *serializer) {
	b.StartDocField("$elemMatch")
	for _, child := range n.Children {
		serializeOperators(b, child)
	}
	b.End()
}

func parseElemMatch(p *parser, f field) (Node, error) {
	if f.value.Type != bsonx.TypeDocument {
		return nil, mongoerr.New(mongoerr.BadValue, "$elemMatch needs an Object")
	}
	doc := f.value.Doc()
	if p.isElemMatchValue(f.value) {
		nodes, err := p.parseOperators("", doc, levelElem, f.depth+1)
		if err != nil {
			return nil, err
		}
		return &ElemMatchValue{newLeaf(f.path), nodes}, nil
	}
	child, err := p.parseDoc(doc, levelElem, f.depth+1)
	if err != nil {
		return nil, err
	}
	return &ElemMatchObject{newLeaf(f.path), child}, nil
}

// isElemMatchValue reports whether v is the argument of the value form, which starts with an
// operator on values. The argument of the object form starts with a field name or a logical
// operator.
func (p *parser) isElemMatchValue(v bsonx.Value) bool {
	return isOperatorDoc(v, true) && p.reg.top[string(v.Doc().First().Key)] == nil
}
