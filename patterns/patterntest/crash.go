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

// Scenario is an operation in which a process can die.
type Scenario struct {
	// Setup fills an empty database. It may be nil.
	Setup func(t *testing.T, db *mongo.Database)
	// Operation is the operation that dies: the connections of db break in the middle of it, and
	// ctx ends.
	Operation func(ctx context.Context, db *mongo.Database) error
	// After looks at the state after the death and repairs it. It fails the test if something is
	// lost or half done. db is the same database, by a client that lives. Open transactions of the
	// dead client are aborted.
	After func(t *testing.T, db *mongo.Database, death Death)
}

// Death says how far an operation came before the process died.
type Death struct {
	// Commands is the number of commands that the server has executed.
	Commands int
	// Unheard reports that the reply to the last of these commands did not arrive.
	Unheard bool
	// Survived is set in the last run, in which no connection broke.
	Survived bool
	// Err is the error that the operation returned.
	Err error
}

// String returns the point at which the process died.
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

// operationTime is the time limit of one run of an operation.
const operationTime = 30 * time.Second

// deadTime is how long the client of a dead process looks for its server. An operation may ignore
// the end of its context, for example to release a lock: then deadTime limits its wait.
const deadTime = 50 * time.Millisecond

// PointsAttribute is an attribute of a test (see [testing.T.Attr]). Its value is the number of
// points at which the operation of the test died.
const PointsAttribute = "crashpoints"

// maxCommands is the largest number of commands of an operation. An operation that needs more is
// taken for one that never ends.
const maxCommands = 1000

// Crash runs a scenario once for each point at which the process can die: before each command, and
// between each command and its reply. In the last run, no connection breaks. Crash returns the
// number of points, and stores it in an attribute of the test (`make crashpoints` adds up the
// attributes).
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

// run runs the scenario once. The process dies at the given point.
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
	// The client may take longer than deadTime to find the server the first time.
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

// sessions has the sessions of a client that dies. A server keeps the transaction of a dead client,
// with its locks, for transactionLifetimeLimitSeconds: for a minute, which is too long for a test.
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

// end aborts the transactions of the dead client, as if their lifetime had passed.
func (s *sessions) end(t *testing.T, db *mongo.Database) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lsid := range s.seen {
		if err := db.RunCommand(t.Context(), bson.D{{"killSessions", bson.A{lsid}}}).Err(); err != nil {
			t.Errorf("end the transactions of the process that died: %v", err)
		}
	}
}
