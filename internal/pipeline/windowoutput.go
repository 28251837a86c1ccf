package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
)

// What a node of the output is that has no value of its own.
const (
	noValue   = -1 // it has children
	dropValue = -2 // the field is taken out
)

// outputNode is a field that a stage sets: its value is one of a list, or it has fields of its own.
type outputNode struct {
	name     string
	value    int
	children []*outputNode
}

// add puts a path into the tree, and reports false where it conflicts with another.
func (n *outputNode) add(path []string, value int) bool {
	for i, name := range path {
		child := n.child([]byte(name))
		last := i == len(path)-1
		if child != nil && (last || child.value != noValue) {
			return false
		}
		if child == nil {
			child = &outputNode{name: name, value: noValue}
			n.children = append(n.children, child)
		}
		if last {
			child.value = value
		}
		n = child
	}
	return true
}

func (n *outputNode) child(key []byte) *outputNode {
	for _, c := range n.children {
		if c.name == string(key) {
			return c
		}
	}
	return nil
}

// fields appends the fields of a document with those of the tree, as $addFields does: a field that is there keeps its
// place, and an array has the fields set in each of its elements.
func (n *outputNode) fields(out *bsonx.Builder, doc bsonx.Doc, values []bsonx.Value) {
	for it := doc.Iter(); it.Next(); {
		if c := n.child(it.Key()); c != nil {
			c.write(out, it.Value(), values)
		} else {
			out.ValueBytes(it.Key(), it.Value())
		}
	}
	for _, c := range n.children {
		if doc.Lookup(c.name).IsMissing() {
			c.write(out, bsonx.Missing, values)
		}
	}
}

// write appends the field itself, which was old before.
func (n *outputNode) write(out *bsonx.Builder, old bsonx.Value, values []bsonx.Value) {
	switch {
	case n.value == dropValue:
	case n.value != noValue:
		out.Value(n.name, values[n.value])
	case old.Type == bsonx.TypeArray:
		out.StartArrayField(n.name)
		n.elements(out, old.Doc(), values)
		out.End()
	default:
		out.StartDocField(n.name)
		n.fields(out, docOrEmpty(old), values)
		out.End()
	}
}

func (n *outputNode) elements(out *bsonx.Builder, array bsonx.Doc, values []bsonx.Value) {
	for it := array.Iter(); it.Next(); {
		if it.Value().Type == bsonx.TypeArray {
			out.StartArrayElem()
			n.elements(out, it.Value().Doc(), values)
			out.End()
			continue
		}
		out.StartDocElem()
		n.fields(out, docOrEmpty(it.Value()), values)
		out.End()
	}
}

func docOrEmpty(v bsonx.Value) bsonx.Doc {
	if v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return bsonx.Empty
}

// document returns the document of the tree's fields alone.
func (n *outputNode) document(values []bsonx.Value) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	n.fields(b, bsonx.Empty, values)
	b.End()
	return b.Bytes()
}
