package sheaf_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

func run(t *testing.T, db *mongo.Database, cmd ...any) (bson.Raw, error) {
	t.Helper()
	doc := bson.D{}
	for i := 0; i < len(cmd); i += 2 {
		doc = append(doc, bson.E{cmd[i].(string), cmd[i+1]})
	}
	return db.RunCommand(t.Context(), doc).Raw()
}

func mustRun(t *testing.T, db *mongo.Database, cmd ...any) bson.Raw {
	t.Helper()
	raw, err := run(t, db, cmd...)
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return raw
}

func wantCode(t *testing.T, err error, code int32) {
	t.Helper()
	var e mongo.CommandError
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("got %v, want code %d", err, code)
	}
}

// TestParametersTakeEffect sets each parameter that changes the behaviour of commands, and checks
// the change.
func TestParametersTakeEffect(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{SlowOperation: time.Hour})
	admin, d := db.Client().Database("admin"), db.Client().Database("d")
	mustRun(t, d, "insert", "c", "documents", bson.A{bson.D{{"a", 1}}})
	set := func(name string, v any) { t.Helper(); mustRun(t, admin, "setParameter", 1, name, v) }

	set("notablescan", true)
	_, err := run(t, d, "find", "c", "filter", bson.D{{"a", 1}})
	wantCode(t, err, 291)
	mustRun(t, d, "find", "c")
	mustRun(t, d, "find", "c", "filter", bson.D{{"_id", 1}})
	set("notablescan", false)
	mustRun(t, d, "find", "c", "filter", bson.D{{"a", 1}})

	set("requireApiVersion", true)
	_, err = run(t, d, "find", "c")
	wantCode(t, err, 498870)
	mustRun(t, d, "find", "c", "apiVersion", "1")
	mustRun(t, admin, "setParameter", 1, "requireApiVersion", false, "apiVersion", "1")
	mustRun(t, d, "find", "c")

	logged := func(mark string) bool {
		mustRun(t, d, "find", "c", "comment", mark)
		raw := mustRun(t, admin, "getLog", "global")
		return strings.Contains(raw.Lookup("log").String(), mark)
	}
	if logged("not-verbose") {
		t.Error("a fast operation is logged at verbosity 0")
	}
	set("logLevel", 1)
	if !logged("log-level-1") {
		t.Error("logLevel 1 does not log operations")
	}
	set("logLevel", 0)
	set("logComponentVerbosity", bson.D{{"command", bson.D{{"verbosity", 2}}}})
	if !logged("component-2") {
		t.Error("logComponentVerbosity does not log operations")
	}
	set("logComponentVerbosity", bson.D{{"command", bson.D{{"verbosity", -1}}}})
	if logged("inherited") {
		t.Error("a component without a verbosity of its own is verbose")
	}
	for _, bad := range []any{bson.D{{"none", 1}}, bson.D{{"command", 6}}, 1} {
		if _, err := run(t, admin, "setParameter", 1, "logComponentVerbosity", bad); err == nil {
			t.Errorf("logComponentVerbosity %v is accepted", bad)
		}
	}

	mustRun(t, admin, "profile", 0, "filter", bson.D{{"command.comment", "by-filter"}})
	if logged("other") || !logged("by-filter") {
		t.Error("the filter of profile does not choose what is logged")
	}
	if got := mustRun(t, admin, "profile", -1).Lookup("filter", "command.comment").StringValue(); got != "by-filter" {
		t.Errorf("profile tells the filter %q", got)
	}
	mustRun(t, admin, "profile", 0, "filter", "unset", "slowms", 0, "sampleRate", 0)
	if logged("unsampled") {
		t.Error("sampleRate 0 logs")
	}
	mustRun(t, admin, "profile", 0, "sampleRate", 1)
	if !logged("sampled") {
		t.Error("sampleRate 1 with slowms 0 does not log")
	}
	_, err = run(t, admin, "profile", 0, "sampleRate", 2)
	wantCode(t, err, 2)
}

// TestLockTimeoutOfTransactions: while fsync holds its lock, a transaction gives up after
// maxTransactionLockRequestTimeoutMillis, or never if that is negative. Writes outside of
// transactions wait for the unlock.
func TestLockTimeoutOfTransactions(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, t.TempDir(), nil)
	admin, c := db.Client().Database("admin"), db.Client().Database("d").Collection("c")
	insert := func() error {
		s, err := db.Client().StartSession()
		if err != nil {
			return err
		}
		defer s.EndSession(context.Background())
		if err := s.StartTransaction(); err != nil {
			return err
		}
		ctx := mongo.NewSessionContext(context.Background(), s)
		if _, err := c.InsertOne(ctx, bson.D{}); err != nil {
			return errors.Join(err, s.AbortTransaction(ctx))
		}
		return s.CommitTransaction(ctx)
	}
	mustRun(t, admin, "fsync", 1, "lock", true)
	for _, limit := range []int{5, 30, 0} {
		mustRun(t, admin, "setParameter", 1, "maxTransactionLockRequestTimeoutMillis", limit)
		err := insert()
		var e mongo.ServerError
		if !errors.As(err, &e) || !e.HasErrorCode(24) || !e.HasErrorLabel("TransientTransactionError") ||
			!strings.Contains(err.Error(), fmt.Sprintf("within %dms", limit)) {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	mustRun(t, admin, "setParameter", 1, "maxTransactionLockRequestTimeoutMillis", -1)
	done := make(chan error, 1)
	go func() { done <- insert() }()
	(&diagnosticLoad{db: db}).await(t, 1, "globalLock", "currentQueue", "writers")
	mustRun(t, admin, "fsyncUnlock", 1)
	if err := <-done; err != nil {
		t.Errorf("without a limit: %v", err)
	}
	if _, err := c.InsertOne(t.Context(), bson.D{}); err != nil {
		t.Error(err)
	}
}

// TestQuietLogsNoConnections opens and closes connections while the parameter quiet is true. The
// log must have no lines about them.
func TestQuietLogsNoConnections(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, nil)
	l := &diagnosticLoad{db: db, address: listenOn(t, db, "tcp", "127.0.0.1:0").String()}
	admin := db.Client().Database("admin")
	lines := func(remote string) (n int) {
		values, err := mustRun(t, admin, "getLog", "global").Lookup("log").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			if strings.Contains(v.StringValue(), remote) {
				n++
			}
		}
		return n
	}
	connect := func() string {
		c := l.dial(t)
		remote := c.LocalAddr().String()
		c.run("ping", 1)
		current := l.status(t, "connections", "current")
		_ = c.Close()
		for deadline := time.Now().
			Add(patience); l.status(t, "connections", "current") >= current; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the connection does not end")
			}
		}
		return remote
	}
	mustRun(t, admin, "setParameter", 1, "quiet", true)
	quiet := connect()
	mustRun(t, admin, "setParameter", 1, "quiet", false)
	logged := connect()
	for deadline := time.Now().Add(patience); lines(logged) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d lines about a connection", lines(logged))
		}
	}
	// One line is possible, because the end of the connection may be logged after quiet was reset.
	if n := lines(quiet); n > 1 {
		t.Errorf("%d lines about a connection while quiet is set", n)
	}
}

// TestCommandLineIsTheServers: getCmdLineOpts does not show clients the arguments of an embedding
// program.
func TestCommandLineIsTheServers(t *testing.T) {
	t.Parallel()
	embedded := mustRun(t, mustOpen(t, sheaf.Memory, nil).Client().Database("admin"), "getCmdLineOpts", 1)
	if argv, parsed := embedded.Lookup("argv").String(), embedded.Lookup("parsed").
		String(); argv != "[]" || parsed != "{}" {
		t.Errorf("embedded: argv %s, parsed %s", argv, parsed)
	}
	db := mustOpen(t, sheaf.Memory, &sheaf.Options{
		CommandLine: []string{"sheaf", "serve"}, Settings: bson.D{{"net", bson.D{{"port", 1}}}},
	})
	served := mustRun(t, db.Client().Database("admin"), "getCmdLineOpts", 1)
	if got := served.Lookup("parsed", "net", "port").AsInt64(); got != 1 ||
		!strings.Contains(served.Lookup("argv").String(), "serve") {
		t.Errorf("served: %v", served)
	}
}

// TestParametersAreDocumented compares the table of docs/server.md with the parameters, their
// defaults, and whether they can be set.
func TestParametersAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/server.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if name := strings.Trim(cells[0], " `"); len(cells) == 5 && strings.HasPrefix(cells[0], " `") {
			rows[name] = cells[1:]
		}
	}
	admin := mustOpen(t, sheaf.Memory, nil).Client().Database("admin")
	elements, err := mustRun(t, admin, "getParameter",
		bson.D{{"allParameters", true}, {"showDetails", true}}).Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		details, ok := e.Value().DocumentOK()
		if !ok || e.Key() == "$clusterTime" {
			continue
		}
		row, ok := rows[e.Key()]
		if !ok {
			t.Errorf("docs/server.md has no line for the parameter %s", e.Key())
			continue
		}
		delete(rows, e.Key())
		settable := map[bool]string{true: "yes", false: "no"}[details.Lookup("settableAtRuntime").Boolean()]
		if got := strings.TrimSpace(row[3]); got != settable {
			t.Errorf("%s can be set: %s, documented %s", e.Key(), settable, got)
		}
		value := details.Lookup("value")
		shown := strings.Trim(row[2], " `")
		if n, ok := value.AsInt64OK(); ok && value.Type != bson.TypeDouble && shown != strconv.FormatInt(n, 10) {
			t.Errorf("%s is %d, documented %s", e.Key(), n, shown)
		}
		if b, ok := value.BooleanOK(); ok && shown != strconv.FormatBool(b) {
			t.Errorf("%s is %t, documented %s", e.Key(), b, shown)
		}
	}
	for name := range rows {
		t.Errorf("docs/server.md has a line for %s, which is no parameter", name)
	}
}
