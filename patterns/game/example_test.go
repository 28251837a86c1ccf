package game_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/game"
)

// Two players reach for the same sword. Then one buys it from the other.
func ExampleGame_Trade() {
	ctx := context.Background()
	store, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	db := store.Client().Database("dungeon")

	g, err := game.New(db, game.Config{})
	if err != nil {
		log.Fatal(err)
	}
	err = errors.Join(
		g.AddPlace(ctx, game.Place{ID: "cave", Items: []game.Item{{ID: "7", Type: "sword", Damage: 50}}}),
		g.AddPlayer(ctx, game.Player{ID: "fred", Location: "cave"}),
		g.AddPlayer(ctx, game.Player{ID: "ann", Location: "cave", Gold: 20}),
	)
	if err != nil {
		log.Fatal(err)
	}
	if err := g.PickUp(ctx, "fred", "cave", "7"); err != nil {
		log.Fatal(err)
	}
	err = g.PickUp(ctx, "ann", "cave", "7")
	fmt.Println("Ann is late:", errors.Is(err, game.ErrGone))
	err = g.Trade(ctx, game.Offer{Player: "fred", Items: []string{"7"}}, game.Offer{Player: "ann", Gold: 15})
	if err != nil {
		log.Fatal(err)
	}
	ann, err := g.Player(ctx, "ann")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(ann.Gold, ann.Items[0].Type)
	// Output:
	// Ann is late: true
	// 5 sword
}

// A client that has not seen the last turn gets the current battle in the error.
func ExampleGame_Play() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	g, err := game.New(db.Client().Database("dungeon"), game.Config{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := g.StartBattle(ctx, "1", game.Fighter{Player: "fred", HP: 10}, game.Fighter{Player: "ann", HP: 10})
	if err != nil {
		log.Fatal(err)
	}
	strike := func(b *game.Battle) error { b.Fighters[1].HP -= 4; return nil }
	if _, err := g.Play(ctx, "1", "fred", b.Version, strike); err != nil {
		log.Fatal(err)
	}
	_, err = g.Play(ctx, "1", "fred", b.Version, strike) // a second click
	stale := &game.StaleError{}
	if errors.As(err, &stale) {
		fmt.Println(err, "with", stale.Now.Fighters)
	}
	// Output:
	// game: battle 1 is at version 1 with [{fred 10} {ann 6}]
}

// The best scores of a week.
func ExampleGame_Top() {
	db, err := sheaf.Open(sheaf.Memory, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	ctx := context.Background()
	g, err := game.New(db.Client().Database("dungeon"), game.Config{})
	if err != nil {
		log.Fatal(err)
	}
	week := game.Weekly("arena", time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	for player, score := range map[string]int64{"ann": 80, "fred": 80, "bob": 70, "eve": 90} {
		if _, err := g.Best(ctx, week, player, score); err != nil {
			log.Fatal(err)
		}
	}
	top, err := g.Top(ctx, week, 10)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range top {
		fmt.Println(s.Rank, "with", s.Score)
	}
	// Output:
	// 1 with 90
	// 2 with 80
	// 2 with 80
	// 4 with 70
}
