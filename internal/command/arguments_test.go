package command_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command/argtest"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sheaftest"
)

var (
	argumentsURI  = flag.String("arguments.uri", "", "server that TestArguments asks instead of a new one")
	argumentsFile = flag.String("arguments.write", "", "file that TestArguments writes its answers to")
)

// argumentsTable has the replies of MongoDB 8.0. For commands that a standalone MongoDB engine has,
// they were recorded from such an engine and checked against the manual of 8.0. All others follow
// the manual.
const argumentsTable = "testdata/arguments.txt"

// TestArguments gives every argument of every command a value of each BSON type, and compares the
// replies with argumentsTable. Arguments with the same replies share a block of the table.
//
//	go test ./internal/command -run TestArguments -arguments.write testdata/arguments.txt
//	go test ./internal/command -run TestArguments -arguments.uri mongodb://… -arguments.write /tmp/theirs
func TestArguments(t *testing.T) {
	torture.SkipShort(t)
	t.Parallel()
	arguments, err := argtest.Arguments()
	if err != nil {
		t.Fatal(err)
	}
	sweep := &sweep{t: t, client: argumentsClient(t)}
	var names, answers []string
	for _, a := range arguments {
		names = append(names, a.String())
		answer := sweep.argument(a, argtest.Values())
		if strings.Contains(answer, "InternalError") {
			t.Errorf("%s: %s", a, answer)
		}
		answers = append(answers, answer)
	}
	compareBlocks(t, argumentsTable, names, answers)
}

// namesTable has the replies of MongoDB 8.0 to invalid names; see argumentsTable.
const namesTable = "testdata/names.txt"

// TestNames gives every command that names a collection or a namespace invalid names, and compares
// the replies with namesTable. It has the same flags as TestArguments.
func TestNames(t *testing.T) {
	t.Parallel()
	places, err := argtest.Names()
	if err != nil {
		t.Fatal(err)
	}
	sweep := &sweep{t: t, client: argumentsClient(t)}
	var names, answers []string
	for _, a := range places {
		values := argtest.BadNames()
		if a.IsNamespace() {
			values = argtest.BadNamespaces()
		}
		names = append(names, a.String())
		answers = append(answers, sweep.argument(a, values))
	}
	compareBlocks(t, namesTable, names, answers)
}

// compareBlocks compares the answers with a table. If the flag -arguments.write is set, it writes
// them to that file instead.
func compareBlocks(t *testing.T, table string, names, answers []string) {
	t.Helper()
	if *argumentsFile != "" {
		if err := os.WriteFile(*argumentsFile, []byte(blocks(names, answers)), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := readBlocks(t, table)
	for i, name := range names {
		if want[name] != answers[i] {
			t.Errorf("%s: got\n%swant\n%s", name, answers[i], want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is in %s and nowhere else", name, table)
	}
}

// blocks formats a table. A block is for all arguments with the same answers. It has one line for
// each command, with the names of its arguments (find: filter sort), and then the answers,
// indented.
func blocks(names, answers []string) string {
	same := map[string]string{}
	last := map[string]string{}
	for i, name := range names {
		command, path, _ := strings.Cut(name, " ")
		if last[answers[i]] != command {
			same[answers[i]] += "\n" + command + ":"
			last[answers[i]] = command
		}
		same[answers[i]] += " " + path
	}
	var out strings.Builder
	for _, answer := range answers {
		if same[answer] != "" {
			out.WriteString(same[answer][1:] + "\n" + answer)
			same[answer] = ""
		}
	}
	return out.String()
}

// readBlocks parses the format of blocks. Lines that begin with # are comments.
func readBlocks(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var names []string
	var inAnswer bool
	for line := range strings.Lines(string(text)) {
		switch line[0] {
		case '#':
		case ' ':
			inAnswer = true
			for _, name := range names {
				out[name] += line
			}
		default:
			if inAnswer {
				names, inAnswer = nil, false
			}
			command, paths, _ := strings.Cut(strings.TrimSpace(line), ":")
			for path := range strings.FieldsSeq(paths) {
				names = append(names, command+" "+path)
			}
		}
	}
	return out
}

func argumentsClient(t *testing.T) *mongo.Client {
	t.Helper()
	if *argumentsURI == "" {
		return sheaftest.Open(t, &sheaf.Options{TestCommands: true}).Client()
	}
	client, err := mongo.Connect(options.Client().ApplyURI(*argumentsURI).SetRetryWrites(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(t.Context()) })
	return client
}

// sweep runs the cases one after another. Before each case it restores the collections if an
// earlier command may have changed them.
type sweep struct {
	t      *testing.T
	client *mongo.Client
	clean  bool // the collections are unchanged since reset
	data   bool // only documents have changed since reset
}

// argument returns the answers to the values of an argument. Each answer is followed by the types
// of values that get it.
func (s *sweep) argument(a argtest.Argument, values []argtest.Value) string {
	var answers []string
	types := map[string][]string{}
	for _, v := range values {
		text := s.run(a, v)
		if types[text] == nil {
			answers = append(answers, text)
		}
		types[text] = append(types[text], v.Type)
	}
	var out string
	for _, text := range answers {
		out += "  " + text + "\n    " + strings.Join(types[text], " ") + "\n"
	}
	return out
}

var writes = regexp.MustCompile("^(insert|update|delete|findAndModify|bulkWrite)$")

var reads = regexp.MustCompile("^(find|getMore|count|distinct|explain|list.*|collStats|dbStats|dataSize|ping|hello|isMaster|get.*|repl.*|kill.*)$")

func (s *sweep) run(a argtest.Argument, v argtest.Value) string {
	if !s.clean {
		s.reset()
	}
	raw, err := s.client.Database(a.Base.DB).RunCommand(s.t.Context(), a.With(v.Value)).Raw()
	name, _, _ := strings.Cut(a.Base.Name, "/")
	var refused mongo.CommandError
	var failed mongo.WriteException
	if !errors.As(err, &refused) {
		s.data = writes.MatchString(name)
		s.clean = reads.MatchString(name)
	}
	switch {
	case errors.As(err, &refused):
		return fmt.Sprintf("%d %s: %s", refused.Code, refused.Name, plain(refused.Message, a, v.Type))
	case errors.As(err, &failed) && len(failed.WriteErrors) > 0:
		e := failed.WriteErrors[0]
		return fmt.Sprintf("write error %d: %s", e.Code, plain(e.Message, a, v.Type))
	case errors.As(err, &failed) && failed.WriteConcernError != nil:
		e := failed.WriteConcernError
		return fmt.Sprintf("write concern error %d: %s", e.Code, plain(e.Message, a, v.Type))
	case err != nil:
		return "unreadable: " + err.Error()
	}
	if name == "fsync" {
		_ = s.client.Database("admin").RunCommand(s.t.Context(), bson.D{{"fsyncUnlock", 1}}).Err()
	}
	if first, ok := raw.Lookup("cursor", "firstBatch", "0").DocumentOK(); ok && name == "bulkWrite" {
		if text, ok := first.Lookup("errmsg").StringValueOK(); ok {
			return fmt.Sprintf("operation %d: %s", first.Lookup("code").Int32(), plain(text, a, v.Type))
		}
	}
	return "ok"
}

// The parts of messages that differ between runs.
var volatile = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[0-9:.+]+|Write command: .*|Timestamp\(\d{5,}, \d+\)|x{50,}|ObjectId\('[0-9a-f]{24}'\)`)

// plain returns a message on one line. It replaces the type of the value by % and the name of the
// argument by @.
func plain(message string, a argtest.Argument, typ string) string {
	command, _, _ := strings.Cut(a.Base.Name, "/")
	path := strings.ReplaceAll(a.Path, ".0", "")
	last := path[strings.LastIndexByte(path, '.')+1:]
	for _, r := range [][2]string{
		{"'" + command + "." + path + "'", "'@'"},
		{"'" + last + "'", "'@'"},
		{"'" + typ + "'", "'%'"},
		{": " + typ, ": %"},
		{"type " + typ, "type %"},
		{"got " + typ, "got %"},
		{"\n", " "},
	} {
		message = strings.ReplaceAll(message, r[0], r[1])
	}
	return volatile.ReplaceAllString(message, "…")
}

func (s *sweep) reset() {
	db := s.client.Database("args")
	documents := bson.A{bson.M{"_id": 1, "a": 1}, bson.M{"_id": 2, "a": "x"}}
	if s.data {
		_, err := db.Collection("c").DeleteMany(s.t.Context(), bson.D{})
		if err == nil {
			_, err = db.Collection("c").InsertMany(s.t.Context(), documents)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.clean, s.data = true, false
		return
	}
	for _, cmd := range []bson.D{
		{{"dropDatabase", 1}},
		{{"insert", "c"}, {"documents", documents}},
		{{"createIndexes", "c"}, {"indexes", bson.A{bson.M{"key": bson.M{"a": 1}, "name": "a_1"}}}},
		{{"create", "v"}, {"viewOn", "c"}, {"pipeline", bson.A{}}},
	} {
		if err := db.RunCommand(s.t.Context(), cmd).Err(); err != nil {
			s.t.Fatalf("%v: %v", cmd, err)
		}
	}
	s.clean = true
}

// needContext has commands that work only in a context that this test does not set up, with the
// reason.
var needContext = map[string]string{
	"getMore":           "needs a cursor",
	"commitTransaction": "needs a transaction",
	"abortTransaction":  "needs a transaction",
	"fsyncUnlock":       "needs a lock",
	"reIndex":           "works on a standalone server",
	"replSetStepDown":   "needs force",
	"shutdown":          "would stop the server",
	"logRotate":         "needs a log file",
}

// lacking has, for each definition with Lacks, a command that uses the missing feature.
var lacking = map[string]bson.D{
	"profile":  {{"profile", 1}},
	"validate": {{"validate", "c"}, {"repair", true}},
	"create":   {{"create", "e"}, {"encryptedFields", bson.M{"fields": bson.A{}}}},
	"aggregate": {
		{"aggregate", "c"},
		{"pipeline", bson.A{}},
		{"cursor", bson.M{"batchSize": 0}},
		{"exchange", bson.M{"policy": "roundrobin", "consumers": 2}},
	},
}

// TestLackingCommands checks that the features in Definition.Lacks fail with NotImplemented.
func TestLackingCommands(t *testing.T) {
	t.Parallel()
	sweep := &sweep{t: t, client: argumentsClient(t)}
	sweep.reset()
	for _, d := range commands.Definitions() {
		cmd, listed := lacking[d.Name]
		if listed != (d.Lacks != "") {
			t.Errorf("%s lacks %q, and has a case: %v", d.Name, d.Lacks, listed)
		}
		if !listed {
			continue
		}
		err := sweep.client.Database("args").RunCommand(t.Context(), cmd).Err()
		if refused, ok := errors.AsType[mongo.CommandError](err); !ok ||
			refused.Code != int32(mongoerr.NotImplemented) {
			t.Errorf("%v: %v", cmd, err)
		}
	}
}

// TestRefusedCommands checks that commands with Definition.Refuse fail on every call, and that all
// others can succeed.
func TestRefusedCommands(t *testing.T) {
	t.Parallel()
	bases, err := argtest.Bases()
	if err != nil {
		t.Fatal(err)
	}
	sweep := &sweep{t: t, client: argumentsClient(t)}
	failures := map[string]error{}
	worked := map[string]bool{}
	for i := range bases {
		b := &bases[i]
		name, _, _ := strings.Cut(b.Name, "/")
		if b.Skip != "" {
			continue
		}
		sweep.reset()
		if _, err := sweep.client.Database(b.DB).RunCommand(t.Context(), b.Command).Raw(); err != nil {
			failures[name] = err
		} else {
			worked[name] = true
		}
		if name == "fsync" {
			_ = sweep.client.Database("admin").RunCommand(t.Context(), bson.D{{"fsyncUnlock", 1}}).Err()
		}
	}
	for _, d := range commands.Definitions() {
		refuses := d.Refuse != nil
		switch {
		case d.Status != feature.Supported || needContext[d.Name] != "":
		case refuses && worked[d.Name]:
			t.Errorf("%s works and is said to refuse", d.Name)
		case !refuses && !worked[d.Name]:
			t.Errorf("%s is said to work: %v", d.Name, failures[d.Name])
		}
	}
}
