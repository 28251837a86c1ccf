package filter

import "github.com/sheafdb/sheaf/internal/bsonx"

// Serialize returns the filter document of a tree as explain prints it in parsedQuery: every operator spelled out.
func Serialize(n Node) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	n.serialize(b)
	b.End()
	return bsonx.Doc(b.Bytes())
}

func serializeLeaf(b *bsonx.Builder, n Leaf) {
	b.StartDocField(n.FieldPath().String())
	n.serializeOperator(b)
	b.End()
}

// element writes an operator for a message: $size: -1.
func (f field) element() string { return f.name + ": " + bsonx.FormatShell(f.value) }
