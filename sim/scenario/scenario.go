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
	// Setup creates the indexes and documents that Run needs, in an empty database.
	Setup(ctx context.Context) error
	// Run executes one user. An error counts as a failure under its Label. Expected results, such
	// as a seat that is taken, must not be errors. Run must be safe for concurrent use. For a
	// resident scenario it returns nil when ctx ends.
	Run(ctx context.Context, u *User) error
	// Check verifies the invariants of the pattern, and compares the users' counts with the
	// database. It may finish work that users could not finish.
	Check(ctx context.Context, t Tally) ([]patterns.Violation, error)
	// Teardown stops what New started, such as goroutines. The simulator removes the documents.
	Teardown(ctx context.Context) error
}

// Definition describes a scenario.
type Definition struct {
	// Name identifies the scenario, for example "cart-reserve". Find also accepts the Aliases.
	Name    string
	Aliases []string
	// Title is one line of text. Doc describes the steps of a user and the documents.
	Title string
	Doc   string
	// Group is the pattern, for example "cart".
	Group  string
	Params []Param
	// Users is the usual number of users in an iteration. For residents, it is their total number.
	Users int
	// Resident says that users start with the run and stay until it ends, like listeners and
	// workers. For residents, only the steps are timed.
	Resident bool
	// Leaves says that users leave work that is done seconds later, such as carts that expire, or
	// transfers to repair. A probe of one second does not measure the cost of this work. So if no
	// load is given, the run uses a smaller part of the probe's load.
	Leaves bool
	// Companion names the scenarios that usually run at the same time in the same database, such as
	// the publishers for listeners.
	Companion []string
	// New creates the scenario.
	New func(env Env) (Scenario, error)
}

// Env is the environment of a scenario.
type Env struct {
	DB     *mongo.Database
	Params Values
	// Seed determines the documents of Setup. Users have their own random numbers.
	Seed uint64
	// Patterns is the environment for the Config of a pattern.
	Patterns patterns.Env
}

// Rand returns the random number generator for Setup. The same seed gives the same numbers.
func (e Env) Rand() *rand.Rand { return rand.New(rand.NewPCG(e.Seed, 0)) }

// User executes a scenario once.
type User struct {
	// Number is the number of the user in the run, starting at 0. It is unique over all processes.
	Number int64
	// Rand is the user's own random number generator. The same seed and Number give the same random
	// numbers.
	Rand *rand.Rand

	clock patterns.Clock
	sink  Sink
	// Rand points to the field random, so a user is a single allocation.
	random rand.Rand
	source rand.PCG
}

// Sink receives the measurements of users. It must be safe for concurrent use.
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

// Time measures fn as a step of the user's work. It records no time if fn fails.
func (u *User) Time(step string, fn func() error) error {
	from := u.clock.Now()
	if err := fn(); err != nil {
		return err
	}
	u.sink.Step(step, u.clock.Now().Sub(from))
	return nil
}

// Now returns the time of the run's clock.
func (u *User) Now() time.Time { return u.clock.Now() }

// Record records the time of a step that Time cannot measure, such as the time of a message from
// one user to another.
func (u *User) Record(step string, d time.Duration) { u.sink.Step(step, d) }

// Count adds n to a counter. Check gets the sum over all users.
func (u *User) Count(name string, n int64) { u.sink.Count(name, n) }

// Tally counts what the users of a run have done, including warm-up and cool-down.
type Tally struct {
	// Started counts the users who began. Succeeded and Failed count the users who ended by
	// themselves. Cut counts users who were ended by the simulator or lost with an agent; they may
	// have done a part of their work. With a lost agent, Cut includes users who may never have
	// started.
	Started, Succeeded, Failed, Cut int64
	Counts                          map[string]int64
	// Together holds the counts of all scenarios of the same database, including this one.
	Together map[string]int64
	// Params holds the parameters of the run.
	Params Values
}
