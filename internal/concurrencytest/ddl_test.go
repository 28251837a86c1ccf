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
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// ddlStates are what a race begins with.
var ddlStates = []struct {
	name string
	fill func(db *mongo.Database) error
}{
	{"nothing", func(*mongo.Database) error { return nil }},
	{"c", func(db *mongo.Database) error { return fillForDDL(db, "c", "a") }},
	{"c and d", func(db *mongo.Database) error {
		other := db.Client().Database(db.Name() + otherDB)
		return errors.Join(fillForDDL(db, "c", "a"), fillForDDL(db, "d", "n"), other.RunCommand(context.Background(), doc("create", "e")).Err())
	}},
	{"c and a view", func(db *mongo.Database) error {
		return errors.Join(fillForDDL(db, "c", "a"), db.CreateView(context.Background(), "v", "c", mongo.Pipeline{}))
	}},
	{"series and d", func(db *mongo.Database) error {
		series := options.CreateCollection().SetTimeSeriesOptions(options.TimeSeries().SetTimeField("t").SetMetaField("a"))
		return errors.Join(db.CreateCollection(context.Background(), "c", series), fillForDDL(db, "c", "a"), fillForDDL(db, "d", "n"))
	}},
}

func fillForDDL(db *mongo.Database, name, index string) error {
	var docs []any
	for i := range 5 {
		docs = append(docs, doc("_id", i, "a", i, "b", i%3, "from", name, "t", time.UnixMilli(0)))
	}
	_, err := db.Collection(name).InsertMany(context.Background(), docs)
	if err != nil {
		return err
	}
	return db.RunCommand(context.Background(), doc("createIndexes", name, "indexes", bson.A{doc("key", doc(index, 1), "name", index)})).Err()
}

// TestEachPairOfDDL runs each pair of commands at once. What they answer and leave must be what they
// answer and leave one after the other, in one order or the other. Each pair begins with a third of the
// states, in the long form with the others in turn. The race detector, under which all pairs take
// 20 s, sees another sample of them in each run.
func TestEachPairOfDDL(t *testing.T) {
	t.Parallel()
	member, standalone := openForDDL(t, false), openForDDL(t, true)
	for s, state := range ddlStates {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			run := torture.Begin(t)
			sample := run.Rand(0)
			for run.Next(1, time.Minute) {
				for i, a := range ddlCommands {
					for j, b := range ddlCommands[i:] {
						if (i+j+s+run.Rounds())%3 > 0 || testing.Short() && sample.IntN(10) > 0 {
							continue
						}
						race := &ddlRace{t: t, db: member.Database(fmt.Sprint("ddl", s)), fill: state.fill, a: a, b: b}
						if a.standalone || b.standalone {
							race.db = standalone.Database(race.db.Name())
						}
						race.check(2)
					}
				}
			}
		})
	}
}

func openForDDL(t *testing.T, standalone bool) *mongo.Client {
	t.Helper()
	db, err := sheaf.Open(sheaf.Memory, &sheaf.Options{SlowOperation: -1, Standalone: standalone})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db.Client()
}

// ddlRace is a pair of commands from one state.
type ddlRace struct {
	t    *testing.T
	db   *mongo.Database
	fill func(db *mongo.Database) error
	a, b ddlCommand
}

// begin makes the state anew.
func (r *ddlRace) begin() {
	other := r.db.Client().Database(r.db.Name() + otherDB)
	if err := errors.Join(r.db.Drop(context.Background()), other.Drop(context.Background()), r.fill(r.db)); err != nil {
		r.t.Fatal(err)
	}
}

// one runs commands one after the other.
func (r *ddlRace) one(first, second *ddlCommand) (string, string, string) {
	r.begin()
	a, b := "aborted", "aborted"
	if first != nil {
		a = first.run(r.db)
	}
	if second != nil {
		b = second.run(r.db)
	}
	return a, b, stateOf(r.t, r.db)
}

func (r *ddlRace) check(rounds int) {
	r.t.Helper()
	var serial []string
	a, b, state := r.one(&r.a, &r.b)
	serial = append(serial, fmt.Sprint(a, " and ", b, ": ", state))
	b, a, state = r.one(&r.b, &r.a)
	serial = append(serial, fmt.Sprint(a, " and ", b, ": ", state))
	for _, c := range []*ddlCommand{&r.a, &r.b} {
		if c.reads {
			serial = append(serial, r.late(c))
		}
	}
	for range rounds {
		r.begin()
		answers := make([]string, 2)
		var wg sync.WaitGroup
		start := make(chan struct{})
		for i, c := range []*ddlCommand{&r.a, &r.b} {
			wg.Go(func() {
				<-start
				answers[i] = aborted(c.run(r.db))
			})
		}
		close(start)
		wg.Wait()
		got := fmt.Sprint(answers[0], " and ", answers[1], ": ", stateOf(r.t, r.db))
		if strings.Contains(got, "aborted") {
			// A build, or a copy, is aborted by what takes its collection away, and leaves nothing.
			a, b, state = r.one(&r.a, nil)
			serial = append(serial, fmt.Sprint(a, " and ", b, ": ", state))
			a, b, state = r.one(nil, &r.b)
			serial = append(serial, fmt.Sprint(a, " and ", b, ": ", state))
		}
		for i, c := range []*ddlCommand{&r.a, &r.b} {
			if c.makes && !slices.Contains(serial, got) {
				serial = append(serial, r.made(i))
			}
		}
		if !slices.Contains(serial, got) {
			r.t.Errorf("%s and %s:\n%s\none after the other:\n%s", r.a.name, r.b.name, got, strings.Join(serial, "\n"))
			return
		}
	}
}

// late runs the command that reads d around the other one: it reads before, and writes after it.
func (r *ddlRace) late(c *ddlCommand) string {
	r.t.Helper()
	r.begin()
	copied := r.db.Client().Database(r.db.Name() + "_copy")
	out := bson.A{doc("$out", doc("db", copied.Name(), "coll", "d"))}
	if err := r.db.RunCommand(context.Background(), doc("aggregate", "d", "pipeline", out, "cursor", doc())).Err(); err != nil {
		r.t.Fatal(err)
	}
	run := func() string { return answerOf(copied.RunCommand(context.Background(), c.cmd(r.db.Name())).Raw()) }
	var a, b string
	if c == &r.a {
		b = r.b.run(r.db)
		a = run()
	} else {
		a = r.a.run(r.db)
		b = run()
	}
	if err := copied.Drop(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprint(a, " and ", b, ": ", stateOf(r.t, r.db))
}

// made runs the one command that makes c for its write, a or b, around the other one: it makes c before, and writes after it.
func (r *ddlRace) made(writer int) string {
	r.t.Helper()
	r.begin()
	_ = r.db.RunCommand(context.Background(), doc("create", "c")).Err() // it may exist
	commands, answers := []*ddlCommand{&r.a, &r.b}, make([]string, 2)
	for _, i := range []int{1 - writer, writer} {
		answers[i] = commands[i].run(r.db)
	}
	return fmt.Sprint(answers[0], " and ", answers[1], ": ", stateOf(r.t, r.db))
}

// stateOf describes the collections of a race's databases, their indexes and their documents.
func stateOf(t *testing.T, db *mongo.Database) string {
	t.Helper()
	var out []string
	for _, db := range []*mongo.Database{db, db.Client().Database(db.Name() + otherDB)} {
		cursor, err := db.ListCollections(context.Background(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		for cursor.Next(context.Background()) {
			// The first view makes system.views, which stays without documents.
			if state := collectionState(t, db, cursor.Current); state != db.Name()+".system.views collection {}" {
				out = append(out, state)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func collectionState(t *testing.T, db *mongo.Database, listed bson.Raw) string {
	t.Helper()
	name := listed.Lookup("name").StringValue()
	text := fmt.Sprint(db.Name(), ".", name, " ", listed.Lookup("type").StringValue(), " ", listed.Lookup("options"))
	if listed.Lookup("type").StringValue() != "view" && !strings.HasPrefix(name, "system.") {
		cursor, err := db.Collection(name).Indexes().List(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var specs []string
		for cursor.Next(context.Background()) {
			specs = append(specs, cursor.Current.String())
		}
		slices.Sort(specs)
		text += " " + strings.Join(specs, " ")
	}
	cursor, err := db.Collection(name).Find(context.Background(), bson.D{}, options.Find().SetSort(doc("_id", 1)))
	if err != nil {
		return text
	}
	for cursor.Next(context.Background()) {
		text += " " + cursor.Current.String()
	}
	return text
}
