package exec

import "context"

// Skip drops the first rows of its input.
type Skip struct {
	base
	left int64
}

// NewSkip returns a node that drops n rows.
func NewSkip(env *Env, in Node, n int64) *Skip {
	return &Skip{base{env: env, inputs: []Node{in}}, n}
}

// Next implements Node.
func (n *Skip) Next(ctx context.Context) (*Row, error) {
	for {
		row, err := n.inputs[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return n.end()
		}
		if n.left == 0 {
			return n.emit(row)
		}
		n.left--
	}
}

// IsEOF implements Node.
func (n *Skip) IsEOF() bool { return n.stats.IsEOF || n.inputs[0].IsEOF() }
