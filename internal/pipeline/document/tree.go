package document

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Special values of Tree.Value, for nodes without an entry in Writer.Values.
const (
	NoValue   = -1 // the node has children
	DropValue = -2 // the field is removed
)

// Tree is a field that a stage sets. It has either a value, which is an index into Writer.Values,
// or children.
type Tree struct {
	Name     string
	Value    int
	Children []*Tree
	index    map[string]int // the positions of the children by name; nil if there are few
}

// fewChildren is the largest number of children that child searches linearly.
const fewChildren = 8

// Add adds a path to the tree. It returns false if the path equals, contains or extends an existing
// path.
func (n *Tree) Add(path []string, value int) bool {
	for i, name := range path {
		at := n.child([]byte(name))
		last := i == len(path)-1
		if at >= 0 && (last || n.Children[at].Value != NoValue) {
			return false
		}
		if at < 0 {
			at = n.Append(&Tree{Name: name, Value: NoValue})
		}
		n = n.Children[at]
		if last {
			n.Value = value
		}
	}
	return true
}

// Append adds c, whose name must be new, as a child and returns its position.
func (n *Tree) Append(c *Tree) int {
	n.Children = append(n.Children, c)
	at := len(n.Children) - 1
	switch {
	case at == fewChildren:
		n.index = make(map[string]int, 2*fewChildren)
		for i, c := range n.Children {
			n.index[c.Name] = i
		}
	case at > fewChildren:
		n.index[c.Name] = at
	}
	return at
}

// child returns the position of the child named key, or -1.
func (n *Tree) child(key []byte) int {
	if n.index != nil {
		if at, ok := n.index[string(key)]; ok {
			return at
		}
		return -1
	}
	for i, c := range n.Children {
		if c.Name == string(key) {
			return i
		}
	}
	return -1
}

// Writer writes the fields of a Tree into documents. After an interrupt of the operation, or when
// the document becomes too large, it keeps the error and writes no more.
type Writer struct {
	*bsonx.Builder
	Values []bsonx.Value
	built  expr.Context // counts the written bytes, and checks the size limit and for interrupts
	err    error
}

// NewWriter returns a Writer for trees whose nodes refer to values.
func NewWriter(values []bsonx.Value) *Writer {
	return &Writer{Builder: bsonx.NewBuilder(nil), Values: values}
}

// Document returns doc with the fields of the tree set. The result is valid until the next call.
func (w *Writer) Document(n *Tree, doc bsonx.Doc, running *interrupt.Running) (bsonx.Doc, error) {
	w.built, w.err = expr.Context{Running: running}, nil
	w.Reset(w.Bytes()[:0])
	w.StartDoc()
	n.fields(w, doc)
	w.End()
	return w.Bytes(), w.err
}

// stopped adds n bytes to the size of the document, and reports whether the writer has failed.
func (w *Writer) stopped(n int) bool {
	if w.err == nil {
		w.err = w.built.Built(n)
	}
	return w.err != nil
}

// fields writes doc with the fields of the tree set, as $addFields does. An existing field keeps
// its position. If it is an array, the fields below it are set in each element.
func (n *Tree) fields(w *Writer, doc bsonx.Doc) {
	var few [fewChildren]bool
	there := few[:]
	if len(n.Children) > fewChildren {
		there = make([]bool, len(n.Children))
	}
	for it := doc.Iter(); it.Next() && !w.stopped(2+len(it.Key())+len(it.Value().Data)); {
		if at := n.child(it.Key()); at >= 0 {
			there[at] = true
			n.Children[at].write(w, it.Value())
		} else {
			w.ValueBytes(it.Key(), it.Value())
		}
	}
	for i, c := range n.Children {
		if !there[i] && !w.stopped(0) {
			c.write(w, bsonx.Missing)
		}
	}
}

// write writes the field itself. old is its previous value.
func (n *Tree) write(w *Writer, old bsonx.Value) {
	switch {
	case n.Value == DropValue:
	case n.Value != NoValue:
		if v := w.Values[n.Value]; !w.stopped(2 + len(n.Name) + len(v.Data)) {
			w.Value(n.Name, v)
		}
	case old.Type == bsonx.TypeArray:
		w.StartArrayField(n.Name)
		n.elements(w, old.Doc())
		w.End()
	default:
		w.StartDocField(n.Name)
		n.fields(w, docOrEmpty(old))
		w.End()
	}
}

func (n *Tree) elements(w *Writer, array bsonx.Doc) {
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
