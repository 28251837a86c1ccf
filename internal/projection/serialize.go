package projection

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
)

// Serialize returns the specification in the form of MongoDB's explain: a tree of names, with _id
// written out. It supports projections from ParseStage, ParseAddFields and ParseUnset, as long as
// their original specification is unchanged.
func (p *Projection) Serialize(s expr.Serializer) bsonx.Doc {
	root := &specNode{}
	root.read(p.spec, "", p.kind)
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	switch p.kind {
	case addition:
		root.write(b, s)
	case exclusion:
		if root.take("_id") == drop {
			b.Bool("_id", false)
			root.write(b, s)
			break
		}
		root.write(b, s)
		b.Bool("_id", true)
	default:
		id := root.take("_id")
		if id == keep {
			b.Bool("_id", true)
		}
		root.write(b, s)
		if id == drop {
			b.Bool("_id", false)
		}
	}
	b.End()
	return bsonx.Doc(b.Bytes())
}

// IsAddition reports whether the projection is an $addFields.
func (p *Projection) IsAddition() bool { return p.kind == addition }

// specNode is a name in a specification, with the nested names.
type specNode struct {
	name     string
	action   action
	value    bsonx.Value // the expression, if action is compute
	children []*specNode
	named    map[string]*specNode // the children by name
}

// read adds the fields of a specification to the tree.
func (n *specNode) read(spec bsonx.Doc, prefix string, k kind) {
	for it := spec.Iter(); it.Next(); {
		name, v := prefix+string(it.Key()), it.Value()
		switch {
		case k != addition && (v.Type == bsonx.TypeBool || v.Type.IsNumber()):
			leaf := n.at(name)
			if leaf.action = drop; v.Truthy() {
				leaf.action = keep
			}
		case v.Type == bsonx.TypeDocument && !v.Doc().IsEmpty() && !isOperatorDoc(v.Doc()):
			n.read(v.Doc(), name+".", k)
		default:
			leaf := n.at(name)
			leaf.action, leaf.value = compute, v
		}
	}
}

// at returns the node of a path, and creates it if necessary.
func (n *specNode) at(path string) *specNode {
	for part := range strings.SplitSeq(path, ".") {
		child := n.named[part]
		if child == nil {
			if n.named == nil {
				n.named = map[string]*specNode{}
			}
			child = &specNode{name: part}
			n.named[part] = child
			n.children = append(n.children, child)
		}
		n = child
	}
	return n
}

// take removes the child name if it is kept or dropped, and returns its action. It returns keep for
// an _id that the specification does not name.
func (n *specNode) take(name string) action {
	for i, child := range n.children {
		if child.name != name {
			continue
		}
		if child.action == compute || child.action == descend {
			return child.action
		}
		n.children = append(n.children[:i], n.children[i+1:]...)
		return child.action
	}
	return keep
}

// write writes first the names that are kept or dropped, and then the others.
func (n *specNode) write(b *bsonx.Builder, s expr.Serializer) {
	for _, child := range n.children {
		if child.action == keep || child.action == drop {
			b.Bool(child.name, child.action == keep)
		}
	}
	for _, child := range n.children {
		switch child.action {
		case compute:
			b.Value(child.name, s.Expression(child.value))
		case descend:
			b.StartDocField(child.name)
			child.write(b, s)
			b.End()
		default:
		}
	}
}
