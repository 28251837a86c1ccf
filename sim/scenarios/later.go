package scenarios

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// later is a clock that is ahead of another one, so that pending reservations have expired by its
// time.
type later struct {
	patterns.Clock
	by time.Duration
}

// Now implements patterns.Clock.
func (c later) Now() time.Time { return c.Clock.Now().Add(c.by) }

// maxRounds bounds the rounds of the function settled.
const maxRounds = 10

// settled calls repair until the users' unfinished work is repaired. The clock of each round is one
// day further ahead than the preceding one. A round may return things to users who have left. The
// next round then repairs these things, too.
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

// anyOf reports whether an error is one of the expected errors of a user.
func anyOf(err error, expected ...error) bool {
	for _, e := range expected {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

const (
	// sweepers is how many users there are for each user who repairs the unfinished work of others.
	sweepers = 100
	// sweepTime bounds the time for which a user repairs the work of others. Without a limit, users
	// that do not keep up would still be busy when the run ends.
	sweepTime = 250 * time.Millisecond
)

// sweep repairs unfinished work of other users, for at most sweepTime. It may stop in the middle of
// a repair, as if the process had died. The next user who repairs then continues.
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
