package exec

import "context"

// Pass yields its input's rows unchanged. It is used where explain shows a stage that has nothing
// to do.
type Pass struct{ base }

// NewPass returns a node that yields the rows of in.
func NewPass(env *Env, in Node) *Pass { return &Pass{base{env: env, inputs: []Node{in}}} }

// Next implements Node.
func (n *Pass) Next(ctx context.Context) (*Row, error) {
	row, err := n.inputs[0].Next(ctx)
	if err != nil {
		return nil, err
	}
	if row == nil {
		return n.end()
	}
	return n.emit(row)
}

// IsEOF implements Node.
func (n *Pass) IsEOF() bool { return n.stats.IsEOF || n.inputs[0].IsEOF() }
