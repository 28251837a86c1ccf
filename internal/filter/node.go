package filter

import "github.com/sheafdb/sheaf/internal/bsonx"

// Node is a predicate. Its implementations are the exported types of this package.
//
//sumtype:decl
type Node interface {
	// Kind returns the type of the node. Kinds are in MongoDB's canonical order.
	Kind() Kind
	// matchDoc reports whether a document matches. st may be nil.
	matchDoc(doc bsonx.Doc, st *state) bool
	// matchElem reports whether a single value matches. The value may be missing. Leaves ignore
	// their path.
	matchElem(v bsonx.Value, st *state) bool
	// serialize appends the fields of the predicate to the open document.
	serialize(b *serializer)
}

// Leaf is a predicate on the values at a path.
//
// In a switch over a Node, the case Leaf covers all leaves, also one that is added later. Use it
// only if the meaning of the switch is the same for every predicate on a path. If the switch treats
// one leaf specially, list the other leaves, so that the linter finds the cases that a new leaf
// misses.
type Leaf interface {
	Node
	// FieldPath returns the compiled path.
	FieldPath() *Path
	// serializeOperator appends the operator and its operand to the open document, without the
	// path.
	serializeOperator(b *serializer)
}

// HoldsOfMissing reports whether a leaf matches if its path has no value.
func HoldsOfMissing(leaf Leaf) bool { return leaf.matchElem(bsonx.Missing, nil) }

// Kind is the type of a node.
type Kind uint8

// Values of Kind, in the order in which MongoDB sorts the children of a canonical $and or $or.
const (
	KindAnd Kind = iota
	KindOr
	KindElemMatchObject
	KindElemMatchValue
	KindSize
	KindEq
	KindLte
	KindLt
	KindGt
	KindGte
	KindRegex
	KindMod
	KindExists
	KindIn
	KindBitsAllSet
	KindBitsAllClear
	KindBitsAnySet
	KindBitsAnyClear
	KindNot
	KindNor
	KindType
	KindGeo
	KindWhere
	KindExpr
	KindAlwaysFalse
	KindAlwaysTrue
	KindGeoNear
	KindText
	KindSampleRate
	KindJSONSchema
)

// leaf is the common part of all nodes with a path.
type leaf struct {
	// Path is the dotted path. It is empty in the children of the value form of $elemMatch.
	Path string
	path *Path
}

func newLeaf(path string) leaf { return leaf{Path: path, path: NewPath(path)} }

// FieldPath returns the compiled path.
func (l *leaf) FieldPath() *Path { return l.path }

// children returns the direct children of n.
func children(n Node) []Node {
	switch n := n.(type) {
	case *And:
		return n.Children
	case *Or:
		return n.Children
	case *Nor:
		return n.Children
	case *Not:
		return []Node{n.Child}
	case *ElemMatchObject:
		return []Node{n.Child}
	case *ElemMatchValue:
		return n.Children
	case *Bits, *Compare, *Exists, *Geo, *GeoNear, *In, *Mod, *Regex, *Size, *TypeOf:
	case *AlwaysFalse, *AlwaysTrue, *Expr, *JSONSchema, *SampleRate, *Text, *Where:
	}
	return nil
}

// Children returns the direct children of n. The result must not be changed.
func Children(n Node) []Node { return children(n) }

// WalkNodes calls f for n. If f returns true, WalkNodes continues with the children of n.
func WalkNodes(n Node, f func(Node) bool) {
	if !f(n) {
		return
	}
	for _, child := range children(n) {
		WalkNodes(child, f)
	}
}

func hasKind(n Node, kinds ...Kind) bool {
	found := false
	WalkNodes(n, func(n Node) bool {
		for _, k := range kinds {
			found = found || n.Kind() == k
		}
		return !found
	})
	return found
}
