package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func lockScenarios() []*scenario.Definition {
	locks := whole("locks", "how many documents there are; with the scenario lock, each has one", 100, 1, 1_000_000)
	return []*scenario.Definition{
		{
			Name: "lock", Group: "lock", Users: 300,
			Title: "Change a document under a lock, by reading and writing it",
			Doc: `A user acquires the lock of a document (step "acquire": 1 findAndModify, repeated while another user holds it), reads a number, writes the next one if
no later holder has written (step "change"), and releases the lock: 4 commands. A user that does not get the lock within the patience gives up, and is
counted as "held". No change may be lost. Compare lock-tally and lock-lines, which need no lock.

  locks:     {_id: "counter-7", owner: "8f14…", token: NumberLong(7), expires: ISODate("…")}
  protected: {_id: "counter-7", n: NumberLong(7), fence: NumberLong(7)}`,
			Params: []scenario.Param{
				locks,
				{
					Name: "lease", Doc: "how long a lock is held without being renewed",
					Default: lock.DefaultLease, Min: 0.01, Max: 3600,
				},
				{
					Name: "patience", Doc: "how long a user tries to acquire the lock",
					Default: 5 * time.Second, Max: 3600,
				},
				{Name: "pace", Doc: "how long a user waits before it tries again; twice as long each time", Default: 5 * time.Millisecond, Min: 0.0001, Max: 60},
			},
			New: newLocking,
		},
		{
			Name: "lock-tally", Group: "lock", Users: 300,
			Title: "Change a document with its sums, by an update that computes them",
			Doc: `A user adds to one of the kinds that a document counts, or takes from it: 1 findAndModify with a pipeline, which also computes the sums. If nothing
is left to take, the user is refused, and counted as "refused".

  tallies: {_id: "counter-7", counts: {kind-3: NumberLong(3)}, total: NumberLong(3), kinds: 1}`,
			Params: []scenario.Param{locks, whole("kinds", "how many kinds of things a document counts", 10, 1, 1000)},
			New:    newTallying,
		},
		{
			Name: "lock-lines", Group: "lock", Users: 300,
			Title: "Change a line of a document with its sum, by an update with a condition",
			Doc: `A user adds to one of the lines of a document: 1 update for an existing line, and if the line does not exist, another one that adds it.

  lines: {_id: "counter-7", items: [{sku: "kind-3", qty: NumberLong(3)}], total: NumberLong(3)}`,
			Params: []scenario.Param{
				locks,
				whole("kinds", "how many lines a document has", 10, 1, lock.DefaultMaxLines),
			},
			New: func(env scenario.Env) (scenario.Scenario, error) {
				const name = "lines"
				l, err := lock.NewLines(env.DB, lock.LinesConfig{Env: env.Patterns, Collection: name})
				return &lining{
					Lines: l, coll: env.DB.Collection(name), documents: env.Params.Int("locks"),
					kinds: env.Params.Int("kinds"),
				}, err
			},
		},
	}
}

func counterOf(n int) string { return fmt.Sprint("counter-", n) }

// locking implements the scenario lock.
type locking struct {
	still
	*lock.Locks
	protected      *mongo.Collection
	patterns       patterns.Env
	documents      int
	patience, pace time.Duration
}

func newLocking(env scenario.Env) (scenario.Scenario, error) {
	p := env.Params
	s := &locking{
		protected: env.DB.Collection("protected"), patterns: env.Patterns.WithDefaults(), documents: p.Int("locks"),
		patience: p.Duration("patience"), pace: p.Duration("pace"),
	}
	var err error
	s.Locks, err = lock.New(env.DB, lock.Config{Env: env.Patterns, Lease: p.Duration("lease")})
	return s, err
}

// counter is a document that is changed under a lock.
type counter struct {
	Name string `bson:"_id"`
	N    int64  `bson:"n"`
}

// Setup implements scenario.Scenario.
func (s *locking) Setup(ctx context.Context) error {
	return fill(ctx, s.protected, s.documents, func(i int) any { return counter{Name: counterOf(i)} })
}

// Run implements scenario.Scenario.
func (s *locking) Run(ctx context.Context, u *scenario.User) error {
	name := counterOf(u.Rand.IntN(s.documents))
	var lease *lock.Lease
	err := u.Time("acquire", func() (err error) {
		lease, err = s.acquire(ctx, u, name)
		return err
	})
	if errors.Is(err, lock.ErrHeld) {
		u.Count("held", 1)
		return nil
	}
	if err != nil {
		return err
	}
	err = u.Time("change", func() error { return s.change(ctx, lease, name) })
	if err == nil {
		u.Count("changed", 1)
	}
	return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// acquire tries to acquire a lock until the patience of the user ends. It waits longer each time,
// because many users that retry at a steady pace would slow down the holders.
func (s *locking) acquire(ctx context.Context, u *scenario.User, name string) (*lock.Lease, error) {
	end := u.Now().Add(s.patience)
	for wait := s.pace; ; wait *= 2 {
		lease, err := s.Acquire(ctx, name)
		if !errors.Is(err, lock.ErrHeld) || u.Now().After(end) {
			return lease, err
		}
		if err := s.patterns.Clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// change reads a number and writes the next one. Without the lock, one of two concurrent changes
// would be lost.
func (s *locking) change(ctx context.Context, lease *lock.Lease, name string) error {
	c := counter{}
	if err := s.protected.FindOne(ctx, bson.D{{"_id", name}}).Decode(&c); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	when, set := lease.Guard("fence")
	res, err := s.protected.UpdateOne(ctx, append(bson.D{{"_id", name}}, when...),
		bson.D{{"$set", append(set, bson.E{"n", c.N + 1})}})
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if res.MatchedCount == 0 {
		return lock.ErrLost
	}
	return nil
}

// Check implements scenario.Scenario.
func (s *locking) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Locks.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := sumOf(ctx, s.protected, "$n")
	return append(out, counted("no change is lost", s.protected.Name(), n, t.Counts["changed"], unsure(t, 1))...), err
}

// tallying implements the scenario lock-tally.
type tallying struct {
	still
	*lock.Tallies
	coll             *mongo.Collection
	documents, kinds int
}

func newTallying(env scenario.Env) (scenario.Scenario, error) {
	const name = "tallies"
	t, err := lock.NewTallies(env.DB, lock.TallyConfig{Env: env.Patterns, Collection: name})
	return &tallying{
		Tallies: t, coll: env.DB.Collection(name), documents: env.Params.Int("locks"),
		kinds: env.Params.Int("kinds"),
	}, err
}

// Setup implements scenario.Scenario.
func (s *tallying) Setup(context.Context) error { return nil }

// mostOfTally is the largest number that a user adds or subtracts.
const mostOfTally = 3

// Run implements scenario.Scenario.
func (s *tallying) Run(ctx context.Context, u *scenario.User) error {
	n := 1 + u.Rand.Int64N(mostOfTally)
	if u.Rand.IntN(4) == 0 {
		n = -n
	}
	_, err := s.Add(ctx, counterOf(u.Rand.IntN(s.documents)), fmt.Sprint("kind-", u.Rand.IntN(s.kinds)), n)
	if errors.Is(err, lock.ErrNegative) {
		u.Count("refused", 1)
		return nil
	}
	if err == nil {
		u.Count("added", n)
	}
	return err
}

// Check implements scenario.Scenario.
func (s *tallying) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Tallies.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := sumOf(ctx, s.coll, "$total")
	open := unsure(t, mostOfTally) // users who failed may have added or taken
	return append(out, counted("what was added is counted", s.coll.Name(), n, t.Counts["added"]-open, 2*open)...), err
}

// lining implements the scenario lock-lines.
type lining struct {
	still
	*lock.Lines
	coll             *mongo.Collection
	documents, kinds int
}

// Setup implements scenario.Scenario.
func (s *lining) Setup(context.Context) error { return nil }

// Run implements scenario.Scenario.
func (s *lining) Run(ctx context.Context, u *scenario.User) error {
	if err := s.Add(ctx, counterOf(u.Rand.IntN(s.documents)),
		fmt.Sprint("kind-", u.Rand.IntN(s.kinds)), 1); err != nil {
		return err
	}
	u.Count("added", 1)
	return nil
}

// Check implements scenario.Scenario.
func (s *lining) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Lines.Check(ctx)
	if err != nil {
		return nil, err
	}
	n, err := sumOf(ctx, s.coll, "$total")
	return append(out, counted("what was added is counted", s.coll.Name(), n, t.Counts["added"], unsure(t, 1))...), err
}
