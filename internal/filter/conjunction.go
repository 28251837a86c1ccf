package filter

import "github.com/sheafdb/sheaf/internal/bsonx"

// maxOnePass is the largest number of predicates that are tested in one pass over a document. Each
// field name of the document is compared with the names of all predicates.
const maxOnePass = 16

// newConjunction returns an And of the nodes. If all nodes are predicates on top-level fields, the
// And tests them in one pass over a document.
func newConjunction(nodes []Node) *And {
	n := &And{Children: nodes}
	for _, child := range nodes {
		l, ok := child.(Leaf)
		if !ok || l.FieldPath().Len() != 1 || len(nodes) > maxOnePass {
			return n
		}
	}
	n.fields = make([]fieldTest, len(nodes))
	for i, child := range nodes {
		l := child.(Leaf)
		n.fields[i] = fieldTest{l.FieldPath().Name(0), l}
	}
	return n
}

// fieldTest is a predicate on a top-level field.
type fieldTest struct {
	name string
	leaf Leaf
}

// matchFields tests all predicates in one pass over a document. done is false if one of the fields
// is an array, which the general algorithm must handle. If the document has a field twice, the
// first one is tested.
func (n *And) matchFields(doc bsonx.Doc) (matched, done bool) {
	seen := uint32(0)
	all := uint32(1)<<len(n.fields) - 1
	for it := doc.Iter(); seen != all && it.Next(); {
		key := it.Key()
		for i := range n.fields {
			f := &n.fields[i]
			if len(f.name) != len(key) || f.name != string(key) || seen>>i&1 == 1 {
				continue
			}
			v := it.Value()
			if v.Type == bsonx.TypeArray {
				return false, false
			}
			if !f.leaf.matchElem(v, nil) {
				return false, true
			}
			seen |= 1 << i
		}
	}
	for i := range n.fields {
		if seen>>i&1 == 0 && !n.fields[i].leaf.matchElem(bsonx.Missing, nil) {
			return false, true
		}
	}
	return true, true
}
