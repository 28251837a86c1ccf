package exec

import (
	"context"

	"github.com/sheafdb/sheaf/internal/bsonx"
)

// ReturnKey replaces each row's document by the index key that led to it, and by an empty one where there was none.
type ReturnKey struct {
	base
	fields EntryFields
	buf    bsonx.Builder
	row    Row
}

// NewReturnKey returns a node for the find option returnKey.
func NewReturnKey(env *Env, in Node) *ReturnKey {
	return &ReturnKey{base: base{env: env, inputs: []Node{in}}}
}

// Next implements Node.
func (n *ReturnKey) Next(ctx context.Context) (*Row, error) {
	row, err := n.inputs[0].Next(ctx)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return n.end()
	}
	n.buf.Reset(n.buf.Bytes()[:0])
	n.buf.StartDoc()
	if row.Key != nil {
		values, err := n.fields.Decode(row)
		if err != nil {
			return nil, err
		}
		for i, f := range patternOf(row.Index) {
			n.buf.Value(f.Path, values[i])
		}
	}
	n.buf.End()
	n.row = *row
	n.row.Doc = bsonx.Doc(n.buf.Bytes())
	return n.emit(&n.row)
}
