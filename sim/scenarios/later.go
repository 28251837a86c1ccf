package scenarios

import (
	"context"
	"errors"
	"time"

	"github.com/sheafdb/sheaf/patterns"
)

// later is a clock that is ahead of another one: what is left to expire has expired by it.
type later struct {
	patterns.Clock
	by time.Duration
}

// Now implements patterns.Clock.
func (c later) Now() time.Time { return c.Clock.Now().Add(c.by) }

// maxRounds bounds how often settled looks again.
const maxRounds = 10

// settled repairs what users have left, by clocks that are each a day further ahead, until there is nothing more. What was given back to its user, who
// is gone, is so ended by the next round.
func settled(ctx context.Context, env patterns.Env, repair func(ctx context.Context, env patterns.Env) (int64, error)) error {
	env = env.WithDefaults()
	clock := env.Clock
	for i := range maxRounds {
		env.Clock = later{clock, time.Duration(i+1) * 24 * time.Hour}
		n, err := repair(ctx, env)
		if n == 0 || err != nil {
			return err
		}
	}
	return errors.New("scenarios: there is always more to repair")
}

// anyOf says whether an error is one of those that a user is meant to meet.
func anyOf(err error, expected ...error) bool {
	for _, e := range expected {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// sweepers is the number of users of which one looks for what others have left.
const sweepers = 100
