package exec

import (
	"context"
	"errors"

	"github.com/sheafdb/sheaf/internal/clock"
)

// timed measures how long a node takes, with its inputs. Only explain builds it: two looks at the clock a row are too many
// for what nobody asks.
type timed struct {
	Node
}

// stopwatch is the machine's clock: what an operator takes is real time, whatever time documents have.
var stopwatch clock.System

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
	start := stopwatch.Now()
	row, err := t.Node.Next(ctx)
	s := t.Stats()
	s.Elapsed += stopwatch.Now().Sub(start)
	s.Failed = s.Failed || err != nil && !errors.Is(err, ErrPaused)
	return row, err
}
