package exec

import "context"

// Replay yields rows that a trial run of a plan gave already, and then what the plan gives from there on. It is what
// remains of the MULTI_PLAN and CACHED_PLAN stages once the plan is chosen.
type Replay struct {
	base
	rows []*Row
	next int
	done bool // the trial reached the plan's end

	again *Again // nil where rows stay what they were
	held  bool
	row   heldRow
	shape Node            // what again built
	moved map[string]bool // records that were given out after their entry was gone
}

// Again says how rows of a trial are shaped that were left when the tree was saved.
type Again struct {
	// Build returns the nodes of the plan that shape one row, which in gives without a document.
	Build func(in Node) Node
	// Entry is set where the row is made of its index entry. Without the entry there is no row. Else a
	// record whose entry is gone is given at the place that it had, if it is still in the query.
	Entry bool
}

// NewReplay returns a node that yields rows, which it owns, and then goes on with in unless that is at its
// end. again is nil where rows that are left when the tree is saved stay what they were, as those of a sort.
func NewReplay(env *Env, in Node, rows []*Row, done bool, again *Again) *Replay {
	n := &Replay{base: base{env: env, inputs: []Node{in}}, rows: rows, done: done, again: again}
	n.row.rows.records.env = env
	return n
}

// Next implements Node.
func (n *Replay) Next(ctx context.Context) (*Row, error) {
	for n.next < len(n.rows) {
		row := n.rows[n.next]
		n.rows[n.next] = nil
		n.next++
		if n.held && n.again != nil {
			var err error
			if row, err = n.look(ctx, row); err != nil {
				return nil, err
			}
			if row == nil {
				n.resume(1)
				continue
			}
		}
		return n.emit(row)
	}
	if n.done {
		return n.end()
	}
	for {
		row, err := n.inputs[0].Next(ctx)
		if row == nil || err != nil {
			return row, err
		}
		if !n.moved[string(row.RecordKey)] {
			return n.emit(row)
		}
		n.resume(1)
	}
}

// look shapes a row anew; nil where it is not in the query any more.
func (n *Replay) look(ctx context.Context, row *Row) (*Row, error) {
	ok, err := n.row.rows.hasEntry(row)
	if err != nil || !ok && n.again.Entry {
		return nil, err
	}
	if !ok {
		if n.moved == nil {
			n.moved = make(map[string]bool)
		}
		n.moved[string(row.RecordKey)] = true // the plan may meet it again
	}
	if n.shape == nil {
		n.shape = n.again.Build(&n.row)
	}
	n.row.row = row
	return n.shape.Next(ctx)
}

// resume lets the plan give other rows in the place of so many that were left out.
func (n *Replay) resume(rows int64) {
	for in := n.inputs[0]; len(in.Inputs()) == 1; in = in.Inputs()[0] {
		if l, ok := Bare(in).(*Limit); ok {
			l.left += rows
			l.stats.IsEOF, n.done = false, false
		}
	}
}

func (n *Replay) kept() (bytes int64) {
	for _, row := range n.rows[n.next:] {
		bytes += int64(row.size())
	}
	return bytes
}

// Save implements Node.
func (n *Replay) Save() {
	n.base.Save()
	if n.next == len(n.rows) {
		return
	}
	n.held = true
	if n.shape != nil {
		n.shape.Save()
	}
	in := n.inputs[0]
	for len(in.Inputs()) == 1 {
		in = in.Inputs()[0]
	}
	if near, ok := Bare(in).(*GeoNear); ok {
		rows := n.rows[n.next:]
		near.takeBack(rows)
		n.done = false
		n.resume(int64(len(rows)))
		n.rows, n.next = nil, 0
	}
}

// Close implements Node.
func (n *Replay) Close() {
	if n.shape != nil {
		n.shape.Close()
	}
	n.base.Close()
}
