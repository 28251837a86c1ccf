package exec

import "context"

// Replay yields the rows that a plan returned in its trial run, and then the plan's remaining rows.
// It takes the place of the MULTI_PLAN and CACHED_PLAN stages after the plan was chosen.
type Replay struct {
	base
	rows []*Row
	next int
	done bool // the plan reached its end in the trial

	again *Again // nil if rows of the trial need no second check
	held  bool
	row   heldRow
	shape Node            // nodes that again.Build returned
	moved map[string]bool // records that were yielded after their index entry had disappeared
}

// Again describes how to check and shape rows of a trial that were not yielded before the tree was
// saved.
type Again struct {
	// Build returns the plan's nodes that shape a row. Their input is in, which yields the row
	// without a document.
	Build func(in Node) Node
	// Entry is set if the row is built from its index entry: if the entry has disappeared, the row
	// is dropped. If Entry is false, a record whose entry has disappeared is yielded at the row's
	// place if it still matches the query.
	Entry bool
}

// NewReplay returns a node that yields rows and then the rows of in. It takes ownership of rows.
// done says that in is already at its end. again is nil if rows stay valid when the tree is saved,
// as the rows of a sort do.
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

// IsEOF implements Node.
func (n *Replay) IsEOF() bool {
	return n.stats.IsEOF || n.next == len(n.rows) && (n.done || n.inputs[0].IsEOF())
}

// look checks a row and shapes it again. It returns nil if the row no longer matches the query.
func (n *Replay) look(ctx context.Context, row *Row) (*Row, error) {
	ok, err := n.row.rows.hasEntry(row)
	if err != nil || !ok && n.again.Entry {
		return nil, err
	}
	if !ok {
		if n.moved == nil {
			n.moved = make(map[string]bool)
		}
		n.moved[string(row.RecordKey)] = true // the plan may find the record again, under its new entry
	}
	if n.shape == nil {
		n.shape = n.again.Build(&n.row)
	}
	n.row.row = row
	return n.shape.Next(ctx)
}

// resume raises the plan's limits by the number of rows that were dropped, so that the plan yields
// other rows in their place.
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
