package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/clock"
)

// timed measures the time that a node and its inputs take. Only explain uses it: two clock readings
// for each row are too expensive for ordinary queries.
type timed struct {
	Node
}

// Timed returns a node that records the time spent in n; see Stats.Elapsed.
func Timed(n Node) Node { return &timed{n} }

// Bare returns the node that n measures, or n itself if it does not measure another node.
func Bare(n Node) Node {
	if t, ok := n.(*timed); ok {
		return t.Node
	}
	return n
}

// Next implements Node.
func (t *timed) Next(ctx context.Context) (*Row, error) {
	start := clock.Computer.Now()
	row, err := t.Node.Next(ctx)
	s := t.Stats()
	s.Elapsed += clock.Computer.Now().Sub(start)
	s.Failed = s.Failed || err != nil && !errors.Is(err, ErrPaused)
	return row, err
}
