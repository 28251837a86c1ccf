package exec

import "context"

// Limit yields the first rows of its input.
type Limit struct {
	base
	left int64
}

// NewLimit returns a node that yields at most n rows.
func NewLimit(env *Env, in Node, n int64) *Limit {
	return &Limit{base{env: env, inputs: []Node{in}}, n}
}

// Next implements Node. After the last row it does not call the input again, which could read many
// records in vain.
func (n *Limit) Next(ctx context.Context) (*Row, error) {
	if n.left == 0 {
		return n.end()
	}
	row, err := n.inputs[0].Next(ctx)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return n.end()
	}
	n.left--
	return n.emit(row)
}

// IsEOF implements Node.
func (n *Limit) IsEOF() bool { return n.stats.IsEOF || n.left == 0 || n.inputs[0].IsEOF() }
