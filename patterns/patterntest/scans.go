package patterntest

import (
	"context"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// NoScans runs operations, and then asks the server how it executes each of their commands. The
// test fails if a command reads a whole collection. Commands on the collections in except may do
// so. NoScans returns the number of commands that the server explained.
func (s *Server) NoScans(t *testing.T, operations func(ctx context.Context, db *mongo.Database),
	except ...string,
) (explained int) {
	t.Helper()
	var mu sync.Mutex
	var commands []bson.Raw
	monitor := &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.DatabaseName == s.db.Name() && explainable[e.CommandName] {
			mu.Lock()
			commands = append(commands, append(bson.Raw(nil), e.Command...))
			mu.Unlock()
		}
	}}
	client := s.Connect(func(o *options.ClientOptions) { o.SetMonitor(monitor) })
	operations(t.Context(), client.Database(s.db.Name()))
	mu.Lock()
	defer mu.Unlock()
	for _, cmd := range commands {
		explained += s.explain(t, cmd, except)
	}
	return explained
}

// explainable has the commands for which the server chooses a plan.
var explainable = map[string]bool{
	"find": true, "aggregate": true, "count": true, "distinct": true, "update": true,
	"delete": true, "findAndModify": true,
}

// explain asks the server for the plan of a command. If the command has several statements, it asks
// for the plan of each.
func (s *Server) explain(t *testing.T, cmd bson.Raw, except []string) (explained int) {
	t.Helper()
	first, err := cmd.IndexErr(0)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range except {
		if target, ok := first.Value().StringValueOK(); ok && target == name {
			return 0
		}
	}
	for _, one := range statements(t, cmd) {
		var plan bson.Raw
		explain := bson.D{{"explain", one}, {"verbosity", "queryPlanner"}}
		if err := s.db.RunCommand(t.Context(), explain).Decode(&plan); err != nil {
			t.Fatalf("explain %v: %v", one, err)
		}
		if strings.Contains(plan.Lookup("queryPlanner").String()+plan.Lookup("stages").String(), `"COLLSCAN"`) {
			t.Errorf("a collection is read as a whole by %v", one)
		}
		explained++
	}
	return explained
}

// statements returns a command without the fields of its session. If the command has several
// statements, it returns one command for each, because the server explains only single statements.
func statements(t *testing.T, cmd bson.Raw) (out []bson.D) {
	t.Helper()
	elements, err := cmd.Elements()
	if err != nil {
		t.Fatal(err)
	}
	var plain bson.D
	var list bson.RawArray
	var listName string
	for _, e := range elements {
		switch key := e.Key(); key {
		case "lsid", "txnNumber", "startTransaction", "autocommit", "readConcern",
			"writeConcern", "ordered", "maxTimeMS":
		case "updates", "deletes":
			list, listName = e.Value().Array(), key
		default:
			if !strings.HasPrefix(key, "$") {
				plain = append(plain, bson.E{key, e.Value()})
			}
		}
	}
	if listName == "" {
		return []bson.D{plain}
	}
	values, err := list.Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		out = append(out, append(append(bson.D(nil), plain...), bson.E{listName, bson.A{v}}))
	}
	return out
}
