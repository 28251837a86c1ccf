package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/identity"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func identityScenarios() []*scenario.Definition {
	return []*scenario.Definition{{
		Name: "identity-signup", Group: "identity", Users: 300, Title: "Sign up with a name and an address, each of which only one user can have",
		Doc: `A user signs up with a name, chosen at random from a limited number, and an e-mail address: both are claimed, or neither, and the user is created. It
is not a failure if the name belongs to another user, or another user is about to claim it. After signing up, the user logs in with the address.

  users:      {_id, joined: ISODate("…")}
  identities: {_id: "login:name17", kind: "name", value: "name17", user, at}, {_id: "login:user12@example.com", kind: "email", …}
  claims:     {_id, user, ids: […], state: "open", deadline}, while somebody signs up`,
		Params: []scenario.Param{whole("numberOfNames",
			"how many names there are to choose from", 100_000, 1, 1_000_000_000)},
		New: func(env scenario.Env) (scenario.Scenario, error) {
			s := &signups{env: env, names: env.Params.Int("numberOfNames")}
			var err error
			s.identities, err = identity.New(env.DB, identity.Config{Env: env.Patterns})
			return s, err
		},
	}}
}

// signups implements the scenario identity-signup.
type signups struct {
	still
	identities *identity.Identities
	env        scenario.Env
	names      int
}

// Setup implements scenario.Scenario.
func (s *signups) Setup(ctx context.Context) error { return s.identities.EnsureIndexes(ctx) }

// Run implements scenario.Scenario.
func (s *signups) Run(ctx context.Context, u *scenario.User) error {
	name, address := identity.Name(fmt.Sprintf("name%d",
		u.Rand.IntN(s.names))), identity.Email(fmt.Sprintf("user%d@example.com", u.Number))
	var user string
	err := u.Time("sign up", func() (err error) {
		user, err = s.identities.Register(ctx, "", bson.D{{"joined", u.Now()}}, name, address)
		return err
	})
	if anyOf(err, identity.ErrTaken, identity.ErrBusy) {
		u.Count("refused", 1)
		return nil
	}
	if err != nil {
		return err
	}
	u.Count("signed up", 1)
	return u.Time("log in", func() error {
		owner, err := s.identities.Owner(ctx, address)
		if err == nil && owner != user {
			return fmt.Errorf("%s is of %s, and was given to %s", address.Value, owner, user)
		}
		return err
	})
}

// Check implements scenario.Scenario.
func (s *signups) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if unsure(t, 1) > 0 {
		err := settled(ctx, s.env.Patterns, func(ctx context.Context, env patterns.Env) (int64, error) {
			all, err := identity.New(s.env.DB, identity.Config{Env: env})
			if err != nil {
				return 0, err
			}
			return all.Repair(ctx)
		})
		if err != nil {
			return nil, err
		}
	}
	out, err := s.identities.Check(ctx)
	if err != nil {
		return nil, err
	}
	users, err := countOf(ctx, s.env.DB.Collection("users"), bson.D{})
	if err != nil {
		return nil, err
	}
	owned, err := countOf(ctx, s.env.DB.Collection("identities"), bson.D{})
	out = append(out, counted("who has signed up is there", "users", users, t.Counts["signed up"], unsure(t, 1))...)
	return append(out, counted("each user has both identities", "identities", owned, 2*users, 0)...), err
}
