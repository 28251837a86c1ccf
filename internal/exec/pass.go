package exec

import "context"

// Pass yields its input's rows. It stands where explain shows a stage that does nothing by itself.
type Pass struct{ base }

// NewPass returns a node that passes everything.
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
