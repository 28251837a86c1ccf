package exec

import "context"

// Or is the union of its inputs. It yields the rows of one input after the other, and each record
// once.
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
		fresh, err := n.seen.add(n.env, &n.stats, row.RecordKey)
		if err != nil {
			return nil, err
		}
		if fresh {
			return n.emit(row)
		}
	}
	return n.end()
}

// IsEOF implements Node.
func (n *Or) IsEOF() bool { return n.stats.IsEOF || n.current == len(n.inputs) }

// Close implements Node.
func (n *Or) Close() {
	n.base.Close()
	n.seen.close()
}
