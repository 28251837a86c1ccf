package recorded

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

var record = flag.String("record", "", "URI of a MongoDB server whose answers are written to testdata")

// question is a case: a name, and a function that returns the answer.
type question struct {
	name string
	ask  func(ctx context.Context, db *mongo.Database) string
}

// class is a generator with the file of its answers.
type class struct {
	file string
	// grouped means that the file has each distinct answer once. A case's name is then its base, a
	// space, and the rest.
	grouped bool
	setup   func(t *testing.T, db *mongo.Database)
	cases   []question
	// agrees reports whether Sheaf's answer is accepted although the recorded answer is want. If
	// agrees is nil, the answers must be equal.
	agrees func(got, want string) bool
	// agreesOn does the same as agrees, but also gets the name of the case.
	agreesOn func(name, got, want string) bool
	// standalone means that the server is not a member of a replica set. The recorded server is
	// not, either.
	standalone bool
	// explain describes how two answers differ. Nil shows both.
	explain func(got, want string) string
}

// check asks Sheaf every question and compares the answers with the file, or records the answers of
// a MongoDB server.
func check(t *testing.T, c class) {
	t.Helper()
	path := filepath.Join("testdata", c.file)
	read, write := readAnswers, writeAnswers
	if c.grouped {
		read, write = readGroups, writeGroups
	}
	if *record != "" {
		write(t, path, answers(t, c, connect(t)))
		return
	}
	all := map[string]bool{}
	for _, q := range c.cases {
		all[q.name] = true
	}
	c.cases = slices.DeleteFunc(c.cases, func(q question) bool { return !sampled(q.name) })
	got, want := answers(t, c, sheaftest.Open(t, &sheaf.Options{Standalone: c.standalone}).Client()), read(t, path)
	wrong := 0
	for _, name := range slices.Sorted(maps.Keys(got)) {
		recorded, ok := want[name]
		delete(want, name)
		if ok && (got[name] == recorded || c.agrees != nil && c.agrees(got[name], recorded) ||
			c.agreesOn != nil && c.agreesOn(name, got[name], recorded)) {
			continue
		}
		if wrong++; wrong <= 40 {
			t.Errorf("%s:\n got %s\nwant %s", name, got[name], recorded)
			if c.explain != nil {
				t.Log(c.explain(got[name], recorded))
			}
		}
	}
	for name := range want {
		if !all[name] {
			t.Errorf("%s: the answer has no case: record again", name)
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d answers are wrong", wrong, len(got))
	}
}

// sampled reports whether this run asks the question of a name.
func sampled(name string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	return torture.Sample(int(hash.Sum32()>>1), 2)
}

func answers(t *testing.T, c class, client *mongo.Client) map[string]string {
	t.Helper()
	db := client.Database("recorded")
	if err := db.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.setup != nil {
		c.setup(t, db)
	}
	out := make(map[string]string, len(c.cases))
	for _, q := range c.cases {
		if _, twice := out[q.name]; twice {
			t.Fatalf("two cases are called %s", q.name)
		}
		out[q.name] = q.ask(t.Context(), db)
	}
	return out
}

func connect(t *testing.T) *mongo.Client {
	t.Helper()
	return connectTo(t, *record)
}

func connectTo(t *testing.T, uri string) *mongo.Client {
	t.Helper()
	client, err := mongo.Connect(options.Client().ApplyURI(uri))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	return client
}

func readAnswers(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, answer, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%s: not an answer: %s", path, line)
		}
		out[name] = answer
	}
	return out
}

func writeAnswers(t *testing.T, path string, all map[string]string) {
	t.Helper()
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s\t%s\n", name, all[name])
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// run returns the reply to a command, or its error as text.
func run(ctx context.Context, db *mongo.Database, cmd bson.D) (bson.Raw, string) {
	reply, err := db.RunCommand(ctx, cmd).Raw()
	if err == nil {
		return reply, ""
	}
	if command, ok := err.(mongo.CommandError); ok { //nolint:errorlint // the driver returns it unwrapped
		return nil, fmt.Sprintf("error %d", command.Code)
	}
	return nil, err.Error()
}

// must runs a command that prepares a case.
func must(t *testing.T, db *mongo.Database, cmd bson.D) {
	t.Helper()
	if _, failed := run(t.Context(), db, cmd); failed != "" {
		t.Fatalf("%v: %s", cmd, failed)
	}
}
