// Command dungeon is a game whose players also post messages. Two players reach for the same sword,
// one sells it to the other, and they fight by turns. The best scores are ranked, and posts reach
// the followers of their author. It demonstrates patterns/game and social.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/examples/internal/demo"
	"github.com/sheafdb/sheaf/patterns/game"
	"github.com/sheafdb/sheaf/patterns/social"
)

func main() { demo.Main("dungeon", run) }

func run(ctx context.Context, out io.Writer, db *mongo.Database) error {
	g, err := game.New(db, game.Config{})
	if err != nil {
		return err
	}
	if err := g.EnsureIndexes(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context, io.Writer, *game.Game) error{sword, battle, rank} {
		if err := step(ctx, out, g); err != nil {
			return err
		}
	}
	if err := demo.Check(ctx, out, "game", g); err != nil {
		return err
	}
	return talk(ctx, out, db)
}

// sword lets two players pick up the same sword. The first player gets it, and sells it to the
// other.
func sword(ctx context.Context, out io.Writer, g *game.Game) error {
	err := errors.Join(
		g.AddPlace(ctx, game.Place{ID: "cave", Items: []game.Item{{ID: "7", Type: "sword", Damage: 50}}}),
		g.AddPlayer(ctx, game.Player{ID: "fred", Location: "cave"}),
		g.AddPlayer(ctx, game.Player{ID: "ann", Location: "cave", Gold: 20}),
		g.PickUp(ctx, "fred", "cave", "7"),
	)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "ann is late:", g.PickUp(ctx, "ann", "cave", "7"))
	if err := g.Trade(ctx, game.Offer{Player: "fred", Items: []string{"7"}},
		game.Offer{Player: "ann", Gold: 15}); err != nil {
		return err
	}
	ann, err := g.Player(ctx, "ann")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "ann has a %s and %d gold\n", ann.Items[0].Type, ann.Gold)
	return nil
}

// battle lets a player click twice. The second click still has the version from before the first
// one, so it is refused.
func battle(ctx context.Context, out io.Writer, g *game.Game) error {
	b, err := g.StartBattle(ctx, "1", game.Fighter{Player: "fred", HP: 10}, game.Fighter{Player: "ann", HP: 10})
	if err != nil {
		return err
	}
	strike := func(b *game.Battle) error { b.Fighters[1].HP -= 4; return nil }
	if _, err := g.Play(ctx, "1", "fred", b.Version, strike); err != nil {
		return err
	}
	_, err = g.Play(ctx, "1", "fred", b.Version, strike)
	fmt.Fprintln(out, "the second click:", err)
	return nil
}

// rank shows the best scores of a week.
func rank(ctx context.Context, out io.Writer, g *game.Game) error {
	week := game.Weekly("arena", time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	for player, score := range map[string]int64{"ann": 80, "fred": 70, "eve": 90} {
		if _, err := g.Best(ctx, week, player, score); err != nil {
			return err
		}
	}
	top, err := g.Top(ctx, week, 10)
	for _, s := range top {
		fmt.Fprintln(out, "rank", s.Rank, "with", s.Score)
	}
	return err
}

// talk shows the feeds of two followers of ann. Only fred can read both of her posts, because he is
// in her circle of friends.
func talk(ctx context.Context, out io.Writer, db *mongo.Database) error {
	n, err := social.New(db, social.Config{})
	if err != nil {
		return err
	}
	if err := n.EnsureIndexes(ctx); err != nil {
		return err
	}
	err = errors.Join(n.Follow(ctx, "fred", "ann"), n.Follow(ctx, "eve", "ann"),
		n.SetCircles(ctx, "ann", "fred", "friends"))
	if err != nil {
		return err
	}
	for _, p := range []social.Post{
		{Author: "ann", Text: "I have a sword"},
		{Author: "ann", Text: "Meet me in the cave", Circles: []string{"friends"}},
	} {
		if _, err := n.Post(ctx, p); err != nil {
			return err
		}
	}
	for _, reader := range []string{"fred", "eve"} {
		items, err := n.Feed(ctx, reader)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, reader, "reads", len(items))
	}
	return demo.Check(ctx, out, "social", n)
}
