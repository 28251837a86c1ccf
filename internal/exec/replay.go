package exec

import "context"

// Replay yields rows that a trial run of a plan gave already, and then what the plan gives from there on. It is what
// remains of the MULTI_PLAN and CACHED_PLAN stages once the plan is chosen.
type Replay struct {
	base
	rows []*Row
	next int
	done bool // the trial reached the plan's end
}

// NewReplay returns a node that yields rows, which it owns, and then goes on with in unless that is at its end.
func NewReplay(env *Env, in Node, rows []*Row, done bool) *Replay {
	return &Replay{base: base{env: env, inputs: []Node{in}}, rows: rows, done: done}
}

// Next implements Node.
func (n *Replay) Next(ctx context.Context) (*Row, error) {
	if n.next < len(n.rows) {
		row := n.rows[n.next]
		n.rows[n.next] = nil
		n.next++
		return n.emit(row)
	}
	if n.done {
		return n.end()
	}
	row, err := n.inputs[0].Next(ctx)
	if row == nil || err != nil {
		return row, err
	}
	return n.emit(row)
}
