package exec

import "context"

// Count reads all of its input and counts it, after a skip and up to a limit. It yields no rows.
type Count struct {
	base
	skip  int64
	limit int64
}

// NewCount returns a count; a limit of 0 is none.
func NewCount(env *Env, in Node, skip, limit int64) *Count {
	return &Count{base{env: env, inputs: []Node{in}}, skip, limit}
}

// Next implements Node.
func (n *Count) Next(ctx context.Context) (*Row, error) {
	for n.limit == 0 || n.stats.Counted < uint64(n.limit) {
		row, err := n.inputs[0].Next(ctx)
		if err != nil {
			return nil, err
		}
		if row == nil {
			break
		}
		if n.stats.Skipped < uint64(n.skip) {
			n.stats.Skipped++
			continue
		}
		n.stats.Counted++
	}
	return n.end()
}

// Counted returns the result.
func (n *Count) Counted() int64 { return int64(n.stats.Counted) }

// FastCount counts a collection's records by the counter that the store keeps.
type FastCount struct {
	base
	records     func() (int64, error)
	skip, limit int64
}

// NewFastCount returns a count of all records, after a skip and up to a limit.
func NewFastCount(env *Env, records func() (int64, error), skip, limit int64) *FastCount {
	return &FastCount{base{env: env}, records, skip, limit}
}

// Next implements Node.
func (n *FastCount) Next(context.Context) (*Row, error) {
	if n.stats.IsEOF {
		return nil, nil
	}
	total, err := n.records()
	if err != nil {
		return nil, err
	}
	n.stats.Works++
	skipped := min(n.skip, total)
	total -= skipped
	if n.limit > 0 {
		total = min(total, n.limit)
	}
	n.stats.Skipped, n.stats.Counted = uint64(skipped), uint64(total)
	return n.end()
}

// Counted returns the result.
func (n *FastCount) Counted() int64 { return int64(n.stats.Counted) }
