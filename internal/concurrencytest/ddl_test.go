package concurrencytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// ddlCommand changes the catalog.
type ddlCommand struct {
	name  string
	admin bool
	cmd   func(db string) bson.D
}

func onDB(name string, pairs ...any) ddlCommand {
	return ddlCommand{name: name, cmd: func(string) bson.D { return doc(pairs...) }}
}

func renames(name, from, to string, dropTarget bool) ddlCommand {
	return ddlCommand{name: name, admin: true, cmd: func(db string) bson.D {
		return doc("renameCollection", db+"."+from, "to", db+"."+to, "dropTarget", dropTarget)
	}}
}

// ddlCommands are raced in pairs, each with each.
var ddlCommands = []ddlCommand{
	onDB("create", "create", "c"),
	onDB("create capped", "create", "c", "capped", true, "size", 4096),
	onDB("create time series", "create", "c", "timeseries", doc("timeField", "t")),
	onDB("create view", "create", "c", "viewOn", "x", "pipeline", bson.A{}),
	onDB("insert", "insert", "c", "documents", bson.A{doc("_id", 100)}),
	onDB("upsert", "update", "c", "updates", bson.A{doc("q", doc("_id", 101), "u", doc("$set", doc("a", 1)), "upsert", true)}),
	onDB("drop", "drop", "c"),
	onDB("dropDatabase", "dropDatabase", 1),
	renames("rename away", "c", "d", false),
	renames("rename over", "c", "d", true),
	renames("rename here", "d", "c", false),
	renames("rename here over", "d", "c", true),
	onDB("collMod validator", "collMod", "c", "validator", doc("z", doc("$exists", false))),
	onDB("collMod level", "collMod", "c", "validationLevel", "moderate"),
	onDB("collMod index", "collMod", "c", "index", doc("name", "a", "hidden", true)),
	onDB("createIndexes", "createIndexes", "c", "indexes", bson.A{doc("key", doc("b", 1), "name", "b")}),
	onDB("createIndexes unique", "createIndexes", "c", "indexes", bson.A{doc("key", doc("b", 1), "name", "b", "unique", true)}),
	onDB("dropIndexes", "dropIndexes", "c", "index", "*"),
	onDB("dropIndexes by name", "dropIndexes", "c", "index", "a"),
	onDB("convertToCapped", "convertToCapped", "c", "size", 4096),
}

// isKnownRace reports whether two commands may leave what they do not leave one after the other.
// convertToCapped copies into a new collection without keeping changes of the old one's options out, and
// the copy may outlive a dropDatabase. Of two clients that drop one index at once both may be told that
// they did. createIndexes makes a missing collection first and the index in a second step, between which
// convertToCapped and dropIndexes may come.
func isKnownRace(a, b string) bool {
	conversion := strings.HasPrefix(a, "convert") || strings.HasPrefix(b, "convert")
	other := a + b
	drops := strings.HasPrefix(a, "dropIndexes") || strings.HasPrefix(b, "dropIndexes")
	return conversion && (strings.Contains(other, "collMod") || strings.Contains(other, "dropDatabase")) ||
		(conversion || drops) && strings.Contains(other, "createIndexes") ||
		strings.HasPrefix(a, "dropIndexes") && strings.HasPrefix(b, "dropIndexes")
}

// ddlStates are what a race begins with.
var ddlStates = map[string]func(db *mongo.Database) error{
	"nothing": func(*mongo.Database) error { return nil },
	"c":       func(db *mongo.Database) error { return fillForDDL(db, "c", "a") },
	"c and d": func(db *mongo.Database) error {
		return errors.Join(fillForDDL(db, "c", "a"), fillForDDL(db, "d", "n"))
	},
}

func fillForDDL(db *mongo.Database, name, index string) error {
	var docs []any
	for i := range 5 {
		docs = append(docs, doc("_id", i, "a", i, "b", i%3, "from", name))
	}
	_, err := db.Collection(name).InsertMany(context.Background(), docs)
	if err != nil {
		return err
	}
	return db.RunCommand(context.Background(), doc("createIndexes", name, "indexes", bson.A{doc("key", doc(index, 1), "name", index)})).Err()
}

// TestEachPairOfDDL runs each pair of commands at once. What they answer and leave must be what they
// answer and leave one after the other, in one order or the other.
func TestEachPairOfDDL(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the pairs take 20 s under the race detector")
	}
	db, err := sheaf.Open(sheaf.Memory, &sheaf.Options{SlowOperation: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for state, fill := range ddlStates {
		t.Run(state, func(t *testing.T) {
			for run := torture.Begin(t); run.Next(1, time.Minute); {
				for i, a := range ddlCommands {
					for _, b := range ddlCommands[i:] {
						if isKnownRace(a.name, b.name) {
							continue
						}
						race := &ddlRace{t: t, client: db.Client(), fill: fill, a: a, b: b}
						race.check(3)
					}
				}
			}
		})
	}
}

// ddlRace is a pair of commands from one state.
type ddlRace struct {
	t      *testing.T
	client *mongo.Client
	fill   func(db *mongo.Database) error
	a, b   ddlCommand
}

// begin makes the state anew.
func (r *ddlRace) begin() *mongo.Database {
	db := r.client.Database("ddl")
	if err := errors.Join(db.Drop(context.Background()), r.fill(db)); err != nil {
		r.t.Fatal(err)
	}
	return db
}

func (c *ddlCommand) run(db *mongo.Database) string {
	target := db
	if c.admin {
		target = db.Client().Database("admin")
	}
	raw, err := target.RunCommand(context.Background(), c.cmd(db.Name())).Raw()
	var refused mongo.CommandError
	switch {
	case errors.As(err, &refused):
		return fmt.Sprint(refused.Code)
	case err != nil:
		return err.Error()
	}
	if v, err := raw.LookupErr("writeErrors", "0", "code"); err == nil {
		return "write error " + v.String()
	}
	return "ok"
}

func (r *ddlRace) check(rounds int) {
	r.t.Helper()
	var serial []string
	db := r.begin()
	a := r.a.run(db)
	serial = append(serial, fmt.Sprint(a, " and ", r.b.run(db), ": ", stateOf(r.t, db)))
	db = r.begin()
	b := r.b.run(db)
	serial = append(serial, fmt.Sprint(r.a.run(db), " and ", b, ": ", stateOf(r.t, db)))
	// A build, or a conversion, is aborted by what takes its collection away, and leaves nothing.
	db = r.begin()
	alone := fmt.Sprint(r.a.run(db), " and aborted: ", stateOf(r.t, db))
	db = r.begin()
	serial = append(serial, alone, fmt.Sprint("aborted and ", r.b.run(db), ": ", stateOf(r.t, db)))
	for range rounds {
		db = r.begin()
		answers := make([]string, 2)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, c := range []*ddlCommand{&r.a, &r.b} {
			wg.Go(func() {
				<-start
				answers[i] = aborted(c.run(db))
			})
		}
		close(start)
		wg.Wait()
		got := fmt.Sprint(answers[0], " and ", answers[1], ": ", stateOf(r.t, db))
		if !slices.Contains(serial, got) {
			r.t.Errorf("%s and %s:\n%s\none after the other:\n%s", r.a.name, r.b.name, got, strings.Join(serial, "\n"))
			return
		}
	}
}

// aborted names the errors of a command whose collection was taken away while it ran.
func aborted(answer string) string {
	if answer == "276" || answer == "117" { // IndexBuildAborted, ConflictingOperationInProgress
		return "aborted"
	}
	return answer
}

// stateOf describes the collections of a database, their indexes and their documents.
func stateOf(t *testing.T, db *mongo.Database) string {
	t.Helper()
	var out []string
	cursor, err := db.ListCollections(context.Background(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for cursor.Next(context.Background()) {
		c := cursor.Current
		name := c.Lookup("name").StringValue()
		text := fmt.Sprint(name, " ", c.Lookup("type").StringValue(), " ", c.Lookup("options"))
		if c.Lookup("type").StringValue() == "collection" && !strings.HasPrefix(name, "system.") {
			specs, err := db.Collection(name).Indexes().ListSpecifications(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range specs {
				text += " " + s.Name
			}
		}
		if n, err := db.Collection(name).CountDocuments(context.Background(), bson.D{}); err == nil {
			text += fmt.Sprint(" ", n)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}
