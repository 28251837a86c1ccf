package game_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/game"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

func newGame(t testing.TB, db *mongo.Database, clock patterns.Clock) *game.Game {
	t.Helper()
	g, err := game.New(db, game.Config{Env: patterns.Env{Clock: clock}, MaxItems: 6})
	wantErr(t, err, nil)
	return g
}

// world creates fred and ann in a cave with a jar and a rope that is for sale. As in the book, fred
// has 10 gold.
func world(t testing.TB, db *mongo.Database, clock patterns.Clock) *game.Game {
	t.Helper()
	g, ctx := newGame(t, db, clock), context.Background()
	wantErr(t, g.EnsureIndexes(ctx), nil)
	wantErr(t, g.AddPlace(ctx, game.Place{ID: "cave", Exits: []string{"forest"}, Items: []game.Item{
		{ID: "jar", Type: "jar"}, {ID: "rope", Type: "rope", Price: 4},
	}}), nil)
	wantErr(t, g.AddPlace(ctx, game.Place{ID: "forest"}), nil)
	wantErr(t, g.AddPlayer(ctx, game.Player{
		ID: "fred", Location: "cave", Gold: 10, Abilities: map[string]int64{"str": 20, "int": 8},
		More: bson.M{"race": "gnome", "class": "illusionist"},
		Items: []game.Item{
			{ID: "slingshot", Type: "weapon", Damage: 23, Ranged: true},
			{ID: "pot", Type: "jar", More: bson.M{"contains": "fairy"}},
			{ID: "sword", Type: "weapon", Damage: 50},
		},
	}), nil)
	wantErr(t, g.AddPlayer(ctx,
		game.Player{
			ID: "ann", Location: "cave", Gold: 1,
			Items: []game.Item{{ID: "wood", Type: "wood"}, {ID: "string", Type: "string"}},
		}), nil)
	return g
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%v, want %v", err, want)
	}
}

func mustHold(t testing.TB, g *game.Game) {
	t.Helper()
	violations, err := g.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

// bag returns a player's gold and items as a text: "10 pot slingshot sword".
func bag(t testing.TB, g *game.Game, player string) string {
	t.Helper()
	p, err := g.Player(context.Background(), player)
	wantErr(t, err, nil)
	return list(p.Gold, p.Items)
}

func lies(t testing.TB, g *game.Game, place string) string {
	t.Helper()
	p, err := g.Place(context.Background(), place)
	wantErr(t, err, nil)
	return list(p.Gold, p.Items)
}

func list(gold int64, items []game.Item) string {
	var ids []string
	for _, item := range items {
		ids = append(ids, item.ID)
	}
	slices.Sort(ids)
	return fmt.Sprint(gold, ids)
}

func want(t testing.TB, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestDeals(t *testing.T) {
	t.Parallel()
	g, ctx := world(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	wantErr(t, g.PickUp(ctx, "ann", "cave", "rope"), game.ErrGone) // the rope has a price, so it can only be bought
	wantErr(t, g.PickUp(ctx, "ann", "cave", "ring"), game.ErrGone)
	wantErr(t, g.PickUp(ctx, "ann", "forest", "jar"), game.ErrGone)
	wantErr(t, g.PickUp(ctx, "bob", "cave", "jar"), game.ErrNotFound)
	wantErr(t, g.PickUp(ctx, "ann", "cave", "jar"), nil)
	wantErr(t, g.PickUp(ctx, "fred", "cave", "jar"), game.ErrGone)
	wantErr(t, g.Buy(ctx, "ann", "cave", "rope", 4), game.ErrPoor)
	wantErr(t, g.Buy(ctx, "fred", "cave", "rope", 3), game.ErrGone)
	wantErr(t, g.Buy(ctx, "fred", "cave", "rope", 0), game.ErrInvalid)
	wantErr(t, g.Buy(ctx, "fred", "cave", "rope", 4), nil)
	want(t, bag(t, g, "fred"), "6 [pot rope slingshot sword]")
	want(t, lies(t, g, "cave"), "4 []")
	wantErr(t, g.Trade(ctx, game.Offer{Player: "fred", Items: []string{"sword", "rope"}, Gold: 1},
		game.Offer{Player: "ann", Items: []string{"wood"}}), nil)
	want(t, bag(t, g, "fred"), "5 [pot slingshot wood]")
	want(t, bag(t, g, "ann"), "2 [jar rope string sword]")
	wantErr(t, g.Trade(ctx, game.Offer{Player: "fred", Gold: 1},
		game.Offer{Player: "ann", Items: []string{"wood"}}), game.ErrGone)
	wantErr(t, g.Trade(ctx, game.Offer{Player: "fred"}, game.Offer{Player: "fred"}), game.ErrInvalid)
	wantErr(t, g.Trade(ctx, game.Offer{Player: "fred", Gold: -1}, game.Offer{Player: "ann"}), game.ErrInvalid)
	wantErr(t, g.Trade(ctx, game.Offer{Player: "fred", Items: []string{"pot", "wood", "slingshot"}},
		game.Offer{Player: "ann"}), game.ErrFull)
	wantErr(t, g.Drop(ctx, "ann", "forest", "sword"), game.ErrElsewhere)
	wantErr(t, g.Drop(ctx, "ann", "cave", "rope"), nil)
	wantErr(t, g.PickUp(ctx, "fred", "cave", "rope"), nil) // the item has lost its price
	mustHold(t, g)
}

func TestCraftAndMove(t *testing.T) {
	t.Parallel()
	g, ctx := world(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	bow := game.Recipe{
		Needs: map[string]int{"wood": 1, "string": 1}, Gold: 1,
		Makes: game.Item{Type: "weapon", Damage: 30, Ranged: true},
	}
	_, err := g.Craft(ctx, "fred", bow)
	wantErr(t, err, game.ErrGone)
	item, err := g.Craft(ctx, "ann", bow)
	wantErr(t, err, nil)
	want(t, bag(t, g, "ann"), "0 ["+item.ID+"]")
	_, err = g.Craft(ctx, "ann", bow)
	wantErr(t, err, game.ErrPoor)
	for range 5 {
		_, err = g.Craft(ctx, "ann", game.Recipe{Makes: game.Item{Type: "stone"}})
		wantErr(t, err, nil)
	}
	_, err = g.Craft(ctx, "ann", game.Recipe{Makes: game.Item{Type: "stone"}})
	wantErr(t, err, game.ErrFull)
	wantErr(t, g.Move(ctx, "ann", "forest", "cave"), game.ErrNotFound) // the forest has no exit to the cave
	wantErr(t, g.Move(ctx, "ann", "cave", "forest"), nil)
	wantErr(t, g.Move(ctx, "ann", "cave", "forest"), game.ErrElsewhere)
	wantErr(t, g.PickUp(ctx, "ann", "cave", "jar"), game.ErrFull)
	mustHold(t, g)
}

// TestSamples runs the queries of worked examples W048 and W049 of the book.
func TestSamples(t *testing.T) {
	t.Parallel()
	g, ctx := world(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	for _, c := range []struct {
		item bson.D
		n    int
	}{
		{bson.D{{"damage", bson.D{{"$gt", 20}}}}, 1},
		{bson.D{{"damage", bson.D{{"$gt", 20}}}, {"ranged", true}}, 1},
		{bson.D{{"damage", bson.D{{"$gt", 30}}}, {"ranged", true}}, 0},
		{bson.D{{"type", "jar"}, {"contains", "fairy"}}, 1},
	} {
		if got, err := g.Holding(ctx, c.item); err != nil || len(got) != c.n || c.n == 1 && got[0].ID != "fred" {
			t.Errorf("%v: %v %v", c.item, got, err)
		}
	}
	for least, n := range map[int64]int{20: 1, 21: 0} {
		if got, err := g.Able(ctx, "str", least); err != nil || len(got) != n {
			t.Errorf("%d: %v %v", least, got, err)
		}
	}
}

func TestBattle(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	g, ctx := world(t, patterntest.Open(t), clock), t.Context()
	hit := func(i int, n int64) func(*game.Battle) error {
		return func(b *game.Battle) error { b.Fighters[i].HP -= n; return nil }
	}
	_, err := g.StartBattle(ctx, "b", game.Fighter{Player: "fred", HP: 10})
	wantErr(t, err, game.ErrInvalid)
	_, err = g.StartBattle(ctx, "b", game.Fighter{Player: "fred", HP: 10}, game.Fighter{Player: "ann", HP: 5},
		game.Fighter{Player: "bob", HP: 5})
	wantErr(t, err, nil)
	_, err = g.Play(ctx, "b", "ann", 0, hit(0, 1))
	wantErr(t, err, game.ErrTurn)
	b, err := g.Play(ctx, "b", "fred", 0, hit(1, 7))
	wantErr(t, err, nil)
	if b.Version != 1 || b.Turn != 2 || b.Over || b.Fighters[1].HP != 0 {
		t.Errorf("%+v", b)
	}
	stale := &game.StaleError{}
	if _, err = g.Play(ctx, "b", "fred", 0, hit(2, 7)); !errors.As(err, &stale) || stale.Now.Version != 1 {
		t.Error(err)
	}
	_, err = g.Skip(ctx, "b", 1)
	wantErr(t, err, game.ErrTurn)
	clock.Advance(time.Hour)
	b, err = g.Skip(ctx, "b", 1)
	wantErr(t, err, nil)
	b, err = g.Play(ctx, "b", "fred", b.Version, hit(2, 5))
	if err != nil || !b.Over || b.Version != 3 {
		t.Errorf("%+v %v", b, err)
	}
	_, err = g.Play(ctx, "b", "fred", 3, hit(2, 5))
	wantErr(t, err, game.ErrOver)
	mustHold(t, g)
}

// TestTurnOnce lets several clients play the same turns: each turn happens once.
func TestTurnOnce(t *testing.T) {
	t.Parallel()
	g, ctx := world(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	_, err := g.StartBattle(ctx, "b", game.Fighter{Player: "fred", HP: 10}, game.Fighter{Player: "ann", HP: 1000})
	wantErr(t, err, nil)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			version := int64(0)
			for version < 40 {
				b, err := g.Play(ctx, "b", []string{"fred", "ann"}[version%2], version,
					func(b *game.Battle) error { b.Fighters[1].HP--; return nil })
				stale := &game.StaleError{}
				switch {
				case errors.As(err, &stale):
					b = stale.Now
				case err != nil:
					t.Error(err)
					return
				}
				version = b.Version
			}
		})
	}
	wg.Wait()
	b, err := g.Battle(ctx, "b")
	if err != nil || b.Fighters[1].HP != 1000-b.Version {
		t.Errorf("%+v %v", b, err)
	}
	mustHold(t, g)
}

func TestBoards(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	g, ctx := newGame(t, patterntest.Open(t), clock), t.Context()
	wantErr(t, g.EnsureIndexes(ctx), nil)
	board := game.Weekly("arena", clock.Now())
	want(t, board+game.Daily(" d", clock.Now()), "arena/2026-W18 d/2026-05-01")
	for i, score := range []int64{70, 90, 80, 80, 60, 80, 50} {
		clock.Advance(time.Second)
		better, err := g.Best(ctx, board, fmt.Sprint("p", i), score)
		if !better || err != nil {
			t.Error(better, err)
		}
	}
	for _, score := range []int64{70, 69} {
		if better, err := g.Best(ctx, board, "p0", score); better || err != nil {
			t.Error(better, err)
		}
	}
	show := func(scores []game.Score, err error) (out string) {
		wantErr(t, err, nil)
		for _, s := range scores {
			out += fmt.Sprintf("%d %s %d, ", s.Rank, s.Player, s.Score)
		}
		return out
	}
	want(t, show(g.Top(ctx, board, 5)), "1 p1 90, 2 p2 80, 2 p3 80, 2 p5 80, 5 p0 70, ")
	want(t, show(g.Around(ctx, board, "p5", 1)), "2 p3 80, 2 p5 80, 5 p0 70, ")
	want(t, show(g.Around(ctx, board, "p0", 2)), "2 p3 80, 2 p5 80, 5 p0 70, 6 p4 60, 7 p6 50, ")
	want(t, show(g.Around(ctx, board, "p3", 0)), "2 p3 80, ")
	want(t, show(g.Around(ctx, board, "p1", 9)), "1 p1 90, 2 p2 80, 2 p3 80, 2 p5 80, 5 p0 70, 6 p4 60, 7 p6 50, ")
	s, err := g.Rank(ctx, board, "p4")
	if err != nil || s.Rank != 6 {
		t.Errorf("%+v %v", s, err)
	}
	_, err = g.Rank(ctx, board, "nobody")
	wantErr(t, err, game.ErrNotFound)
	wantErr(t, g.Add(ctx, board, "p6", 31), nil)
	wantErr(t, g.Add(ctx, board, "p7", 10), nil)
	want(t, show(g.Top(ctx, board, 3)), "1 p1 90, 2 p6 81, 3 p2 80, ")
	mustHold(t, g)
}

// TestScoresTogether stores the scores of a player at the same time, in any order: the best score
// and the sum are right.
func TestScoresTogether(t *testing.T) {
	t.Parallel()
	g, ctx := newGame(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 10 {
				if _, err := g.Best(ctx, "best", "fred", int64(i*8+w)); err != nil {
					t.Error(err)
				}
				if err := g.Add(ctx, "sum", "fred", 2); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for board, want := range map[string]int64{"best": 79, "sum": 160} {
		if s, err := g.Rank(ctx, board, "fred"); err != nil || s.Score != want || s.Rank != 1 {
			t.Errorf("%+v %v", s, err)
		}
	}
}

// TestSlow lets the process of a deal sleep past the deadline: the deal is undone, and the late
// steps of the process have no lasting effect.
func TestSlow(t *testing.T) {
	t.Parallel()
	clock := patterntest.NewClock()
	g, ctx := world(t, patterntest.Open(t), clock), t.Context()
	fred, ann := game.Offer{Player: "fred", Items: []string{"sword"}, Gold: 3},
		game.Offer{Player: "ann", Items: []string{"wood"}}
	slow, err := g.OpenTrade(ctx, fred, ann)
	wantErr(t, err, nil)
	wantErr(t, slow.Take(ctx, 0), nil)
	want(t, bag(t, g, "fred"), "7 [pot slingshot]")
	wantErr(t, g.Trade(ctx, fred, ann), game.ErrGone)
	clock.Advance(time.Hour)
	_, err = g.Repair(ctx)
	wantErr(t, err, nil)
	want(t, bag(t, g, "fred"), "10 [pot slingshot sword]")
	wantErr(t, slow.Take(ctx, 1), nil) // too late: the deal was given up
	want(t, bag(t, g, "ann"), "1 [string]")
	wantErr(t, slow.Commit(ctx), game.ErrExpired)
	want(t, bag(t, g, "ann"), "1 [string wood]")
	wantErr(t, slow.Take(ctx, 1), nil) // too late, and then the process dies
	_, err = g.Repair(ctx)
	wantErr(t, err, nil)
	want(t, bag(t, g, "ann"), "1 [string wood]")
	mustHold(t, g)
}

// TestTogether lets many goroutines do all operations at the same time: no item is lost or doubled.
func TestTogether(t *testing.T) {
	t.Parallel()
	g, ctx := world(t, patterntest.Open(t), patterntest.NewClock()), t.Context()
	things := []string{"jar", "rope", "slingshot", "pot", "sword", "wood", "string"}
	who := []string{"fred", "ann"}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(w)))
			for range 30 {
				thing, i := things[random.IntN(len(things))], random.IntN(2)
				var err error
				switch random.IntN(5) {
				case 0:
					err = g.PickUp(ctx, who[i], "cave", thing)
				case 1:
					err = g.Drop(ctx, who[i], "cave", thing)
				case 2:
					err = g.Buy(ctx, who[i], "cave", thing, 4)
				case 3:
					err = g.Trade(ctx, game.Offer{Player: who[i], Items: []string{thing}},
						game.Offer{Player: who[1-i], Gold: random.Int64N(3)})
				default:
					_, err = g.Repair(ctx)
				}
				if err != nil && !errors.Is(err, game.ErrGone) && !errors.Is(err, game.ErrPoor) &&
					!errors.Is(err, game.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	mustHold(t, g)
	p, err := g.Place(ctx, "cave")
	wantErr(t, err, nil)
	gold, n := p.Gold, len(p.Items)
	for _, id := range who {
		p, err := g.Player(ctx, id)
		wantErr(t, err, nil)
		gold, n = gold+p.Gold, n+len(p.Items)
	}
	if gold != 11 || n != len(things) {
		t.Errorf("%d gold, %d things", gold, n)
	}
}

// TestCrash lets every deal die at every point: afterwards it has happened for both sides or for
// neither.
func TestCrash(t *testing.T) {
	t.Parallel()
	before := "10 [pot slingshot sword] 1 [string wood] 0 [jar rope]"
	for name, op := range map[string]struct {
		do     func(ctx context.Context, g *game.Game) error
		behind string
	}{
		"pick up": {
			func(ctx context.Context, g *game.Game) error { return g.PickUp(ctx, "fred", "cave", "jar") },
			"10 [jar pot slingshot sword] 1 [string wood] 0 [rope]",
		},
		"drop": {
			func(ctx context.Context, g *game.Game) error { return g.Drop(ctx, "fred", "cave", "pot") },
			"10 [slingshot sword] 1 [string wood] 0 [jar pot rope]",
		},
		"buy": {
			func(ctx context.Context, g *game.Game) error { return g.Buy(ctx, "fred", "cave", "rope", 4) },
			"6 [pot rope slingshot sword] 1 [string wood] 4 [jar]",
		},
		"poor": {func(ctx context.Context, g *game.Game) error {
			if err := g.Buy(ctx, "ann", "cave", "rope", 4); !errors.Is(err, game.ErrPoor) {
				return errors.Join(errors.New("not too poor"), err)
			}
			return nil
		}, before},
		"trade": {func(ctx context.Context, g *game.Game) error {
			return g.Trade(ctx, game.Offer{Player: "fred", Items: []string{"pot"}, Gold: 2},
				game.Offer{Player: "ann", Items: []string{"wood", "string"}})
		}, "8 [slingshot string sword wood] 3 [pot] 0 [jar rope]"},
		"repaired": {func(ctx context.Context, g *game.Game) error {
			s, err := g.OpenTrade(ctx, game.Offer{Player: "fred", Items: []string{"pot"}, Gold: 2},
				game.Offer{Player: "ann", Items: []string{"wood"}})
			if err := errors.Join(err, s.Take(ctx, 0), s.Take(ctx, 1), s.Commit(ctx)); err != nil {
				return err
			}
			g.Clock().(*patterntest.Clock).Advance(time.Hour)
			_, err = g.Repair(ctx)
			return err
		}, "8 [slingshot sword wood] 3 [pot string] 0 [jar rope]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) { world(t, db, patterntest.NewClock()) },
				Operation: func(ctx context.Context, db *mongo.Database) error {
					return op.do(ctx, newGame(t, db, patterntest.NewClock()))
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					if death.Survived && death.Err != nil {
						t.Error(death.Err)
					}
					clock := patterntest.NewClock()
					g := newGame(t, db, clock)
					clock.Advance(time.Hour)
					if _, err := g.Repair(t.Context()); err != nil {
						t.Fatal(err)
					}
					if n, err := g.Repair(t.Context()); n != 0 || err != nil {
						t.Errorf("repair does not end: %d %v", n, err)
					}
					mustHold(t, g)
					now := bag(t, g, "fred") + " " + bag(t, g, "ann") + " " + lies(t, g, "cave")
					if now != op.behind && (death.Survived || now != before) {
						t.Error(now)
					}
				},
			})
			if want, ok := map[string]int{"poor": 0, "repaired": 1}[name]; !ok && points != 14 || ok && points < want {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestCrashOne lets the process die in operations that read one document and then change it.
func TestCrashOne(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]struct {
		do   func(ctx context.Context, g *game.Game) error
		done func(t *testing.T, g *game.Game) bool
	}{
		"craft": {
			func(ctx context.Context, g *game.Game) error {
				_, err := g.Craft(ctx, "ann",
					game.Recipe{Needs: map[string]int{"wood": 1, "string": 1}, Gold: 1, Makes: game.Item{Type: "bow"}})
				return err
			},
			func(t *testing.T, g *game.Game) bool {
				p, err := g.Player(t.Context(), "ann")
				wantErr(t, err, nil)
				made := len(p.Items) == 1 && p.Items[0].Type == "bow" && p.Gold == 0
				if !made && (len(p.Items) != 2 || p.Gold != 1) {
					t.Errorf("%+v", p)
				}
				return made
			},
		},
		"play": {
			func(ctx context.Context, g *game.Game) error {
				_, err := g.Play(ctx, "b", "fred", 0, func(*game.Battle) error { return nil })
				return err
			},
			func(t *testing.T, g *game.Game) bool {
				b, err := g.Battle(t.Context(), "b")
				wantErr(t, err, nil)
				return b.Version == 1
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					g := world(t, db, patterntest.NewClock())
					_, err := g.StartBattle(t.Context(), "b", game.Fighter{Player: "fred", HP: 9},
						game.Fighter{Player: "ann", HP: 9})
					wantErr(t, err, nil)
				},
				Operation: func(ctx context.Context, db *mongo.Database) error {
					return op.do(ctx, newGame(t, db, patterntest.NewClock()))
				},
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					g := newGame(t, db, patterntest.NewClock())
					mustHold(t, g)
					if done := op.done(t, g); done != (death.Commands == 2) {
						t.Errorf("%v: done: %v", death, done)
					}
				},
			})
			if points != 4 {
				t.Errorf("%d points", points)
			}
		})
	}
}

func TestScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	world(t, server.Database(), patterntest.NewClock())
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		g := newGame(t, db, patterntest.NewClock())
		wantErr(t, g.Buy(ctx, "fred", "cave", "rope", 4), nil)
		wantErr(t, g.PickUp(ctx, "ann", "cave", "ring"), game.ErrGone)
		_, err := g.Craft(ctx, "ann", game.Recipe{Needs: map[string]int{"wood": 1}, Makes: game.Item{Type: "chair"}})
		wantErr(t, err, nil)
		wantErr(t, g.Move(ctx, "ann", "cave", "forest"), nil)
		_, err = g.Holding(ctx, bson.D{{"damage", bson.D{{"$gt", 20}}}, {"ranged", true}})
		wantErr(t, err, nil)
		_, err = g.Holding(ctx, bson.D{{"type", "jar"}})
		wantErr(t, err, nil)
		_, err = g.Able(ctx, "str", 3)
		wantErr(t, err, nil)
		_, err = g.StartBattle(ctx, "b", game.Fighter{Player: "fred", HP: 1}, game.Fighter{Player: "ann", HP: 1})
		wantErr(t, err, nil)
		_, err = g.Play(ctx, "b", "fred", 0, func(*game.Battle) error { return nil })
		wantErr(t, err, nil)
		_, err = g.Best(ctx, "x", "ann", 1)
		wantErr(t, err, nil)
		wantErr(t, g.Add(ctx, "x", "fred", 1), nil)
		_, err = g.Top(ctx, "x", 1)
		wantErr(t, err, nil)
		_, err = g.Around(ctx, "x", "ann", 1)
		wantErr(t, err, nil)
		_, err = g.Repair(ctx)
		wantErr(t, err, nil)
	})
	if n < 25 {
		t.Errorf("%d commands were explained", n)
	}
}

// TestBroken inserts invalid documents, like other programs could. Check finds each of them, and
// Repair corrects them if it can know the right value.
func TestBroken(t *testing.T) {
	t.Parallel()
	deal, past := bson.NewObjectID(), patterntest.NewClock().Now()
	stones := make([]game.Item, 7)
	for i := range stones {
		stones[i].ID = fmt.Sprint(i)
	}
	for name, c := range map[string]struct {
		coll string
		doc  any
		rule string
		keep bool // Repair cannot know which value is right
	}{
		"doubled": {"places", game.Place{ID: "x", Items: []game.Item{{ID: "jar"}}}, game.RuleItem, true},
		"debts":   {"places", game.Place{ID: "x", Gold: -1}, game.RuleGold, true},
		"unnamed": {"places", game.Place{ID: "x", Items: []game.Item{{Type: "jar"}}}, game.RuleItem, true},
		"full":    {"places", game.Place{ID: "x", Items: stones}, game.RuleRoom, true},
		"escrow": {"players", bson.D{{"_id", "x"}, {"gold", 0}, {"items", bson.A{}}, {"escrow", bson.A{
			bson.D{{"deal", deal}, {"items", bson.A{game.Item{ID: "y"}}}, {"gold", 1}, {"room", 1}},
		}}}, game.RuleDeal, false},
		"deal": {"deals", bson.D{{"_id", deal}, {"state", "open"}, {"deadline", past}}, game.RuleDeal, false},
		"battle": {"battles", game.Battle{
			ID: "x", Turn: 1,
			Fighters: []game.Fighter{{"a", 1}, {"b", 0}, {"c", 1}},
		}, game.RuleBattle, true},
		"twins": {"battles", game.Battle{ID: "x", Fighters: []game.Fighter{{"a", 1}, {"a", 1}}}, game.RuleBattle, true},
		"ghost": {"battles", game.Battle{
			ID:       "x",
			Fighters: []game.Fighter{{"a", 1}, {"b", 1}, {"c", -1}},
		}, game.RuleBattle, true},
		"dead":  {"battles", game.Battle{ID: "x", Fighters: []game.Fighter{{"a", 1}, {"b", 0}}}, game.RuleBattle, true},
		"score": {"scores", game.Score{Board: "x", Player: "fred"}, game.RuleScore, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := patterntest.Open(t)
			g, ctx := world(t, db, patterntest.NewClock()), t.Context()
			mustHold(t, g)
			_, err := db.Collection(c.coll).InsertOne(ctx, c.doc)
			wantErr(t, err, nil)
			violations, err := g.Check(ctx)
			if err != nil || len(violations) != 1 || violations[0].Rule != c.rule ||
				violations[0].Collection != c.coll {
				t.Fatalf("%v %v", violations, err)
			}
			_, err = g.Repair(ctx)
			wantErr(t, err, nil)
			if !c.keep {
				mustHold(t, g)
			}
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	g := newGame(t, patterntest.Open(t), nil)
	wantErr(t, g.Shard(t.Context()), patterns.ErrNotSharded)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantErr(t, g.Run(short), context.DeadlineExceeded)
}
