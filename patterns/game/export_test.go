package game

import (
	"context"

	"github.com/sheafdb/sheaf/patterns"
)

// Slow is a deal whose process continues step by step.
type Slow struct {
	g *Game
	d *deal
}

// OpenTrade stores an open trade.
func (g *Game) OpenTrade(ctx context.Context, a, b Offer) (*Slow, error) {
	d, err := g.open(ctx,
		side{Coll: kindPlayer, ID: a.Player, Items: a.Items, Gold: a.Gold},
		side{Coll: kindPlayer, ID: b.Player, Items: b.Items, Gold: b.Gold})
	return &Slow{g: g, d: d}, err
}

// Take moves what a side gives into escrow.
func (s *Slow) Take(ctx context.Context, i int) error { return s.g.take(ctx, s.d, i) }

// Commit makes the deal happen, without handing anything out.
func (s *Slow) Commit(ctx context.Context) error { return s.g.commit(ctx, s.d) }

// Clock returns the clock of the Config.
func (g *Game) Clock() patterns.Clock { return g.env.Clock }
