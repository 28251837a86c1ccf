package game

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Errors of battles.
var (
	// ErrTurn is returned to a player whose turn it is not, and where a turn is not to be skipped
	// yet.
	ErrTurn = errors.New("game: it is not your turn")
	// ErrOver is returned where a battle is over.
	ErrOver = errors.New("game: the battle is over")
)

// MaxFighters is how many fight at most.
const MaxFighters = 100

// Battle is a fight in turns.
type Battle struct {
	ID string `bson:"_id"`
	// Version is how many turns there have been.
	Version  int64     `bson:"version"`
	Turn     int       `bson:"turn"` // whose turn it is
	Fighters []Fighter `bson:"fighters"`
	Over     bool      `bson:"over"`
	// Deadline is when the turn can be skipped.
	Deadline time.Time `bson:"deadline"`
	// More is the game's own state. It should be of bounded size.
	More bson.M `bson:",inline"`
}

// Fighter is a player in a battle.
type Fighter struct {
	Player string `bson:"player"`
	HP     int64  `bson:"hp"`
}

// StaleError is returned to a client that has not seen the last turn. It has the battle as it is
// now.
type StaleError struct{ Now *Battle }

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("game: battle %s is at version %d", e.Now.ID, e.Now.Version)
}

// StartBattle starts a fight, in which the fighters have their turns in the order given.
func (g *Game) StartBattle(ctx context.Context, id string, fighters ...Fighter) (*Battle, error) {
	b := &Battle{ID: id, Fighters: fighters, Deadline: g.env.Now().Add(g.cfg.TurnTime)}
	if problem := b.problem(); problem != "" || len(fighters) < 2 || len(fighters) > MaxFighters {
		return nil, fmt.Errorf("%w battle of %d: %s", ErrInvalid, len(fighters), problem)
	}
	_, err := g.battles.InsertOne(ctx, b)
	return b, wrap(err, "start battle "+id)
}

// Battle returns a battle.
func (g *Game) Battle(ctx context.Context, id string) (*Battle, error) {
	b := &Battle{}
	return b, wrap(g.battles.FindOne(ctx, byID(id)).Decode(b), "read battle "+id)
}

// Play lets a player have its turn: move changes the battle, which then goes on with the next who
// lives. version is what the player has seen: where the battle has gone on since, a StaleError has
// it as it is. move may be called only once, and should change nothing else.
func (g *Game) Play(ctx context.Context, id, player string, version int64,
	move func(b *Battle) error,
) (*Battle, error) {
	b, err := g.at(ctx, id, version)
	if err != nil {
		return nil, err
	}
	if b.Fighters[b.Turn].Player != player {
		return nil, ErrTurn
	}
	if err := move(b); err != nil {
		return nil, err
	}
	return g.next(ctx, b, version)
}

// Skip ends the turn of a player who thinks for too long.
func (g *Game) Skip(ctx context.Context, id string, version int64) (*Battle, error) {
	b, err := g.at(ctx, id, version)
	if err != nil {
		return nil, err
	}
	if b.Deadline.After(g.env.Now()) {
		return nil, ErrTurn
	}
	return g.next(ctx, b, version)
}

// at returns a battle that goes on and is at a version.
func (g *Game) at(ctx context.Context, id string, version int64) (*Battle, error) {
	b, err := g.Battle(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case b.Version != version:
		return nil, &StaleError{Now: b}
	case b.Over:
		return nil, ErrOver
	default:
		return b, nil
	}
}

// next gives the turn to the next who lives, and writes the battle if nobody else has.
func (g *Game) next(ctx context.Context, b *Battle, version int64) (*Battle, error) {
	alive := 0
	for i := range b.Fighters {
		if b.Fighters[i].HP = max(b.Fighters[i].HP, 0); b.Fighters[i].HP > 0 {
			alive++
		}
	}
	b.Over = b.Over || alive <= 1
	for range b.Fighters {
		if b.Turn = (b.Turn + 1) % len(b.Fighters); b.Fighters[b.Turn].HP > 0 {
			break
		}
	}
	b.Version, b.Deadline = version+1, g.env.Now().Add(g.cfg.TurnTime)
	if problem := b.problem(); problem != "" {
		return nil, fmt.Errorf("%w move: %s", ErrInvalid, problem)
	}
	res, err := g.battles.ReplaceOne(ctx, append(byID(b.ID), bson.E{"version", version}), b)
	if err != nil {
		return nil, wrap(err, "play")
	}
	if res.MatchedCount == 0 {
		now, err := g.Battle(ctx, b.ID)
		if err != nil {
			return nil, err
		}
		return nil, &StaleError{Now: now}
	}
	return b, nil
}

// problem says what is wrong with a battle.
func (b *Battle) problem() string {
	seen, alive := map[string]bool{}, 0
	for _, f := range b.Fighters {
		if seen[f.Player] {
			return f.Player + " fights twice"
		}
		seen[f.Player] = true
		if f.HP < 0 {
			return f.Player + " is more than dead"
		}
		if f.HP > 0 {
			alive++
		}
	}
	switch {
	case b.Over:
		return ""
	case alive < 2:
		return "it should be over"
	case b.Turn < 0 || b.Turn >= len(b.Fighters) || b.Fighters[b.Turn].HP == 0:
		return fmt.Sprintf("it is the turn of nobody who lives: %d", b.Turn)
	default:
		return ""
	}
}
