package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/game"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func gameScenarios() []*scenario.Definition {
	players := whole("numberOfPlayers", "how many players there are", 1000, 2, 1_000_000)
	return []*scenario.Definition{{
		Name: "game-trade", Group: "game", Users: 300, Title: "Trade an item for gold with another player",
		Doc: `A user looks into the bag of a player chosen at random, and trades an item for the gold of another player: both change hands, or neither. It is not a
failure if the item is gone meanwhile, or the gold is not enough. No item and no gold may be lost or duplicated.

  players: {_id: "player-7", location: "market", gold: NumberLong(100), items: [{id: "item-7-0", type: "sword", damage: 12, ranged: false}, …]}
  deals:   {_id, state: "open", deadline, sides: […]}, as long as a trade is under way`,
		Params: []scenario.Param{
			players,
			whole("itemsPerPlayer", "how many items each has at first", 10, 1, 100),
			whole("goldPerPlayer", "how much gold each has at first", 100, 0, 1_000_000_000),
			whole("price", "highest price of an item", 20, 1, 1_000_000_000),
		},
		New: func(env scenario.Env) (scenario.Scenario, error) { return newPlayers(env, true) },
	}, {
		Name: "game-board", Group: "game", Users: 500, Title: "Win points, and look at the leaderboard",
		Doc: `A player chosen at random wins points, which are added to its score, and reads its rank and the first ten.

  scores: {_id: {board: "arena", player: "player-7"}, board, player, score: NumberLong(900), at}`,
		Params: []scenario.Param{players},
		New:    func(env scenario.Env) (scenario.Scenario, error) { return newPlayers(env, false) },
	}}
}

// players implements the scenarios of package game.
type players struct {
	still
	game    *game.Game
	env     scenario.Env
	players int
	items   int
	gold    int64
	trade   bool
}

// board is the leaderboard of the scenario.
const board = "arena"

func newPlayers(env scenario.Env, trade bool) (scenario.Scenario, error) {
	s := &players{env: env, players: env.Params.Int("numberOfPlayers"), trade: trade}
	if trade {
		s.items, s.gold = env.Params.Int("itemsPerPlayer"), int64(env.Params.Int("goldPerPlayer"))
	}
	var err error
	s.game, err = game.New(env.DB, game.Config{Env: env.Patterns})
	return s, err
}

func playerName(i int) string { return fmt.Sprintf("player-%d", i) }

// Setup implements scenario.Scenario.
func (s *players) Setup(ctx context.Context) error {
	if err := s.game.EnsureIndexes(ctx); err != nil {
		return err
	}
	random := s.env.Rand()
	if !s.trade {
		now := s.env.Patterns.WithDefaults().Now()
		return fill(ctx, s.env.DB.Collection("scores"), s.players, func(i int) any {
			return bson.D{
				{"_id", bson.D{{"board", board}, {"player", playerName(i)}}},
				{"board", board},
				{"player", playerName(i)},
				{"score", int64(0)},
				{"at", now},
			}
		})
	}
	return fill(ctx, s.env.DB.Collection("players"), s.players, func(i int) any {
		p := game.Player{
			ID: playerName(i), Location: "market", Gold: s.gold,
			Abilities: map[string]int64{"str": int64(random.IntN(20))},
		}
		for n := range s.items {
			p.Items = append(p.Items,
				game.Item{ID: fmt.Sprintf("item-%d-%d", i, n), Type: "sword", Damage: 1 + random.IntN(50)})
		}
		return p
	})
}

// Run implements scenario.Scenario.
func (s *players) Run(ctx context.Context, u *scenario.User) error {
	n := u.Rand.IntN(s.players)
	if !s.trade {
		return s.win(ctx, u, playerName(n))
	}
	seller, buyer := playerName(n), playerName((n+1+u.Rand.IntN(s.players-1))%s.players)
	var bag *game.Player
	err := u.Time("look", func() (err error) {
		bag, err = s.game.Player(ctx, seller)
		return err
	})
	if err != nil {
		return err
	}
	if len(bag.Items) == 0 {
		u.Count("refused", 1)
		return nil
	}
	item, price := bag.Items[u.Rand.IntN(len(bag.Items))].ID, int64(1+u.Rand.IntN(s.env.Params.Int("price")))
	err = u.Time("trade", func() error {
		return s.game.Trade(ctx, game.Offer{Player: seller, Items: []string{item}},
			game.Offer{Player: buyer, Gold: price})
	})
	if anyOf(err, game.ErrGone, game.ErrPoor, game.ErrFull, game.ErrExpired) {
		u.Count("refused", 1)
		return nil
	}
	if err == nil {
		u.Count("traded", 1)
	}
	return err
}

// top is how many players of a leaderboard are shown.
const top = 10

// win adds points to a player's score, and reads the leaderboard.
func (s *players) win(ctx context.Context, u *scenario.User, player string) error {
	points := int64(1 + u.Rand.IntN(100))
	if err := u.Time("add", func() error { return s.game.Add(ctx, board, player, points) }); err != nil {
		return err
	}
	u.Count("points", points)
	// If the player wins more points at the same moment, the newer score counts as a better one.
	err := u.Time("rank", func() error {
		score, err := s.game.Rank(ctx, board, player)
		if err == nil && (score.Score < points || score.Rank < 1 || score.Rank > int64(s.players)+1) {
			return fmt.Errorf("%s has won %d points, has %d, and is number %d", player, points, score.Score, score.Rank)
		}
		return err
	})
	if err != nil {
		return err
	}
	return u.Time("top", func() error {
		first, err := s.game.Top(ctx, board, top)
		if err == nil && len(first) != min(top, s.players) {
			return fmt.Errorf("the first %d players are %d", top, len(first))
		}
		return err
	})
}

// Check implements scenario.Scenario.
func (s *players) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if s.trade && unsure(t, 1) > 0 {
		err := settled(ctx, s.env.Patterns, func(ctx context.Context, env patterns.Env) (int64, error) {
			g, err := game.New(s.env.DB, game.Config{Env: env})
			if err != nil {
				return 0, err
			}
			return g.Repair(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	out, err := s.game.Check(ctx)
	if err != nil {
		return nil, err
	}
	if !s.trade {
		var points int64
		err := patterns.EachOf(ctx, s.env.DB.Collection("scores"), func(score *game.Score) { points += score.Score })
		return append(out, counted("what was won is in the scores", "scores", points,
			t.Counts["points"], unsure(t, 100))...), err
	}
	var gold, items int64
	err = patterns.EachOf(ctx, s.env.DB.Collection("players"),
		func(p *game.Player) { gold, items = gold+p.Gold, items+int64(len(p.Items)) })
	out = append(out, counted("no gold is lost", "players", gold, int64(s.players)*s.gold, 0)...)
	return append(out, counted("no item is lost", "players", items, int64(s.players*s.items), 0)...), err
}
