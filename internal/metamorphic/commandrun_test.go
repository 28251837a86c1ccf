package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/server"
	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/internal/wire"
)

// fault is a violation of a rule for all commands. Two faults of the same kind probably have the
// same cause.
type fault struct{ kind, text string }

func (f *fault) Error() string { return f.kind + ": " + f.text }

const (
	// limitMillis is the time limit of commands without a limit of their own.
	limitMillis = 40
	// strictOver is the processor time that a command may use beyond its limit, on an idle machine.
	strictOver = 250 * time.Millisecond
	// lenientOver is the processor time that a command may use beyond its limit, on a busy machine.
	lenientOver = 3 * time.Second
	// noAnswer is the time after which a command without a reply counts as hanging.
	noAnswer = 30 * time.Second
)

// world is a database with connections that speak the wire protocol, and the cursors that their
// commands left open.
type world struct {
	db       *sheaf.DB
	listener *server.MemoryListener
	conns    [connections]net.Conn
	cursors  []liveCursor
	log      *errorLog
	over     time.Duration
	tally    *commandTally
	buf      []byte
	begun    time.Duration // processor time when the last command was sent
}

// liveCursor is an open cursor, with the arguments that tie it to a session.
type liveCursor struct {
	id       int64
	ns       string
	tailable bool
	session  bson.D
}

// commandTally counts the replies to commands.
type commandTally struct {
	commands, failed, compared, answered, unlike int
	names                                        map[string]int
	slowest                                      time.Duration
	slow                                         string
}

func newWorld(over time.Duration, tally *commandTally) (*world, error) {
	w := &world{log: &errorLog{}, over: over, tally: tally, listener: server.NewMemoryListener("commands")}
	var err error
	w.db, err = sheaf.Open(sheaf.Memory, &sheaf.Options{SlowOperation: -1, TestCommands: true, Logger: slog.New(w.log)})
	if err != nil {
		return nil, err
	}
	go func() { _ = w.db.Serve(context.Background(), w.listener) }()
	for i := range w.conns {
		if w.conns[i], err = w.listener.DialContext(context.Background(), "", ""); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *world) close() {
	for _, c := range w.conns {
		_ = c.Close()
	}
	_ = w.listener.Close()
	_ = w.db.Close()
}

// validateAll is the name of a step, not of a command. The step checks all collections.
const validateAll = "validateAll"

// run runs the first step, or all steps at the same time if they have together set. It returns the
// first fault.
func (w *world) run(steps []step) *fault {
	switch {
	case steps[0].cmd[0].Key == validateAll:
		return w.validate()
	case steps[0].together:
		return w.runTogether(steps)
	}
	return w.runOne(&steps[0])
}

func (w *world) runOne(s *step) *fault {
	cmd := w.resolve(s)
	reply, f := w.timed(s.conn, cmd)
	if s.after != nil {
		if _, f := w.ask(s.conn, s.after); f != nil {
			return f
		}
	}
	if f != nil || reply == nil {
		return f
	}
	w.count(cmd, reply)
	if !succeeded(reply) {
		return nil
	}
	if s.compared && decided(cmd) {
		return w.compare(s.conn, cmd, reply)
	}
	w.remember(cmd, reply)
	return nil
}

// runTogether runs steps at the same time, each on a connection of its own, and returns the first
// fault. Their replies depend on each other, so they are not compared.
func (w *world) runTogether(steps []step) *fault {
	begin := torture.ProcessorTime()
	var cmds []bson.D
	for i := range steps {
		steps[i].conn = i
		cmd := w.resolve(&steps[i])
		body, err := bson.Marshal(cmd)
		if err != nil || len(body) > 1<<18 {
			cmd = bson.D{{"ping", 1}, {"$db", "admin"}}
			body, _ = bson.Marshal(cmd)
		}
		cmds = append(cmds, cmd)
		if err := w.send(i, body); err != nil {
			return w.unanswered(cmd, err)
		}
	}
	for i, cmd := range cmds {
		reply, err := w.receive(i)
		if err != nil {
			return w.unanswered(cmd, err)
		}
		if f := w.judge(cmd, reply); f != nil {
			return f
		}
		w.count(cmd, reply)
		if succeeded(reply) {
			w.remember(cmd, reply)
		}
	}
	for i := range steps {
		if steps[i].after != nil {
			if _, f := w.ask(i, steps[i].after); f != nil {
				return f
			}
		}
	}
	if used := torture.ProcessorTime() - begin; used > connections*limitMillis*time.Millisecond+connections*w.over {
		return &fault{"slow together", fmt.Sprintf("%v of processor time", used)}
	}
	return nil
}

func (w *world) count(cmd bson.D, reply bson.Raw) {
	w.tally.commands++
	if w.tally.names == nil {
		w.tally.names = map[string]int{}
	}
	w.tally.names[cmd[0].Key]++
	if !succeeded(reply) {
		w.tally.failed++
	}
}

// timed does the same as ask. It also returns a fault if the command uses more processor time than
// its limit allows.
func (w *world) timed(conn int, cmd bson.D) (bson.Raw, *fault) {
	begin := torture.ProcessorTime()
	reply, f := w.ask(conn, cmd)
	if f != nil {
		return nil, f
	}
	limit := 1000 * time.Millisecond
	if n, ok := lookup(cmd, "maxTimeMS").(int32); ok && n > 0 {
		limit = time.Duration(n) * time.Millisecond
	}
	used := torture.ProcessorTime() - begin
	if over := used - limit; over > w.tally.slowest {
		w.tally.slowest, w.tally.slow = over, fmt.Sprintf("%.1000s", text(cmd))
	}
	if used > limit+w.over {
		return nil, &fault{"slow " + cmd[0].Key, fmt.Sprintf("%v of processor time with a limit of %v", used, limit)}
	}
	return reply, nil
}

// ask sends a command and reads the reply. It returns neither a reply nor a fault if the command
// cannot be encoded.
func (w *world) ask(conn int, cmd bson.D) (bson.Raw, *fault) {
	body, err := bson.Marshal(cmd)
	if err != nil || len(body) > 1<<20 {
		return nil, nil
	}
	if err := w.send(conn, body); err != nil {
		return nil, w.unanswered(cmd, err)
	}
	raw, err := w.receive(conn)
	if err != nil {
		return nil, w.unanswered(cmd, err)
	}
	return raw, w.judge(cmd, raw)
}

// unanswered returns the fault for a command that got no reply.
func (w *world) unanswered(cmd bson.D, err error) *fault {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return &fault{"closed " + cmd[0].Key, err.Error() + "\n" + w.log.take()}
	}
	stacks := make([]byte, 8<<20)
	// Little processor time means that the machine was busy. Much means that the command computed.
	used := torture.ProcessorTime() - w.begun
	return &fault{
		"hang " + cmd[0].Key,
		fmt.Sprintf("no answer to %.2000s in %v, with %v of processor time\n%s", text(cmd), noAnswer, used,
			stacks[:runtime.Stack(stacks, true)]),
	}
}

func (w *world) send(conn int, body []byte) error {
	out, start := wire.BeginMsg(w.buf[:0], 1, 0, 0)
	out = wire.FinishMsg(append(out, body...), start)
	w.buf = out
	c := w.conns[conn]
	w.begun = torture.ProcessorTime()
	_ = c.SetDeadline(time.Now().Add(noAnswer))
	_, err := c.Write(out)
	return err
}

func (w *world) receive(conn int) (bson.Raw, error) {
	in, err := wire.ReadMessage(w.conns[conn], nil)
	if errors.Is(err, io.EOF) {
		err = errors.New("the connection was closed")
	}
	if err != nil {
		return nil, err
	}
	var m wire.Message
	if err := wire.Parse(&m, in); err != nil {
		return nil, fmt.Errorf("a reply that cannot be read: %w", err)
	}
	return bson.Raw(m.Body), nil
}

// isBug reports whether a code means an internal error.
func isBug(v bson.RawValue) bool {
	code, ok := v.AsInt64OK()
	return ok && (code == 1 || code == 8)
}

// judge looks for internal errors in a reply, and in the log.
func (w *world) judge(cmd bson.D, reply bson.Raw) *fault {
	if at := w.log.take(); at != "" {
		return &fault{"panic at " + firstFrame(at), at}
	}
	if succeeded(reply) && !mayHaveErrors[cmd[0].Key] {
		return nil
	}
	places := []bson.RawValue{
		reply.Lookup("code"), reply.Lookup("writeConcernError", "code"),
		reply.Lookup("executionStats", "errorCode"),
	}
	for _, path := range [][]string{{"writeErrors"}, {"cursor", "firstBatch"}} {
		list, _ := reply.Lookup(path...).ArrayOK()
		errs, _ := list.Values()
		for _, e := range errs {
			if d, ok := e.DocumentOK(); ok {
				places = append(places, d.Lookup("code"))
			}
		}
	}
	if slices.ContainsFunc(places, isBug) {
		return &fault{"internal error of " + cmd[0].Key, fmt.Sprintf("%.2000s", text(reply))}
	}
	return nil
}

// mayHaveErrors are the commands that succeed with errors in the reply.
var mayHaveErrors = map[string]bool{
	"insert": true, "update": true, "delete": true, "bulkWrite": true,
	"explain": true, "commitTransaction": true,
}

func succeeded(reply bson.Raw) bool {
	ok, _ := reply.Lookup("ok").AsInt64OK()
	return ok == 1
}

// compare runs the command again without indexes, and compares the replies.
func (w *world) compare(conn int, cmd bson.D, reply bson.Raw) *fault {
	w.tally.compared++
	scan, f := w.timed(conn, slices.Insert(slices.Clone(cmd), 1, hintNatural))
	if f != nil || scan == nil || !succeeded(scan) {
		return f
	}
	if id, _ := reply.Lookup("cursor", "id").AsInt64OK(); id != 0 {
		return nil
	}
	w.tally.answered++
	got, want := answerText(cmd, reply), answerText(cmd, scan)
	if got == want {
		return nil
	}
	w.tally.unlike++
	plan, _ := w.ask(conn, bson.D{
		{"explain", withoutEnvelope(cmd)},
		{"verbosity", "queryPlanner"},
		{"$db", commandDB},
	})
	return &fault{
		"index and scan differ in " + cmd[0].Key,
		fmt.Sprintf("with indexes alone:\n%s\nwithout alone:\n%s\nplan %s", lacking(got, want), lacking(want, got),
			plan.Lookup("queryPlanner", "winningPlan")),
	}
}

// lacking returns the lines of a that are missing in b.
func lacking(a, b string) string {
	of := strings.Split(b, "\n")
	return strings.Join(slices.DeleteFunc(strings.Split(a, "\n"),
		func(line string) bool { return slices.Contains(of, line) }), "\n")
}

// decided reports whether there is only one right answer to a read.
func decided(cmd bson.D) bool {
	if cmd[0].Key == "distinct" && cmd[0].Value == "co" {
		return false // distinct returns the first of several values that are equal under a collation
	}
	if isNear(cmd) || isSearch(cmd) || strings.Contains(text(cmd), `"$rand"`) ||
		strings.Contains(text(cmd), `"$sampleRate"`) {
		return false
	}
	if lookup(cmd, "limit") == nil && lookup(cmd, "skip") == nil {
		return true
	}
	sort, _ := lookup(cmd, "sort").(bson.D)
	return lookup(sort, "_id") != nil
}

func withoutEnvelope(cmd bson.D) bson.D {
	return slices.DeleteFunc(slices.Clone(cmd), func(e bson.E) bool { return envelope[e.Key] })
}

// envelope are the arguments that tie a command to a session.
var envelope = map[string]bool{
	"$db": true, "lsid": true, "txnNumber": true, "autocommit": true,
	"startTransaction": true, "maxTimeMS": true,
}

// answerText returns the part of a reply that must be the same for every plan of the command.
func answerText(cmd bson.D, reply bson.Raw) string {
	switch cmd[0].Key {
	case "count":
		return text(reply.Lookup("n"))
	case "distinct":
		var d struct{ Values bson.A }
		_ = bson.Unmarshal(reply, &d)
		var out []string
		for _, v := range d.Values {
			out = append(out, text(oneNumberType(bson.D{{"v", v}})))
		}
		slices.Sort(out)
		return strings.Join(out, "\n")
	}
	var d struct {
		Cursor struct{ FirstBatch []bson.Raw }
	}
	_ = bson.Unmarshal(reply, &d)
	var out []string
	for _, doc := range d.Cursor.FirstBatch {
		if cmd[0].Value == "p" {
			var doc2 bson.D
			_ = bson.Unmarshal(doc, &doc2)
			out = append(out, canonicalDoc(doc2))
			continue
		}
		out = append(out, canonical(doc))
	}
	if cmd[0].Value == "p" || lookup(cmd, "sort") == nil {
		slices.Sort(out)
	}
	return strings.Join(out, "\n")
}

// remember keeps the cursor that a command has opened.
func (w *world) remember(cmd bson.D, reply bson.Raw) {
	id, ok := reply.Lookup("cursor", "id").Int64OK()
	if !ok || id == 0 || cmd[0].Key == "getMore" || len(w.cursors) > 40 {
		return
	}
	ns, _ := reply.Lookup("cursor", "ns").StringValueOK()
	c := liveCursor{id: id, ns: ns, tailable: strings.Contains(text(cmd), `"$changeStream"`) ||
		lookup(cmd, "tailable") != nil}
	for _, e := range cmd {
		if envelope[e.Key] && e.Key != "$db" && e.Key != "startTransaction" && e.Key != "maxTimeMS" {
			c.session = append(c.session, e)
		}
	}
	w.cursors = append(w.cursors, c)
}

// resolve returns the command of a step. It inserts an open cursor if the step wants one.
func (w *world) resolve(s *step) bson.D {
	if s.live == 0 || len(w.cursors) == 0 {
		return s.cmd
	}
	at := s.live % len(w.cursors)
	c := w.cursors[at]
	db, coll, _ := strings.Cut(c.ns, ".")
	cmd := withoutEnvelope(s.cmd)
	for i, e := range cmd {
		switch e.Key {
		case "getMore":
			cmd[i].Value = c.id
		case "collection", "killCursors":
			cmd[i].Value = coll
		case "cursors":
			cmd[i].Value = bson.A{c.id}
		}
	}
	if c.tailable && cmd[0].Key == "getMore" {
		cmd = append(cmd, bson.E{"maxTimeMS", int32(1)})
	}
	if cmd[0].Key == "killCursors" {
		w.cursors = slices.Delete(w.cursors, at, at+1)
	}
	return append(append(cmd, c.session...), bson.E{"$db", db})
}

// validate checks all collections at the end of a round.
func (w *world) validate() *fault {
	reply, f := w.ask(0, bson.D{
		{"listCollections", 1},
		{"nameOnly", true},
		{"$db", commandDB},
	})
	if f != nil || !succeeded(reply) {
		return f
	}
	var list struct {
		Cursor struct{ FirstBatch []struct{ Name, Type string } }
	}
	_ = bson.Unmarshal(reply, &list)
	for _, c := range list.Cursor.FirstBatch {
		if c.Type != "collection" {
			continue
		}
		reply, f := w.ask(0, bson.D{
			{"validate", c.Name},
			{"full", true},
			{"$db", commandDB},
		})
		if f != nil {
			return f
		}
		if valid, ok := reply.Lookup("valid").BooleanOK(); ok && !valid {
			return &fault{"not valid", fmt.Sprintf("%s: %.2000s", c.Name, text(reply.Lookup("errors")))}
		}
	}
	return nil
}

// errorLog keeps the errors of the log, which are panics and other unexpected errors.
type errorLog struct {
	mu  sync.Mutex
	all string
}

func (l *errorLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (l *errorLog) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l *errorLog) WithGroup(string) slog.Handler                    { return l }

func (l *errorLog) Handle(_ context.Context, r slog.Record) error {
	if r.Level < slog.LevelError {
		return nil // the command setParameter changes which levels are enabled
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all += r.Message
	r.Attrs(func(a slog.Attr) bool { l.all += "\n" + a.Key + ": " + a.Value.String(); return true })
	return nil
}

func (l *errorLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = ""
	return all
}

var frame = regexp.MustCompile(`/internal/(\S+\.go:\d+)`)

// firstFrame returns the position of a logged panic.
func firstFrame(logged string) string {
	_, behind, ok := strings.Cut(logged, "runtime/panic.go")
	if !ok {
		behind = logged
	}
	if m := frame.FindStringSubmatch(behind); m != nil {
		return m[1]
	}
	return fmt.Sprintf("%.100s", logged)
}
