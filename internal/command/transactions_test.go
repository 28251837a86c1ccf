package command_test

import (
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/plan"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
	"github.com/sheafdb/sheaf/internal/write"
)

// transactor sends commands of several sessions to its own service.
type transactor struct {
	harness
	now     time.Time
	cursors map[string]int64 // id of the last cursor, by the session that opened it
	last    bsonx.Value      // the operationTime of the last reply
	times   []string         // pairs of $NAME and a time in Extended JSON
}

// Now implements clock.Clock.
func (x *transactor) Now() time.Time { return x.now }

func newTransactor(t *testing.T) *transactor {
	t.Helper()
	x := &transactor{now: time.Unix(1_700_000_000, 0), cursors: make(map[string]int64)}
	log := slog.New(slog.DiscardHandler)
	engine := mem.New()
	store, err := schema.OpenLogged(engine, ddl.Compiler{}, log, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x.t = t
	x.serve(store, log)
	t.Cleanup(func() {
		x.svc.Close()
		store.Close()
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return x
}

// serve starts a new service over the stored data.
func (x *transactor) serve(store *table.Store, log *slog.Logger) {
	planner := plan.New(plan.Options{})
	svc, err := commands.NewService(command.Deps{
		Data: command.Data{Store: store, Planner: planner, Writes: write.New(store, planner)}, Logger: log, Clock: x,
		TestCommands: true, ReplicaSet: "rs0",
	})
	if err != nil {
		x.t.Fatal(err)
	}
	x.harness = harness{x.t, svc, svc.NewConn(1, "127.0.0.1:5", "127.0.0.1:27017", true)}
}

// line runs one line of a test:
//
//	a1 start {…}    the command begins transaction 1 of session a
//	a1 {…}          the command belongs to transaction 1 of session a
//	a1 write {…}    a retryable write with the number 1
//	a {…}           the command belongs to session a and no transaction
//	- {…}           the command belongs to no session
//	a1 commit, a1 abort, wait SECONDS, restart
//	time NAME       $NAME stands for the operationTime of the last reply in later lines
//
// {…} is Extended JSON. If the value of its first field is a string, it is database.collection. The
// number -1 stands for the id of the session's last cursor.
func (x *transactor) line(d *datadriven.TestData, line string) string {
	who, rest, _ := strings.Cut(line, " ")
	if who == "restart" {
		x.svc.Close()
		x.serve(x.svc.Store, x.svc.Logger)
		return "restarted"
	}
	if who == "time" {
		seconds, number := x.last.Timestamp()
		x.times = append(x.times, "$"+rest, fmt.Sprintf(`{"$timestamp": {"t": %d, "i": %d}}`, seconds, number))
		return "noted"
	}
	if who == "wait" {
		seconds, err := strconv.Atoi(rest)
		if err != nil {
			d.Fatalf(x.t, "%s: %v", line, err)
		}
		x.now = x.now.Add(time.Duration(seconds) * time.Second)
		x.svc.Reap()
		return "waited"
	}
	verb, text, _ := strings.Cut(rest, " ")
	db := "d"
	switch verb {
	case "commit", "abort":
		text, db = fmt.Sprintf(`{"%sTransaction": 1}`, verb), "admin"
	case "start", "write":
	default:
		verb, text = "", rest
	}
	cmd, err := bsonxtest.TryParse(strings.NewReplacer(x.times...).Replace(text))
	if err != nil {
		d.Fatalf(x.t, "%s: %v", line, err)
	}
	if v := cmd.Lookup("$db"); !v.IsMissing() {
		db = ""
	}
	reply := x.run(db, x.addressed(cmd, who, verb))
	x.last = reply.Lookup("operationTime")
	return x.outcome(who[:1], reply)
}

// addressed adds the session and transaction arguments to a command.
func (x *transactor) addressed(cmd bsonx.Doc, who, verb string) bsonx.Doc {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	for it := cmd.Iter(); it.Next(); {
		if string(it.Key()) == "getMore" {
			b.Int64("getMore", x.cursors[who[:1]])
			continue
		}
		b.ValueBytes(it.Key(), it.Value())
	}
	if who != "-" {
		b.Doc("lsid", bsonx.NewDoc("id", bsonx.Binary(4, []byte(strings.Repeat(who[:1], 16)))))
	}
	if number, err := strconv.ParseInt(who[1:], 10, 64); err == nil {
		b.Int64("txnNumber", number)
		if verb != "write" {
			b.Bool("autocommit", false)
		}
	}
	if verb == "start" {
		b.Bool("startTransaction", true)
	}
	b.End()
	return b.Bytes()
}

var (
	cursorID = regexp.MustCompile(`cursor (id )?\d+`)
	someTime = regexp.MustCompile(`Timestamp\(\d+, \d+\)`)
)

// outcome formats a reply in one line.
func (x *transactor) outcome(session string, reply bsonx.Doc) string {
	var labels string
	if v := reply.Lookup("errorLabels"); !v.IsMissing() {
		labels = " " + bsonx.FormatShell(v)
	}
	if c := code(reply); c != 0 {
		message := cursorID.ReplaceAllString(reply.Lookup("errmsg").Str(), "cursor ID")
		message = someTime.ReplaceAllString(message, "TIME")
		return fmt.Sprintf("%d %s: %s%s", c, c.Name(), message, labels)
	}
	var out []string
	if c := reply.Lookup("cursor"); !c.IsMissing() {
		x.cursors[session] = c.Doc().Lookup("id").Int64()
		for _, batch := range []string{"firstBatch", "nextBatch"} {
			if v := c.Doc().Lookup(batch); !v.IsMissing() {
				out = append(out, bsonx.FormatShell(v))
			}
		}
		if x.cursors[session] != 0 {
			out = append(out, "…")
		}
	}
	for _, field := range []string{
		"n", "nModified", "upserted", "value", "values", "writeErrors", "nErrors", "numIndexesAfter", "note",
		"transactions", "writeConcernError",
	} {
		if v := reply.Lookup(field); !v.IsMissing() {
			out = append(out, field+": "+bsonx.FormatShell(v))
		}
	}
	if v := reply.Lookup("retriedStmtId"); !v.IsMissing() {
		out = append(out, bsonx.FormatShell(reply.Lookup("lastErrorObject")), "retried: "+bsonx.FormatShell(v))
	}
	if v := reply.Lookup("retriedStmtIds"); !v.IsMissing() {
		out = append(out, "retried: "+bsonx.FormatShell(v))
	}
	if len(out) == 0 {
		return "ok" + labels
	}
	return strings.Join(out, " ") + labels
}

// TestTransactions runs the files of testdata/transactions; see line.
func TestTransactions(t *testing.T) {
	t.Parallel()
	runSessions(t, "testdata/transactions")
}

// TestRetryableWrites runs the files of testdata/retryable; see line.
func TestRetryableWrites(t *testing.T) {
	t.Parallel()
	runSessions(t, "testdata/retryable")
}

func runSessions(t *testing.T, dir string) {
	t.Helper()
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		t.Parallel()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			x := newTransactor(t)
			var out strings.Builder
			for line := range strings.SplitSeq(d.Input, "\n") {
				out.WriteString(strings.TrimSpace(x.line(d, line)) + "\n")
			}
			if n := x.svc.Store.Engine().Stats().TransactionsActive; n != int64(x.svc.Transactions.Stats().Open) {
				fmt.Fprintf(&out, "%d transactions of the storage are left\n", n)
			}
			return out.String()
		})
	})
}
