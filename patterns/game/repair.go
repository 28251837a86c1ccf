package game

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// Repair ends the deals of processes that died. It may run anywhere, at any time, any number of times at once. It returns how many things it has mended.
func (g *Game) Repair(ctx context.Context) (n int64, err error) {
	err = each(ctx, g.deals, bson.D{{Key: "deadline", Value: is("$lte", g.Now())}}, func(d *deal) error {
		n++
		g.Logger.Info("a deal was ended for its process", "deal", d.ID, "state", d.State)
		if d.State == stateDone {
			return g.finish(ctx, d)
		}
		return g.giveUp(ctx, d)
	})
	for _, kind := range []string{kindPlayer, kindPlace} {
		err = errors.Join(err, each(ctx, g.coll(kind), bson.D{{Key: "escrow.deal", Value: is("$exists", true)}}, func(h *holder) error {
			m, err := g.repairEscrow(ctx, kind, h)
			n += m
			return err
		}))
	}
	return n, err
}

// repairEscrow gives back what belongs to deals that were given up before it was taken. The escrow is read before the deal, which is removed after its escrow.
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

// Run repairs, again and again, until ctx ends.
func (g *Game) Run(ctx context.Context) error {
	for {
		if _, err := g.Repair(ctx); err != nil && ctx.Err() == nil {
			g.Logger.Error("repair of deals failed", "error", err)
		}
		if err := g.Clock.Sleep(ctx, g.cfg.Timeout); err != nil {
			return err
		}
	}
}

// each calls fn with the documents of a collection.
func each[T any](ctx context.Context, coll *mongo.Collection, filter bson.D, fn func(*T) error) error {
	found, err := coll.Find(ctx, filter)
	if err != nil {
		return wrap(err, "read "+coll.Name())
	}
	defer func() { _ = found.Close(context.WithoutCancel(ctx)) }()
	for found.Next(ctx) {
		doc := new(T)
		if err := found.Decode(doc); err != nil {
			return wrap(err, "read "+coll.Name())
		}
		if err := fn(doc); err != nil {
			return err
		}
	}
	return wrap(found.Err(), "read "+coll.Name())
}
