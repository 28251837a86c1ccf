package exec

import "context"

// Limit passes its input's first rows.
type Limit struct {
	base
	left int64
}

// NewLimit returns a node that passes n rows.
func NewLimit(env *Env, in Node, n int64) *Limit {
	return &Limit{base{env: env, inputs: []Node{in}}, n}
}

// Next implements Node. After the last row the input is not asked again: it would look at records for nothing.
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
