package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
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
	index    map[string]int // the positions of the children by name, where there are many
}

// fewChildren is the largest number of children that are searched one by one.
const fewChildren = 8

// add puts a path into the tree, and reports false where it conflicts with another.
func (n *outputNode) add(path []string, value int) bool {
	for i, name := range path {
		at := n.child([]byte(name))
		last := i == len(path)-1
		if at >= 0 && (last || n.children[at].value != noValue) {
			return false
		}
		if at < 0 {
			at = n.append(&outputNode{name: name, value: noValue})
		}
		n = n.children[at]
		if last {
			n.value = value
		}
	}
	return true
}

// append adds a child with a new name and returns its position.
func (n *outputNode) append(c *outputNode) int {
	n.children = append(n.children, c)
	at := len(n.children) - 1
	switch {
	case at == fewChildren:
		n.index = make(map[string]int, 2*fewChildren)
		for i, c := range n.children {
			n.index[c.name] = i
		}
	case at > fewChildren:
		n.index[c.name] = at
	}
	return at
}

// child returns the position of the child with a name, or -1.
func (n *outputNode) child(key []byte) int {
	if n.index != nil {
		if at, ok := n.index[string(key)]; ok {
			return at
		}
		return -1
	}
	for i, c := range n.children {
		if c.name == string(key) {
			return i
		}
	}
	return -1
}

// outputWriter writes the fields of a tree into documents. Once the operation has ended, or the
// document is too large, it keeps the error and writes no more.
type outputWriter struct {
	*bsonx.Builder
	values []bsonx.Value
	built  expr.Context // counts what is written
	err    error
}

func newOutputWriter(values []bsonx.Value) *outputWriter {
	return &outputWriter{Builder: bsonx.NewBuilder(nil), values: values}
}

// document returns doc with the fields of a tree. It is valid until the next call.
func (w *outputWriter) document(n *outputNode, doc bsonx.Doc, running *interrupt.Running) (bsonx.Doc, error) {
	w.built, w.err = expr.Context{Running: running}, nil
	w.Reset(w.Bytes()[:0])
	w.StartDoc()
	n.fields(w, doc)
	w.End()
	return w.Bytes(), w.err
}

// stopped counts n bytes and reports whether the writer has stopped.
func (w *outputWriter) stopped(n int) bool {
	if w.err == nil {
		w.err = w.built.Built(n)
	}
	return w.err != nil
}

// fields appends the fields of a document with those of the tree, as $addFields does: a field that is there keeps its
// place, and an array has the fields set in each of its elements.
func (n *outputNode) fields(w *outputWriter, doc bsonx.Doc) {
	var few [fewChildren]bool
	there := few[:]
	if len(n.children) > fewChildren {
		there = make([]bool, len(n.children))
	}
	for it := doc.Iter(); it.Next() && !w.stopped(2+len(it.Key())+len(it.Value().Data)); {
		if at := n.child(it.Key()); at >= 0 {
			there[at] = true
			n.children[at].write(w, it.Value())
		} else {
			w.ValueBytes(it.Key(), it.Value())
		}
	}
	for i, c := range n.children {
		if !there[i] && !w.stopped(0) {
			c.write(w, bsonx.Missing)
		}
	}
}

// write appends the field itself, which was old before.
func (n *outputNode) write(w *outputWriter, old bsonx.Value) {
	switch {
	case n.value == dropValue:
	case n.value != noValue:
		if v := w.values[n.value]; !w.stopped(2 + len(n.name) + len(v.Data)) {
			w.Value(n.name, v)
		}
	case old.Type == bsonx.TypeArray:
		w.StartArrayField(n.name)
		n.elements(w, old.Doc())
		w.End()
	default:
		w.StartDocField(n.name)
		n.fields(w, docOrEmpty(old))
		w.End()
	}
}

func (n *outputNode) elements(w *outputWriter, array bsonx.Doc) {
	for it := array.Iter(); it.Next() && !w.stopped(0); {
		if it.Value().Type == bsonx.TypeArray {
			w.StartArrayElem()
			n.elements(w, it.Value().Doc())
			w.End()
			continue
		}
		w.StartDocElem()
		n.fields(w, docOrEmpty(it.Value()))
		w.End()
	}
}

func docOrEmpty(v bsonx.Value) bsonx.Doc {
	if v.Type == bsonx.TypeDocument {
		return v.Doc()
	}
	return bsonx.Empty
}
