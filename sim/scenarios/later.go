package scenarios

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/scenario"
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

// settled repairs what users have left, by clocks that are each a day further ahead, until there
// is nothing more. What was given back to its user, who is gone, is so ended by the next round.
func settled(ctx context.Context, env patterns.Env,
	repair func(ctx context.Context, env patterns.Env) (int64, error),
) error {
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

const (
	// sweepers is the number of users of which one looks for what others have left.
	sweepers = 100
	// sweepTime is how long it repairs at most. Without a limit sweepers that do not keep up with
	// what is left would still repair when the run ends.
	sweepTime = 250 * time.Millisecond
)

// sweep repairs what others have left, for at most sweepTime. What is cut off in the middle is
// left to the next sweeper, as if the process had ended there.
func sweep(ctx context.Context, u *scenario.User, repair func(ctx context.Context) (int64, error)) error {
	return u.Time("repair", func() error {
		limited, cancel := context.WithTimeout(ctx, sweepTime)
		defer cancel()
		_, err := repair(limited)
		if err != nil && ctx.Err() == nil && (limited.Err() != nil || mongo.IsTimeout(err)) {
			u.Count("sweeps cut", 1)
			return nil
		}
		return err
	})
}
