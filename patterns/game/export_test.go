package game

import (
	"context"

	"github.com/sheafdb/sheaf/patterns"
)

// Slow is a deal whose process goes on step by step.
type Slow struct {
	g *Game
	d *deal
}

// OpenTrade writes a trade down.
func (g *Game) OpenTrade(ctx context.Context, a, b Offer) (*Slow, error) {
	d, err := g.open(ctx,
		side{Coll: kindPlayer, ID: a.Player, Items: a.Items, Gold: a.Gold},
		side{Coll: kindPlayer, ID: b.Player, Items: b.Items, Gold: b.Gold})
	return &Slow{g: g, d: d}, err
}

// Take puts into escrow what a side gives.
func (s *Slow) Take(ctx context.Context, i int) error { return s.g.take(ctx, s.d, i) }

// Commit decides, and hands nothing out.
func (s *Slow) Commit(ctx context.Context) error { return s.g.commit(ctx, s.d) }

// Clock returns the clock of the Config.
func (g *Game) Clock() patterns.Clock { return g.env.Clock }
