package game

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Score is an entry of a leaderboard.
type Score struct {
	Board  string    `bson:"board"`
	Player string    `bson:"player"`
	Score  int64     `bson:"score"`
	At     time.Time `bson:"at"`
	// Rank is 1 plus the number of players with a higher score. It is not stored.
	Rank int64 `bson:"-"`
}

// Weekly returns the name of a board that starts again each week: "arena/2026-W18".
func Weekly(name string, t time.Time) string {
	year, week := t.UTC().ISOWeek()
	return fmt.Sprintf("%s/%d-W%02d", name, year, week)
}

// Daily returns the name of a board that starts again each day.
func Daily(name string, t time.Time) string { return name + "/" + t.UTC().Format(time.DateOnly) }

func entry(board, player string) bson.D {
	return bson.D{
		{"_id", bson.D{{"board", board}, {"player", player}}},
		{"board", board},
		{"player", player},
	}
}

// Best stores a score if it is better than the player's score so far. It reports whether it was
// better.
func (g *Game) Best(ctx context.Context, board, player string, score int64) (bool, error) {
	less := append(entry(board, player), bson.E{"score", is("$lt", score)})
	better := is("$set", bson.D{{"score", score}, {"at", g.env.Now()}})
	for range 2 {
		_, err := g.scores.UpdateOne(ctx, less, better, options.UpdateOne().SetUpsert(true))
		if err == nil {
			return true, nil
		}
		// The player has a score that is at least as good, or has just received its first score. In
		// the second case the next attempt decides.
		if !mongo.IsDuplicateKeyError(err) {
			return false, wrap(err, "note a score")
		}
	}
	return false, nil
}

// Add adds n to a score, which starts at zero.
func (g *Game) Add(ctx context.Context, board, player string, n int64) error {
	add := bson.D{{"$inc", bson.D{{"score", n}}}, {"$set", bson.D{{"at", g.env.Now()}}}}
	for {
		_, err := g.scores.UpdateOne(ctx, entry(board, player), add, options.UpdateOne().SetUpsert(true))
		if !mongo.IsDuplicateKeyError(err) { // two clients added the first score at the same time: try again
			return wrap(err, "add to a score")
		}
	}
}

// Rank returns a player's score with its rank.
func (g *Game) Rank(ctx context.Context, board, player string) (*Score, error) {
	s := &Score{}
	if err := g.scores.FindOne(ctx, entry(board, player)).Decode(s); err != nil {
		return nil, wrap(err, "read a score")
	}
	return s, g.rank(ctx, s)
}

// rank counts the players with a higher score.
func (g *Game) rank(ctx context.Context, s *Score) error {
	n, err := g.scores.CountDocuments(ctx, bson.D{{"board", s.Board}, {"score", is("$gt", s.Score)}})
	s.Rank = n + 1
	return wrap(err, "rank a score")
}

// Top returns the first n scores of a board.
func (g *Game) Top(ctx context.Context, board string, n int64) ([]Score, error) {
	out, err := g.page(ctx, bson.D{{"board", board}}, 1, n)
	for i := range out {
		out[i].Rank = int64(i) + 1
	}
	return level(out), err
}

// Around returns a player's score with up to n scores on each side of it.
func (g *Game) Around(ctx context.Context, board, player string, n int64) ([]Score, error) {
	me := &Score{}
	if err := g.scores.FindOne(ctx, entry(board, player)).Decode(me); err != nil {
		return nil, wrap(err, "read a score")
	}
	before, err := g.page(ctx, beyond(me, "$gt", "$lt"), -1, n)
	if err != nil {
		return nil, err
	}
	behind, err := g.page(ctx, beyond(me, "$lt", "$gt"), 1, n)
	if err != nil {
		return nil, err
	}
	slices.Reverse(before)
	out := slices.Concat(before, []Score{*me}, behind)
	if err := g.rank(ctx, &out[0]); err != nil {
		return nil, err
	}
	// Players with the same score as the first entry may be missing from the list. So the rank of
	// the first entry is counted in the collection, and not in the list. The ranks of lower scores
	// follow from their positions in the list.
	first := len(out)
	for i := range out {
		if out[i].Score != out[0].Score {
			first = i
			break
		}
		out[i].Rank = out[0].Rank
	}
	if first == len(out) {
		return out, nil
	}
	if err := g.rank(ctx, &out[first]); err != nil {
		return nil, err
	}
	for i := first + 1; i < len(out); i++ {
		out[i].Rank = out[first].Rank + int64(i-first)
	}
	return level(out), nil
}

// level gives equal scores equal ranks.
func level(out []Score) []Score {
	for i := 1; i < len(out); i++ {
		if out[i].Score == out[i-1].Score {
			out[i].Rank = out[i-1].Rank
		}
	}
	return out
}

// beyond returns the condition that selects the scores on one side of a score, in the order of the
// board.
func beyond(s *Score, score, rest string) bson.D {
	same := bson.E{"score", s.Score}
	return bson.D{{"board", s.Board}, {"$or", bson.A{
		bson.D{{"score", is(score, s.Score)}},
		bson.D{same, {"at", is(rest, s.At)}},
		bson.D{same, {"at", s.At}, {"player", is(rest, s.Player)}},
	}}}
}

func (g *Game) page(ctx context.Context, filter bson.D, direction int, n int64) (out []Score, err error) {
	if n <= 0 {
		return nil, nil
	}
	order := bson.D{{"score", -direction}, {"at", direction}, {"player", direction}}
	found, err := g.scores.Find(ctx, filter, options.Find().SetSort(order).SetLimit(n))
	if err == nil {
		err = found.All(ctx, &out)
	}
	return out, wrap(err, "read scores")
}
