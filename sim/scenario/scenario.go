package scenario

import (
	"context"
	"math/rand/v2"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
)

// Scenario is a workload over a database.
type Scenario interface {
	// Setup makes the indexes and documents that Run needs, in an empty database.
	Setup(ctx context.Context) error
	// Run is what one user does. Its error counts as a failure under its Label; what a scenario is
	// meant to meet (seats that are taken) is none. It is safe for concurrent use. For a resident
	// scenario it returns nil when ctx ends.
	Run(ctx context.Context, u *User) error
	// Check verifies the invariants of the pattern, and what the users have counted. It may end
	// what users could not.
	Check(ctx context.Context, t Tally) ([]patterns.Violation, error)
	// Teardown ends what New began. Documents are the simulator's to remove.
	Teardown(ctx context.Context) error
}

// Definition describes a scenario.
type Definition struct {
	// Name is how it is chosen: "cart-reserve". Aliases are other names that find it.
	Name    string
	Aliases []string
	// Title is a line of text, Doc what a user does, step by step, and what the documents are.
	Title string
	Doc   string
	// Group is the pattern: "cart".
	Group  string
	Params []Param
	// Users is the usual number of users of an iteration; of residents, how many there are.
	Users int
	// Resident says that users start with the run and stay until it ends: listeners, workers. What
	// they measure are steps.
	Resident bool
	// Leaves says that users leave work behind that is done seconds later: carts that expire,
	// transfers to repair. A probe of a second does not see what it costs, so that a run whose
	// load nobody has chosen uses a smaller share of what the probe bore.
	Leaves bool
	// Companion names the scenarios that usually run beside it, in the same database: the
	// publishers of listeners.
	Companion []string
	// New makes the scenario.
	New func(env Env) (Scenario, error)
}

// Env is what a scenario runs in.
type Env struct {
	DB     *mongo.Database
	Params Values
	// Seed makes the documents of Setup. Users have their own randomness.
	Seed uint64
	// Patterns is for the Config of a pattern.
	Patterns patterns.Env
}

// Rand returns the randomness of Setup: the same for the same seed.
func (e Env) Rand() *rand.Rand { return rand.New(rand.NewPCG(e.Seed, 0)) }

// User is one that executes a scenario.
type User struct {
	// Number counts the users of a scenario in a run, from 0 on, over all processes.
	Number int64
	// Rand is the user's own: the same for the same seed and number.
	Rand *rand.Rand

	clock patterns.Clock
	sink  Sink
	// What Rand is made of, here that a user is one piece of memory.
	random rand.Rand
	source rand.PCG
}

// Sink takes what users measure. It is safe for concurrent use.
type Sink interface {
	Step(name string, d time.Duration)
	Count(name string, n int64)
}

// NewUser returns a user who reports to sink.
func NewUser(number int64, seed uint64, clock patterns.Clock, sink Sink) *User {
	u := &User{Number: number, clock: clock, sink: sink}
	u.source.Seed(seed, uint64(number)+1)
	u.random = *rand.New(&u.source)
	u.Rand = &u.random
	return u
}

// Time measures fn as a step of the user's work. Of one that fails the time is not noted.
func (u *User) Time(step string, fn func() error) error {
	from := u.clock.Now()
	if err := fn(); err != nil {
		return err
	}
	u.sink.Step(step, u.clock.Now().Sub(from))
	return nil
}

// Now is the time by the clock of the run.
func (u *User) Now() time.Time { return u.clock.Now() }

// Record notes how long a step took that was measured otherwise: the way of a message from one
// user to another.
func (u *User) Record(step string, d time.Duration) { u.sink.Step(step, d) }

// Count adds to a counter, which Check gets.
func (u *User) Count(name string, n int64) { u.sink.Count(name, n) }

// Tally is what the users of a run have done, warm-up and all.
type Tally struct {
	// Started is how many users began, Succeeded and Failed how many came to an end, Cut how many
	// were ended by the simulator or lost with an agent: what those have done may be half of it.
	// With a lost agent Cut has users, too, who may never have started.
	Started, Succeeded, Failed, Cut int64
	Counts                          map[string]int64
	// Together are the counts of all scenarios of the same database, this one's with those beside
	// it.
	Together map[string]int64
	// Params are those of the run.
	Params Values
}
