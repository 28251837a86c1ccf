package game

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
)

// These are the rules whose violations Check lists.
const (
	RuleItem   = "an item is in one place"
	RuleGold   = "gold is not negative"
	RuleRoom   = "a bag has room for its items"
	RuleDeal   = "nothing is left of a deal"
	RuleBattle = "it is the turn of somebody who lives, until one is left"
	RuleScore  = "a score is stored under its board and player"
)

// Check reads all collections and lists the violations of the rules. Call it after Repair, when no
// other process changes the game. It keeps the ids of all items in memory.
func (g *Game) Check(ctx context.Context) (out []patterns.Violation, err error) {
	report := func(rule, coll string, id any, format string, args ...any) {
		out = append(out, patterns.Violation{
			Rule: rule, Collection: coll, ID: id,
			Detail: fmt.Sprintf(format, args...),
		})
	}
	where := map[string]string{}
	for _, coll := range []string{kindPlayer, kindPlace} {
		name := g.coll(coll).Name()
		err := patterns.Each(ctx, g.coll(coll), bson.D{}, func(h *holder) error {
			for _, e := range h.Escrow {
				report(RuleDeal, name, h.ID, "%d items and %d gold are in escrow for %s",
					len(e.Items), e.Gold, e.Deal.Hex())
				h.Items = append(h.Items, e.Items...)
			}
			if h.Gold < 0 {
				report(RuleGold, name, h.ID, "%d", h.Gold)
			}
			if len(h.Items) > g.cfg.MaxItems {
				report(RuleRoom, name, h.ID, "%d items", len(h.Items))
			}
			for _, item := range h.Items {
				if other, ok := where[item.ID]; ok || item.ID == "" {
					report(RuleItem, name, h.ID, "item %q is in %s too", item.ID, other)
				}
				where[item.ID] = name + " " + h.ID
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	err = patterns.Each(ctx, g.deals, bson.D{}, func(d *deal) error {
		report(RuleDeal, g.deals.Name(), d.ID, "it is %s", d.State)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = patterns.Each(ctx, g.battles, bson.D{}, func(b *Battle) error {
		if problem := b.problem(); problem != "" {
			report(RuleBattle, g.battles.Name(), b.ID, "%s", problem)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	wrong := bson.D{{"$expr", op("$ne", "$_id", bson.D{{"board", "$board"}, {"player", "$player"}})}}
	err = patterns.Each(ctx, g.scores, wrong, func(s *Score) error {
		report(RuleScore, g.scores.Name(), s.Player, "board %s", s.Board)
		return nil
	})
	return out, err
}
