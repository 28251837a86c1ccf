package exec

import (
	"context"
	"time"
)

// timed measures how long a node takes, with its inputs. Only explain builds it: two looks at the clock a row are too many
// for what nobody asks.
type timed struct {
	Node
}

// Timed returns a node that measures another one; see Stats.Elapsed.
func Timed(n Node) Node { return &timed{n} }

// Bare returns the node that is measured, or n.
func Bare(n Node) Node {
	if t, ok := n.(*timed); ok {
		return t.Node
	}
	return n
}

// Next implements Node.
func (t *timed) Next(ctx context.Context) (*Row, error) {
	start := time.Now()
	row, err := t.Node.Next(ctx)
	t.Stats().Elapsed += time.Since(start)
	return row, err
}
