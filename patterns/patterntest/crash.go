package patterntest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Scenario is an operation that a process may die in.
type Scenario struct {
	// Setup fills an empty database. It may be nil.
	Setup func(t *testing.T, db *mongo.Database)
	// Operation is what dies: the connections of db break in the middle, and ctx ends.
	Operation func(ctx context.Context, db *mongo.Database) error
	// After looks at what the death has left, mends it, and fails the test where something is lost
	// or half done. db is the same database by a client that lives; transactions that were open are
	// aborted.
	After func(t *testing.T, db *mongo.Database, death Death)
}

// Death tells how far an operation came.
type Death struct {
	// Commands is how many commands the server has executed.
	Commands int
	// Unheard reports that the answer to the last of them did not arrive.
	Unheard bool
	// Survived is set in the last run, in which nothing broke.
	Survived bool
	// Err is what the operation returned.
	Err error
}

// String says where the process died.
func (d Death) String() string {
	switch {
	case d.Survived:
		return fmt.Sprintf("not at all, after %d commands", d.Commands)
	case d.Unheard:
		return fmt.Sprintf("before the answer to command %d", d.Commands)
	default:
		return fmt.Sprintf("before command %d", d.Commands+1)
	}
}

// operationTime bounds one run of an operation.
const operationTime = 30 * time.Second

// deadTime is how long what a process does regardless of its context, such as giving back what it
// holds, may look for the server that it has lost.
const deadTime = 50 * time.Millisecond

// PointsAttribute is the attribute of a test (see [testing.T.Attr]) that says at how many points
// its operation died.
const PointsAttribute = "crashpoints"

// maxCommands bounds the points that are tried: an operation that never ends is a mistake.
const maxCommands = 1000

// Crash runs a scenario once for each point at which the process can die: before each command, and
// behind it but before its answer. The last run is the one in which nothing breaks. It returns how
// many points there were, and says so in an attribute of the test (`make crashpoints` adds them
// up).
func Crash(t *testing.T, s Scenario) (points int) {
	t.Helper()
	defer func() { t.Attr(PointsAttribute, strconv.Itoa(points)) }()
	for commands := range maxCommands {
		for _, unheard := range []bool{true, false} {
			if unheard && commands == 0 {
				continue
			}
			death := Death{Commands: commands, Unheard: unheard}
			t.Run(fmt.Sprintf("%d-%v", commands, unheard), func(t *testing.T) { death = s.run(t, death) })
			if t.Failed() || death.Survived {
				return points
			}
			points++
		}
	}
	t.Errorf("the operation has not ended after %d commands", maxCommands)
	return points
}

// run lets the process die at one point.
func (s *Scenario) run(t *testing.T, death Death) Death {
	server := Start(t)
	db := server.Database()
	if s.Setup != nil {
		s.Setup(t, db)
	}
	ctx, cancel := context.WithTimeout(t.Context(), operationTime)
	defer cancel()
	fuse := &fuse{death: death, blow: cancel}
	dead := &sessions{seen: map[string]bson.Raw{}}
	client := server.Connect(func(o *options.ClientOptions) {
		fuse.dialer = dialerOf(o)
		o.SetDialer(fuse).SetServerSelectionTimeout(deadTime).SetMonitor(&event.CommandMonitor{Started: dead.note})
	})
	// it may take longer than deadTime to find the server the first time
	for client.Ping(ctx, nil) != nil && ctx.Err() == nil {
	}
	fuse.arm()
	death.Err = s.Operation(ctx, client.Database(db.Name()))
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Fatalf("the operation took more than %v", operationTime)
	}
	if blown, commands := fuse.state(); !blown {
		death.Survived, death.Unheard, death.Commands = true, false, commands
	}
	dead.end(t, db)
	t.Logf("died %v: %v", death, death.Err)
	s.After(t, db, death)
	return death
}

// sessions are those of a client that dies. A server keeps the transaction of a dead client, and
// what it has locked, until transactionLifetimeLimitSeconds are over: a minute, for which no test
// waits.
type sessions struct {
	mu   sync.Mutex
	seen map[string]bson.Raw
}

func (s *sessions) note(_ context.Context, e *event.CommandStartedEvent) {
	lsid, ok := e.Command.Lookup("lsid").DocumentOK()
	if !ok || e.Command.Lookup("autocommit").Type == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[string(lsid)] = append(bson.Raw(nil), lsid...)
}

// end ends the transactions of a client, as if that time had passed.
func (s *sessions) end(t *testing.T, db *mongo.Database) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lsid := range s.seen {
		if err := db.RunCommand(t.Context(), bson.D{{"killSessions", bson.A{lsid}}}).Err(); err != nil {
			t.Errorf("end the transactions of the process that died: %v", err)
		}
	}
}
