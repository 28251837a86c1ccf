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
	// ErrTurn is returned to a player who plays out of turn, and by Skip before the deadline of the
	// turn.
	ErrTurn = errors.New("game: it is not your turn")
	// ErrOver is returned if the battle is over.
	ErrOver = errors.New("game: the battle is over")
)

// MaxFighters is the largest number of fighters in a battle.
const MaxFighters = 100

// Battle is a fight in turns.
type Battle struct {
	ID string `bson:"_id"`
	// Version is the number of turns played.
	Version  int64     `bson:"version"`
	Turn     int       `bson:"turn"` // index of the fighter whose turn it is
	Fighters []Fighter `bson:"fighters"`
	Over     bool      `bson:"over"`
	// Deadline is the time from which the turn can be skipped.
	Deadline time.Time `bson:"deadline"`
	// More holds further fields of the game. Their size should be limited.
	More bson.M `bson:",inline"`
}

// Fighter is a player in a battle.
type Fighter struct {
	Player string `bson:"player"`
	HP     int64  `bson:"hp"`
}

// StaleError is returned to a client that has not seen the last turn. Now is the current battle.
type StaleError struct{ Now *Battle }

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("game: battle %s is at version %d", e.Now.ID, e.Now.Version)
}

// StartBattle starts a battle. The fighters take turns in the given order.
func (g *Game) StartBattle(ctx context.Context, id string, fighters ...Fighter) (*Battle, error) {
	b := &Battle{ID: id, Fighters: fighters, Deadline: g.env.Now().Add(g.cfg.TurnTime)}
	if problem := b.problem(); problem != "" || len(fighters) < 2 || len(fighters) > MaxFighters {
		return nil, fmt.Errorf("%w battle of %d: %s", ErrInvalid, len(fighters), problem)
	}
	_, err := g.battles.InsertOne(ctx, b)
	return b, wrap(err, "start battle "+id)
}

// Battle returns a battle, or ErrNotFound.
func (g *Game) Battle(ctx context.Context, id string) (*Battle, error) {
	b := &Battle{}
	return b, wrap(g.battles.FindOne(ctx, byID(id)).Decode(b), "read battle "+id)
}

// Play executes a player's turn: the function move changes the battle, and the turn goes to the
// next living fighter. version is the version that the player has seen. If the battle has another
// version, Play returns a StaleError with the current battle. Play calls move at most once; move
// should change only the battle.
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

// Skip ends the turn of a player who has exceeded the deadline. It returns ErrTurn before the
// deadline.
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

// at returns a battle that has the given version and is not over.
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

// next gives the turn to the next living fighter, and stores the battle if nobody has stored a
// newer version.
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

// problem returns a description of an error in a battle, or "".
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
