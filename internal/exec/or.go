package exec

import "context"

// Or yields the rows of its inputs, one input after the other, each record once.
type Or struct {
	base
	current int
	seen    seen
}

// NewOr returns the union of its inputs.
func NewOr(env *Env, inputs []Node) *Or {
	return &Or{base: base{env: env, inputs: inputs}}
}

// Next implements Node.
func (n *Or) Next(ctx context.Context) (*Row, error) {
	for n.current < len(n.inputs) {
		row, err := n.inputs[n.current].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			n.current++
			continue
		}
		if n.seen.add(&n.stats, row.RecordKey) {
			return n.emit(row)
		}
	}
	return n.end()
}
