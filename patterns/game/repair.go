package game

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// Repair ends the deals of processes that died. Any number of processes may call it at any time,
// also at the same time. It returns the number of deals and escrows that it has ended.
func (g *Game) Repair(ctx context.Context) (n int64, err error) {
	err = patterns.Each(ctx, g.deals, bson.D{{"deadline", is("$lte", g.env.Now())}}, func(d *deal) error {
		n++
		g.env.Logger.Info("a deal was ended for its process", "deal", d.ID, "state", d.State)
		if d.State == stateDone {
			return g.finish(ctx, d)
		}
		return g.giveUp(ctx, d)
	})
	for _, kind := range []string{kindPlayer, kindPlace} {
		err = errors.Join(err, patterns.Each(ctx, g.coll(kind),
			bson.D{{"escrow.deal", is("$exists", true)}}, func(h *holder) error {
				m, err := g.repairEscrow(ctx, kind, h)
				n += m
				return err
			}))
	}
	return n, err
}

// repairEscrow returns the contents of escrows whose deals were given up before the escrow was
// filled. It is safe to look for the deal after reading the escrow, because a deal is removed after
// its escrows.
func (g *Game) repairEscrow(ctx context.Context, kind string, h *holder) (n int64, err error) {
	for _, e := range h.Escrow {
		err := g.deals.FindOne(ctx, byID(e.Deal)).Err()
		if err == nil {
			continue
		}
		if !errors.Is(err, mongo.ErrNoDocuments) {
			return n, wrap(err, "read a deal")
		}
		if err := g.giveBack(ctx, &side{Coll: kind, ID: h.ID}, e.Deal); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Run calls Repair in a loop until ctx ends.
func (g *Game) Run(ctx context.Context) error {
	return patterns.Repeat(ctx, g.env, g.cfg.Timeout, "repair of deals failed", func(ctx context.Context) error {
		_, err := g.Repair(ctx)
		return err
	})
}
