package exec

import (
	"context"
	"sync/atomic"
)

// Count reads all rows of its input and counts them, after a skip and up to a limit. It yields no
// rows: the result is Stats.Counted.
type Count struct {
	base
	skip  int64
	limit int64
	procs *Processors // nil if one goroutine counts
}

// NewCount returns a count. A limit of 0 means no limit.
func NewCount(env *Env, in Node, skip, limit int64) *Count {
	return &Count{base: base{env: env, inputs: []Node{in}}, skip: skip, limit: limit}
}

// Share allows the count to scan a collection with several goroutines. All counters except Works
// stay the same.
func (n *Count) Share(procs *Processors) { n.procs = procs }

// Next implements Node.
func (n *Count) Next(ctx context.Context) (*Row, error) {
	if p := n.parallelScan(); p != nil {
		err := n.countParallel(ctx, p)
		if err == nil {
			return n.end()
		}
		if p.Workers() < 2 || interrupted(ctx) != nil {
			return nil, err
		}
		// Several workers may have failed, and the first error among them is random. The sequential
		// scan below always reports the same error.
	}
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

// IsEOF implements Node.
func (n *Count) IsEOF() bool { return n.stats.IsEOF }

// parallelScan returns a parallel scan of the input. It returns nil if the count has a skip or a
// limit, which need the order, or if the input cannot be scanned in parallel.
func (n *Count) parallelScan() *parallelScan {
	scan, ok := n.inputs[0].(*CollScan)
	if !ok || n.procs == nil || n.skip > 0 || n.limit > 0 {
		return nil
	}
	return parallelScanOf(scan, n.procs)
}

func (n *Count) countParallel(ctx context.Context, p *parallelScan) error {
	var counted atomic.Uint64
	err := p.Run(ctx, func(ctx context.Context, in Node) error {
		rows := uint64(0)
		for {
			row, err := in.Next(ctx)
			if err != nil {
				return err
			}
			if row == nil {
				counted.Add(rows)
				return nil
			}
			rows++
		}
	})
	if err == nil {
		n.stats.Counted = counted.Load()
	}
	return err
}

// FastCount counts a collection's records without reading them: the store maintains the number.
type FastCount struct {
	base
	records     func() (int64, error)
	skip, limit int64
}

// NewFastCount returns a count of all records, after a skip and up to a limit. A limit of 0 means
// no limit.
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

// IsEOF implements Node.
func (n *FastCount) IsEOF() bool { return n.stats.IsEOF }
