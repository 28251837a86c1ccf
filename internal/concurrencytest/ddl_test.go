package concurrencytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf/internal/torture"
)

// ddlState is a state of the collections in which a race begins.
type ddlState struct {
	name string
	fill func(db *mongo.Database) error
}

var ddlStates = []ddlState{
	{"nothing", func(*mongo.Database) error { return nil }},
	{"c", func(db *mongo.Database) error { return fillForDDL(db, "c", "a") }},
	{"c and d", func(db *mongo.Database) error {
		other := db.Client().Database(db.Name() + otherDB)
		return errors.Join(fillForDDL(db, "c", "a"), fillForDDL(db, "d", "n"),
			other.RunCommand(context.Background(), doc("create", "e")).Err())
	}},
	{"c and a view", func(db *mongo.Database) error {
		return errors.Join(fillForDDL(db, "c", "a"), db.CreateView(context.Background(), "v", "c", mongo.Pipeline{}))
	}},
	{"series and d", func(db *mongo.Database) error {
		return errors.Join(seriesForDDL(db, "c"), fillForDDL(db, "c", "a"), fillForDDL(db, "d", "n"))
	}},
	{"c and a series", func(db *mongo.Database) error {
		return errors.Join(fillForDDL(db, "c", "a"), seriesForDDL(db, "d"), fillForDDL(db, "d", "n"))
	}},
	{"view and d", func(db *mongo.Database) error {
		return errors.Join(fillForDDL(db, "d", "n"), db.CreateView(context.Background(), "c", "d", mongo.Pipeline{}))
	}},
	{"capped c and a view of it", func(db *mongo.Database) error {
		capped := options.CreateCollection().SetCapped(true).SetSizeInBytes(1 << 20)
		return errors.Join(db.CreateCollection(context.Background(), "c", capped), fillForDDL(db, "c", "a"),
			db.CreateView(context.Background(), "d", "c", mongo.Pipeline{}))
	}},
}

func seriesForDDL(db *mongo.Database, name string) error {
	series := options.CreateCollection().SetTimeSeriesOptions(options.TimeSeries().SetTimeField("t").SetMetaField("a"))
	return db.CreateCollection(context.Background(), name, series)
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
	return db.RunCommand(context.Background(),
		doc("createIndexes", name, "indexes", bson.A{doc("key", doc(index, 1), "name", index)})).Err()
}

// TestEachPairOfDDL runs each pair of commands at the same time, and each of the two between two
// steps of the other. The replies and effects must be the same as if one command ran after the
// other, in one of the two orders. For each state a short run uses one in 4*ddlShare pairs, with
// one step, and each run uses different pairs. With SHEAF_TEST_LONG it uses one in ddlShare pairs.
// With -torture.time it uses all pairs in turn, and every step.
func TestEachPairOfDDL(t *testing.T) {
	t.Parallel()
	for s, state := range ddlStates {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			member, standalone := openForDDL(t, false), openForDDL(t, true)
			run := torture.Begin(t)
			sample := run.Rand(0)
			share := ddlShare
			if !torture.Long() {
				share *= 4
			}
			first, raced := sample.IntN(share), 0
			for run.Next(1, time.Minute) {
				for i, a := range ddlCommands {
					for j, b := range ddlCommands[i:] {
						if (i+j+s+first+run.Rounds())%share > 0 || testing.Short() && sample.IntN(10) > 0 {
							continue
						}
						server := member
						if a.standalone || b.standalone {
							server = standalone
						}
						race := server.race(t, state, a, b)
						race.rng, race.everyStep = sample, torture.Time(0) > 0
						race.check()
						raced++
					}
				}
			}
			if raced == 0 {
				t.Skip("the sample has no pair")
			}
		})
	}
}

// ddlShare is the number of rounds in which all pairs run once.
const ddlShare = 8

// TestPairsThatFailed runs pairs that once had effects or replies that neither order explains, with
// one command between any two steps of the other.
func TestPairsThatFailed(t *testing.T) {
	t.Parallel()
	server := openForDDL(t, false)
	for _, pair := range []struct{ state, a, b string }{
		// The rename once dropped the view, and the time series without its buckets.
		{"c and a view", "create view the other way", "rename over"},
		{"c and a view", "create the other as time series", "rename over"},
		// collMod once looked for the index in the time series itself.
		{"series and d", "drop", "collMod index"},
		{"series and d", "drop", "collMod time series"},
		// $out once panicked.
		{"series and d", "drop", "$out"},
		{"series and d", "dropDatabase", "$out"},
		// $out once treated the time series as a collection.
		{"nothing", "create time series", "$out"},
		// The index once refused the document, although its build failed.
		{"c", "createIndexes unique", "import"},
	} {
		s := slices.IndexFunc(ddlStates, func(s ddlState) bool { return s.name == pair.state })
		a := slices.IndexFunc(ddlCommands, func(c ddlCommand) bool { return c.name == pair.a })
		b := slices.IndexFunc(ddlCommands, func(c ddlCommand) bool { return c.name == pair.b })
		race := server.race(t, ddlStates[s], ddlCommands[a], ddlCommands[b])
		race.everyStep = true
		race.check()
	}
}

// ddlRace is a pair of commands that run at the same time, from one state.
type ddlRace struct {
	t       *testing.T
	db      *mongo.Database
	fill    func(db *mongo.Database) error
	a, b    ddlCommand
	between *interleaver
	rng     *rand.Rand
	// everyStep means that each command runs after every step of the other command. Otherwise it
	// runs after one random step.
	everyStep bool

	// steps are the numbers of steps of the commands a and b.
	steps [2]int
	// serial are the outcomes of running the commands one after another. An outcome of the race
	// must be one of them.
	serial []string
}

// race returns a race of two commands on the database that belongs to the state.
func (s *ddlServer) race(t *testing.T, state ddlState, a, b ddlCommand) *ddlRace {
	i := slices.IndexFunc(ddlStates, func(other ddlState) bool { return other.name == state.name })
	db := s.client.Database(fmt.Sprint("ddl", i))
	return &ddlRace{t: t, db: db, fill: state.fill, a: a, b: b, between: s.between}
}

// begin drops the databases of the race and creates the state again.
func (r *ddlRace) begin() {
	other := r.db.Client().Database(r.db.Name() + otherDB)
	if err := errors.Join(r.db.Drop(context.Background()), other.Drop(context.Background()), r.fill(r.db)); err != nil {
		r.t.Fatal(err)
	}
}

// one runs the commands one after another. It returns the results of a and b, and the state of the
// databases. A command that is nil counts as aborted.
func (r *ddlRace) one(first, second *ddlCommand) (string, string, string) {
	r.begin()
	a, b := "aborted", "aborted"
	if first != nil {
		steps := r.between.count(func() { a = first.run(r.db) })
		switch first {
		case &r.a:
			r.steps[0] = steps
		case &r.b:
			r.steps[1] = steps
		}
	}
	if second != nil {
		b = second.run(r.db)
	}
	return a, b, stateOf(r.t, r.db)
}

// check runs the commands one after another, then at the same time, and then each command between
// two steps of the other one.
func (r *ddlRace) check() {
	r.t.Helper()
	r.serial = nil
	a, b, state := r.one(&r.a, &r.b)
	r.serial = append(r.serial, outcome(a, b, state))
	b, a, state = r.one(&r.b, &r.a)
	r.serial = append(r.serial, outcome(a, b, state))
	for _, c := range []*ddlCommand{&r.a, &r.b} {
		if c.reads {
			r.serial = append(r.serial, r.late(c))
		}
	}
	r.run("at once", atOnce)
	for i, c := range []*ddlCommand{&r.a, &r.b} {
		for _, after := range r.places(r.steps[i]) {
			r.run(fmt.Sprintf("the other one after step %d of %s", after, c.name), func(commands []func()) {
				r.between.put(commands[i], commands[1-i], after)
			})
		}
	}
}

// places returns the steps of a command after which the other one runs.
func (r *ddlRace) places(steps int) []int {
	if r.everyStep {
		all := make([]int, steps)
		for i := range all {
			all[i] = i + 1
		}
		return all
	}
	if steps == 0 {
		return nil
	}
	return []int{1 + r.rng.IntN(steps)}
}

// atOnce runs both commands at the same time.
func atOnce(commands []func()) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for _, run := range commands {
		wg.Go(func() {
			<-start
			run()
		})
	}
	close(start)
	wg.Wait()
}

func outcome(a, b, state string) string { return fmt.Sprint(a, " and ", b, ": ", state) }

// run restores the state, runs both commands in the given way, and checks that the outcome is one
// of serial.
func (r *ddlRace) run(how string, way func(commands []func())) {
	r.t.Helper()
	r.begin()
	answers := make([]string, 2)
	way([]func(){
		func() { answers[0] = aborted(r.a.run(r.db)) },
		func() { answers[1] = aborted(r.b.run(r.db)) },
	})
	got := outcome(answers[0], answers[1], stateOf(r.t, r.db))
	serial := slices.Clone(r.serial)
	if strings.Contains(got, "aborted") {
		// If its collection is dropped, an index build or a copy is aborted. Then it has no effect.
		serial = append(serial, outcome(r.one(&r.a, nil)), outcome(r.one(nil, &r.b)))
	}
	for i, c := range []*ddlCommand{&r.a, &r.b} {
		if c.makes && !slices.Contains(serial, got) {
			serial = append(serial, r.made(i))
		}
	}
	if !slices.Contains(serial, got) {
		r.t.Errorf("%s and %s, %s:\n%s\none after the other:\n%s", r.a.name, r.b.name, how,
			got, strings.Join(serial, "\n"))
	}
}

// late returns the outcome if the command c, which reads d and then writes, reads d before the
// other command runs and writes after it.
func (r *ddlRace) late(c *ddlCommand) string {
	r.t.Helper()
	r.begin()
	copied := r.db.Client().Database(r.db.Name() + "_copy")
	out := bson.A{doc("$out", doc("db", copied.Name(), "coll", "d"))}
	if err := r.db.RunCommand(context.Background(),
		doc("aggregate", "d", "pipeline", out, "cursor", doc())).Err(); err != nil {
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

// made returns the outcome if a command that creates c before it writes creates c before the other
// command runs, and writes after it. writer is 0 for the command a and 1 for b.
func (r *ddlRace) made(writer int) string {
	r.t.Helper()
	r.begin()
	_ = r.db.RunCommand(context.Background(), doc("create", "c")).Err() // c may exist already
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
			// The first view creates system.views. The collection stays when its last view is
			// dropped.
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
