package command_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/dispatch"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/wire"
)

// harness runs commands on a service without data.
type harness struct {
	t    *testing.T
	svc  *command.Service
	conn *command.Conn
}

func newHarness(t *testing.T, defs ...command.Definition) *harness {
	t.Helper()
	svc, err := commands.NewService(command.Deps{TestCommands: true, Definitions: defs})
	if err != nil {
		t.Fatal(err)
	}
	return &harness{t, svc, svc.NewConn(1, "127.0.0.1:5", "127.0.0.1:27017", true)}
}

// run sends a command to a database and returns the reply. If db is empty, the command has no $db.
func (h *harness) run(db string, cmd bsonx.Doc) bsonx.Doc {
	h.t.Helper()
	return reply(h.t, h.send(db, cmd, 0).Out)
}

func (h *harness) send(db string, cmd bsonx.Doc, flags wire.Flags) dispatch.Result {
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	b.Fields(cmd)
	if db != "" {
		b.String("$db", db)
	}
	b.End()
	return dispatch.Handle(context.Background(), h.svc, h.conn, &wire.Message{Flags: flags, Body: b.Bytes()}, nil)
}

func reply(t *testing.T, out []byte) bsonx.Doc {
	t.Helper()
	var m wire.Message
	if err := wire.Parse(&m, out); err != nil {
		t.Fatalf("the reply is malformed: %v", err)
	}
	return m.Body
}

func code(d bsonx.Doc) mongoerr.Code {
	v := d.Lookup("code")
	if v.IsMissing() {
		return 0
	}
	return mongoerr.Code(v.Int32())
}

// echo is a command that refuses unknown fields and has one field of each kind.
func echo() command.Definition {
	return command.Definition{
		Name: "echo", Aliases: []string{"ECHO"},
		Properties: command.Properties{Writes: feature.Yes, Transactions: feature.No, StableAPI: feature.Yes},
		Fields: []command.Field{
			{Name: "need", Type: command.String, Required: true},
			{Name: "limit", Type: command.SafeInt, Check: command.AtLeast(0)},
			{Name: "docs", Type: command.Array, Sequence: true},
			{Name: "any"},
			{Name: "odd", Type: command.SafeBool, Unstable: true},
		},
		Run: func(_ context.Context, req *command.Request, reply *bsonx.Builder) error {
			if req.String("need") == "error" {
				return mongoerr.New(mongoerr.BadValue, "as asked for")
			}
			reply.String("need", req.String("need"))
			reply.Int64("limit", req.Int64("limit", -1))
			reply.Bool("hasAny", req.Has("any"))
			reply.Int32("docs", int32(req.DocumentCount("docs")))
			return nil
		},
	}
}

func TestFieldRules(t *testing.T) {
	h := newHarness(t, echo())
	base := []any{"echo", 1, "need", "x"}
	with := func(more ...any) bsonx.Doc { return bsonx.NewDoc(append(append([]any{}, base...), more...)...) }
	for name, c := range map[string]struct {
		cmd  bsonx.Doc
		code mongoerr.Code
		text string
	}{
		"plain":             {with(), 0, ""},
		"alias":             {bsonx.NewDoc("ECHO", 1, "need", "x"), 0, ""},
		"missing":           {bsonx.NewDoc("echo", 1), 40414, "BSON field 'echo.need' is missing but a required field"},
		"required null":     {bsonx.NewDoc("echo", 1, "need", nil), 40414, ""},
		"unknown":           {with("foo", 1), 40415, "BSON field 'echo.foo' is an unknown field."},
		"unknown dollar":    {with("$foo", 1), 40415, ""},
		"wrong type":        {with("limit", "x"), 14, "BSON field 'echo.limit' is the wrong type 'string', expected types '[long, int, decimal, double]'"},
		"wrong single type": {bsonx.NewDoc("echo", 1, "need", 5), 14, "BSON field 'echo.need' is the wrong type 'int', expected type 'string'"},
		"null is absent":    {with("limit", nil), 0, ""},
		"duplicate":         {with("limit", 1, "limit", 2), 40413, "BSON field 'echo.limit' is a duplicate field"},
		"duplicate generic": {with("comment", 1, "comment", 2), 40413, ""},
		"range":             {with("limit", -1), 2, "BSON field 'limit' value must be >= 0, actual value '-1'"},
		"limit as double":   {with("limit", 2.7), 0, ""},
		"API version":       {with("apiVersion", "2"), 322, ""},
		"API type":          {with("apiVersion", 1), 14, ""},
		"strict alone":      {with("apiStrict", true), 4886600, ""},
		"strict":            {with("apiVersion", "1", "apiStrict", true), 0, ""},
		"strict field":      {with("apiVersion", "1", "apiStrict", true, "odd", true), 323, ""},
		"strict command":    {bsonx.NewDoc("serverStatus", 1, "apiVersion", "1", "apiStrict", true), 323, ""},
		"unknown command":   {bsonx.NewDoc("nosuch", 1), 59, "no such command: 'nosuch'"},
		"known command":     {bsonx.NewDoc("dbHash", 1), 238, ""},
		"absent command":    {bsonx.NewDoc("atlasVersion", 1), 59, ""},
		"admin only": {
			bsonx.NewDoc("getParameter", "*"), 13,
			"getParameter may only be run against the admin database.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &harness{t, h.svc, h.svc.NewConn(2, "", "", true)}
			got := h.run("test", c.cmd)
			if code(got) != c.code {
				t.Fatalf("code %d, want %d: %s", code(got), c.code, command.FormatDoc(got))
			}
			if msg := got.Lookup("errmsg"); c.text != "" && msg.Str() != c.text {
				t.Errorf("errmsg %q", msg.Str())
			}
			if ok := got.Lookup("ok").Double(); (ok == 1) != (c.code == 0) {
				t.Errorf("ok is %v", ok)
			}
		})
	}
}

func TestDatabaseRules(t *testing.T) {
	h := newHarness(t)
	if got := h.run("", bsonx.NewDoc("ping", 1)); code(got) != 40571 {
		t.Errorf("without $db: %s", command.FormatDoc(got))
	}
	for _, db := range []string{"a.b", "a b", "a/b", `a\b`, "a$b", strings.Repeat("x", 64)} {
		if got := h.run(db, bsonx.NewDoc("ping", 1)); code(got) != mongoerr.InvalidNamespace {
			t.Errorf("database %q: %s", db, command.FormatDoc(got))
		}
	}
}

func TestGenericArguments(t *testing.T) {
	h := newHarness(t, echo(), command.Definition{
		Name: "readIt", Read: true, Snapshot: true, Loose: true,
		Run: func(context.Context, *command.Request, *bsonx.Builder) error { return nil },
	})
	doc := bsonx.NewDoc
	uuid := bsonx.Binary(4, make([]byte, 16))
	lsid := doc("id", uuid)
	for name, c := range map[string]struct {
		cmd  bsonx.Doc
		code mongoerr.Code
	}{
		"maxTimeMS":                {doc("ping", 1, "maxTimeMS", 1000), 0},
		"maxTimeMS negative":       {doc("ping", 1, "maxTimeMS", -1), 2},
		"maxTimeMS fraction":       {doc("ping", 1, "maxTimeMS", 1.5), 9},
		"maxTimeMS too large":      {doc("ping", 1, "maxTimeMS", int64(1)<<31), 2},
		"maxTimeMS text":           {doc("ping", 1, "maxTimeMS", "x"), 14},
		"read concern local":       {doc("ping", 1, "readConcern", doc("level", "local")), 0},
		"read concern empty":       {doc("ping", 1, "readConcern", doc()), 0},
		"read concern unknown":     {doc("readIt", 1, "readConcern", doc("level", "foo")), 2},
		"read concern field":       {doc("readIt", 1, "readConcern", doc("lvl", "local")), 40415},
		"read concern type":        {doc("readIt", 1, "readConcern", 5), 14},
		"read concern majority":    {doc("readIt", 1, "readConcern", doc("level", "majority")), 0},
		"read concern unsupported": {doc("ping", 1, "readConcern", doc("level", "majority")), 72},
		"read concern snapshot":    {doc("readIt", 1, "readConcern", doc("level", "snapshot")), 123},
		"read concern linear":      {doc("readIt", 1, "readConcern", doc("level", "linearizable")), 123},
		"at without snapshot":      {doc("readIt", 1, "readConcern", doc("atClusterTime", bsonx.Timestamp(1, 1))), 72},
		"after cluster time":       {doc("readIt", 1, "readConcern", doc("afterClusterTime", bsonx.Timestamp(1, 1))), 20},
		"w 1":                      {doc("echo", 1, "need", "x", "writeConcern", doc("w", 1)), 0},
		"w majority":               {doc("echo", 1, "need", "x", "writeConcern", doc("w", "majority")), 0},
		"w 2":                      {doc("echo", 1, "need", "x", "writeConcern", doc("w", 2)), 2},
		"w tag":                    {doc("echo", 1, "need", "x", "writeConcern", doc("w", "dc")), 2},
		"w negative":               {doc("echo", 1, "need", "x", "writeConcern", doc("w", -1)), 9},
		"w bool":                   {doc("echo", 1, "need", "x", "writeConcern", doc("w", true)), 9},
		"j type":                   {doc("echo", 1, "need", "x", "writeConcern", doc("j", "x")), 14},
		"j and fsync":              {doc("echo", 1, "need", "x", "writeConcern", doc("j", true, "fsync", true)), 9},
		"write concern field":      {doc("echo", 1, "need", "x", "writeConcern", doc("foo", 1)), 40415},
		"write concern on a read":  {doc("ping", 1, "writeConcern", doc("w", 1)), 72},
		"read preference": {doc("ping", 1, "$readPreference",
			doc("mode", "nearest", "tags", bsonx.NewArray(doc("a", "b")))), 0},
		"read preference mode": {doc("ping", 1, "$readPreference", doc("mode", "foo")), 2},
		"read preference tags": {doc("ping", 1, "$readPreference",
			doc("mode", "primary", "tags", bsonx.NewArray(doc("a", "b")))), 2},
		"staleness":              {doc("ping", 1, "$readPreference", doc("mode", "secondary", "maxStalenessSeconds", 10)), 160},
		"lsid":                   {doc("ping", 1, "lsid", lsid), 0},
		"lsid type":              {doc("ping", 1, "lsid", 5), 14},
		"lsid id type":           {doc("ping", 1, "lsid", doc("id", 5)), 14},
		"lsid subtype":           {doc("ping", 1, "lsid", doc("id", bsonx.Binary(0, make([]byte, 16)))), 14},
		"lsid without id":        {doc("ping", 1, "lsid", doc()), 40414},
		"lsid field":             {doc("ping", 1, "lsid", doc("id", uuid, "x", 1)), 40415},
		"txnNumber":              {doc("echo", 1, "need", "x", "lsid", lsid, "txnNumber", int64(1)), 20},
		"txnNumber without lsid": {doc("echo", 1, "need", "x", "txnNumber", int64(1)), 72},
		"txnNumber negative":     {doc("echo", 1, "need", "x", "lsid", lsid, "txnNumber", int64(-1)), 72},
		"txnNumber type":         {doc("echo", 1, "need", "x", "lsid", lsid, "txnNumber", 1), 14},
		"autocommit alone":       {doc("echo", 1, "need", "x", "autocommit", false), 72},
		"autocommit true":        {doc("echo", 1, "need", "x", "lsid", lsid, "txnNumber", int64(1), "autocommit", true), 72},
		"transaction of a ping":  {doc("ping", 1, "lsid", lsid, "txnNumber", int64(1), "autocommit", true), 0},
		"cluster time":           {doc("ping", 1, "$clusterTime", doc("clusterTime", bsonx.Timestamp(1, 1))), 0},
		"comment":                {doc("ping", 1, "comment", doc("a", 1)), 0},
		"drivers' own":           {doc("ping", 1, "$client", doc(), "$audit", doc(), "helloOk", true), 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := &harness{t, h.svc, h.svc.NewConn(2, "", "", true)}
			if got := h.run("admin", c.cmd); code(got) != c.code {
				t.Errorf("code %d, want %d: %s", code(got), c.code, command.FormatDoc(got))
			}
		})
	}
}

func TestRunOutcomes(t *testing.T) {
	result := map[string]func(ctx context.Context, req *command.Request) error{
		"panics": func(context.Context, *command.Request) error { panic("oops") },
		"breaks": func(context.Context, *command.Request) error { return errors.New("disk on fire") },
		"waits": func(ctx context.Context, _ *command.Request) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"labels": func(context.Context, *command.Request) error {
			return mongoerr.New(mongoerr.DuplicateKey, "E11000").WithLabel("L").
				WithInfo(bsonx.NewDoc("keyValue", bsonx.NewDoc("a", 1)))
		},
		"concerned": func(_ context.Context, req *command.Request) error {
			req.Reply.WriteConcernError = mongoerr.New(mongoerr.UnsatisfiableWriteConcern, "not enough members")
			return nil
		},
	}
	var defs []command.Definition
	for name, fn := range result {
		defs = append(defs, command.Definition{
			Name: name,
			Run: func(ctx context.Context, req *command.Request, reply *bsonx.Builder) error {
				reply.StartDocField("half")
				return fn(ctx, req)
			},
		})
	}
	h := newHarness(t, defs...)
	for name, want := range map[string]mongoerr.Code{
		"panics": mongoerr.InternalError, "breaks": mongoerr.InternalError, "waits": mongoerr.MaxTimeMSExpired,
		"labels": mongoerr.DuplicateKey,
	} {
		got := h.run("test", bsonx.NewDoc(name, 1, "maxTimeMS", 5))
		if code(got) != want || !got.Lookup("half").IsMissing() {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
	}
	got := h.run("test", bsonx.NewDoc("labels", 1))
	if got.Lookup("errorLabels").Doc().Index(0).Str() != "L" || got.Lookup("keyValue").IsMissing() {
		t.Errorf("labels: %s", command.FormatDoc(got))
	}
	got = h.run("test", bsonx.NewDoc("concerned", 1))
	if got.Lookup("ok").Double() != 1 || got.Lookup("writeConcernError").Doc().Lookup("code").
		Int32() != int32(mongoerr.UnsatisfiableWriteConcern) {
		t.Errorf("concerned: %s", command.FormatDoc(got))
	}
	if got := h.run("test", bsonx.NewDoc("ping", 1)); code(got) != 0 {
		t.Errorf("after all that: %s", command.FormatDoc(got))
	}
}

func TestMoreToComeGetsNoReply(t *testing.T) {
	h := newHarness(t)
	for _, name := range []string{"ping", "nosuch"} {
		if res := h.send("test", bsonx.NewDoc(name, 1), wire.FlagMoreToCome); len(res.Out) != 0 {
			t.Errorf("%s was answered", name)
		}
	}
}

func TestKillOp(t *testing.T) {
	started := make(chan int64, 1)
	h := newHarness(t, command.Definition{
		Name: "sleep",
		Run: func(ctx context.Context, req *command.Request, _ *bsonx.Builder) error {
			started <- req.Op.ID()
			<-ctx.Done()
			return ctx.Err()
		},
	})
	done := make(chan bsonx.Doc)
	go func() { done <- h.run("test", bsonx.NewDoc("sleep", 1)) }()
	id := <-started
	other := &harness{t, h.svc, h.svc.NewConn(2, "", "", true)}
	ops := other.run("admin", bsonx.NewDoc("currentOp", 1)).Lookup("inprog").Doc().Values()
	if len(ops) != 2 {
		t.Fatalf("%d operations run", len(ops))
	}
	other.run("admin", bsonx.NewDoc("killOp", 1, "op", id))
	if got := <-done; code(got) != 11601 {
		t.Errorf("the killed command answered %s", command.FormatDoc(got))
	}
}

func TestHello(t *testing.T) {
	h := newHarness(t)
	client := bsonx.NewDoc("driver", bsonx.NewDoc("name", "go", "version", "2"), "os", bsonx.NewDoc("type", "linux"),
		"application", bsonx.NewDoc("name", "app"))
	got := h.run("admin", bsonx.NewDoc("isMaster", 1, "helloOk", true, "client", client,
		"compression", bsonx.NewArray("lz9", "zstd", "snappy"), "backpressure", "2"))
	for _, field := range []string{
		"helloOk", "ismaster", "topologyVersion", "maxWireVersion",
		"logicalSessionTimeoutMinutes", "connectionId",
	} {
		if got.Lookup(field).IsMissing() {
			t.Errorf("%s is missing: %s", field, command.FormatDoc(got))
		}
	}
	if c := got.Lookup("compression").Doc(); c.Len() != 2 || c.Index(0).Str() != "zstd" {
		t.Errorf("compression %s", command.FormatDoc(c))
	}
	if h.conn.ClientApp != "app" {
		t.Errorf("application %q", h.conn.ClientApp)
	}
	if got := h.run("admin",
		bsonx.NewDoc("hello", 1, "client", client)); code(got) != mongoerr.ClientMetadataCannotBeMutated {
		t.Errorf("second handshake: %s", command.FormatDoc(got))
	}
}

func TestClientMetadata(t *testing.T) {
	ok := bsonx.NewDoc("name", "d", "version", "1")
	system := bsonx.NewDoc("type", "linux")
	for name, c := range map[string]struct {
		client bsonx.Doc
		code   mongoerr.Code
	}{
		"no driver": {bsonx.NewDoc("os", system), 183},
		"no name":   {bsonx.NewDoc("driver", bsonx.NewDoc("version", "1"), "os", system), 183},
		"no os":     {bsonx.NewDoc("driver", ok), 183},
		"long app": {bsonx.NewDoc("driver", ok, "os", system, "application",
			bsonx.NewDoc("name", strings.Repeat("a", 129))), 184},
		"too large": {bsonx.NewDoc("driver", ok, "os", system, "x", strings.Repeat("a", 513)), 185},
		"wrong":     {bsonx.NewDoc("driver", 1, "os", system), 14},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newHarness(t).run("admin", bsonx.NewDoc("hello", 1, "client", c.client)); code(got) != c.code {
				t.Errorf("code %d, want %d: %s", code(got), c.code, command.FormatDoc(got))
			}
		})
	}
}

func TestAwaitableHello(t *testing.T) {
	h := newHarness(t)
	version := h.run("admin", bsonx.NewDoc("hello", 1)).Lookup("topologyVersion")
	process := version.Doc().Lookup("processId")
	tv := func(process bsonx.Value, counter int64) bsonx.Doc {
		return bsonx.NewDoc("processId", process, "counter", counter)
	}
	for name, c := range map[string]struct {
		args []any
		code mongoerr.Code
	}{
		"only version": {[]any{"topologyVersion", version}, 51760},
		"only wait":    {[]any{"maxAwaitTimeMS", 5}, 51760},
		"negative":     {[]any{"topologyVersion", version, "maxAwaitTimeMS", -1}, 51759},
		"future":       {[]any{"topologyVersion", tv(process, 9), "maxAwaitTimeMS", 5}, 31382},
		"malformed":    {[]any{"topologyVersion", bsonx.NewDoc("counter", int64(0)), "maxAwaitTimeMS", 5}, 40414},
		"waits":        {[]any{"topologyVersion", version, "maxAwaitTimeMS", 5}, 0},
		"other server": {[]any{"topologyVersion", tv(bsonx.ObjectID([12]byte{}), 9), "maxAwaitTimeMS", 60_000}, 0},
	} {
		if got := h.run("admin", bsonx.NewDoc(append([]any{"hello", 1}, c.args...)...)); code(got) != c.code {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
	}

	done := make(chan bsonx.Doc)
	go func() {
		done <- h.run("admin", bsonx.NewDoc("hello", 1, "topologyVersion", version, "maxAwaitTimeMS", 60_000))
	}()
	time.Sleep(10 * time.Millisecond)
	h.svc.Stop()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a stop does not wake a waiting hello")
	}
}

func TestFailCommand(t *testing.T) {
	h := newHarness(t)
	set := func(mode any, data ...any) {
		t.Helper()
		got := h.run("admin", bsonx.NewDoc("configureFailPoint", "failCommand", "mode", mode,
			"data", bsonx.NewDoc(data...)))
		if code(got) != 0 {
			t.Fatal(command.FormatDoc(got))
		}
	}
	commands := bsonx.NewArray("ping")
	set(bsonx.NewDoc("times", 2), "failCommands", commands, "errorCode", 91, "errorLabels", bsonx.NewArray("L"))
	for i, want := range []mongoerr.Code{91, 91, 0} {
		if got := h.run("test", bsonx.NewDoc("ping", 1)); code(got) != want {
			t.Errorf("run %d: %s", i, command.FormatDoc(got))
		}
	}
	set("alwaysOn", "failCommands", commands, "closeConnection", true)
	if res := h.send("test", bsonx.NewDoc("ping", 1), 0); !res.Close || len(res.Out) != 0 {
		t.Error("the connection stays open")
	}
	set("alwaysOn", "failCommands", commands, "writeConcernError", bsonx.NewDoc("code", 91, "errmsg", "x"))
	if got := h.run("test", bsonx.NewDoc("ping", 1)); got.Lookup("writeConcernError").IsMissing() {
		t.Error(command.FormatDoc(got))
	}
	set("alwaysOn", "failCommands", commands, "blockConnection", true, "blockTimeMS", 20)
	if start := time.Now(); code(h.run("test", bsonx.NewDoc("ping", 1))) != 0 ||
		time.Since(start) < 20*time.Millisecond {
		t.Error("not blocked")
	}
	set("off")
	if got := h.run("test", bsonx.NewDoc("ping", 1)); code(got) != 0 {
		t.Error(command.FormatDoc(got))
	}
	h.svc.TestCommands = false
	if got := h.run("admin", bsonx.NewDoc("configureFailPoint", "failCommand", "mode", "off")); code(got) != 59 {
		t.Errorf("without test commands: %s", command.FormatDoc(got))
	}
}

func TestParameters(t *testing.T) {
	h := newHarness(t)
	for name, c := range map[string]struct {
		cmd  bsonx.Doc
		code mongoerr.Code
	}{
		"one":         {bsonx.NewDoc("getParameter", 1, "featureCompatibilityVersion", 1), 0},
		"all":         {bsonx.NewDoc("getParameter", "*"), 0},
		"all details": {bsonx.NewDoc("getParameter", bsonx.NewDoc("allParameters", true, "showDetails", true)), 0},
		"unknown":     {bsonx.NewDoc("getParameter", 1, "foo", 1), 72},
		"none":        {bsonx.NewDoc("getParameter", 1), 72},
		"set":         {bsonx.NewDoc("setParameter", 1, "cursorTimeoutMillis", 5000), 0},
		"set text":    {bsonx.NewDoc("setParameter", 1, "cursorTimeoutMillis", "x"), 2},
		"set unknown": {bsonx.NewDoc("setParameter", 1, "foo", 1), 72},
		"set none":    {bsonx.NewDoc("setParameter", 1), 72},
		"set fixed":   {bsonx.NewDoc("setParameter", 1, "maxSessions", 1), 20},
		"set name":    {bsonx.NewDoc("setParameter", 1, command.QueryFrameworkParam, "trySbeEngine"), 0},
		"set other":   {bsonx.NewDoc("setParameter", 1, command.QueryFrameworkParam, "foo"), 2},
		"set number":  {bsonx.NewDoc("setParameter", 1, command.QueryFrameworkParam, 5), 2},
		"set bool":    {bsonx.NewDoc("setParameter", 1, command.QueryFrameworkParam, true), 2},
	} {
		if got := h.run("admin", c.cmd); code(got) != c.code {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
	}
}

// TestFixedParameters checks that setParameter cannot change the same parameters as in MongoDB.
func TestFixedParameters(t *testing.T) {
	h := newHarness(t)
	// In MongoDB the first four can only be set at startup. featureCompatibilityVersion has its own
	// command.
	fixed := []string{
		"authenticationMechanisms", "enableTestCommands", "localLogicalSessionTimeoutMinutes", "maxSessions",
		"featureCompatibilityVersion",
	}
	reply := h.run("admin", bsonx.NewDoc("getParameter", bsonx.NewDoc("allParameters", true, "showDetails", true)))
	for it := reply.Iter(); it.Next(); {
		e := it.Elem()
		if e.Value.Type != bsonx.TypeDocument {
			continue
		}
		settable := e.Value.Doc().Lookup("settableAtRuntime")
		if settable.IsMissing() {
			continue
		}
		if name := string(e.Key); settable.Bool() == slices.Contains(fixed, name) {
			t.Errorf("%s: settable %v", name, settable.Bool())
		}
	}
}

func TestDiagnosticCommands(t *testing.T) {
	h := newHarness(t)
	for field, cmd := range map[string]bsonx.Doc{
		"versionArray": bsonx.NewDoc("buildInfo", 1), "system": bsonx.NewDoc("hostInfo", 1),
		"commands": bsonx.NewDoc("listCommands", 1),
		"authInfo": bsonx.NewDoc("connectionStatus", 1, "showPrivileges", true), "you": bsonx.NewDoc("whatsmyuri", 1),
		"argv": bsonx.NewDoc("getCmdLineOpts", 1), "log": bsonx.NewDoc("getLog", "global"),
		"names":           bsonx.NewDoc("getLog", "*"),
		"opcounters":      bsonx.NewDoc("serverStatus", 1),
		"cursorsNotFound": bsonx.NewDoc("killCursors", "c", "cursors", bsonx.NewArray(int64(5))),
		"timeoutMinutes":  bsonx.NewDoc("startSession", 1), "was": bsonx.NewDoc("profile", 0),
	} {
		if got := h.run("admin", cmd); code(got) != 0 || got.Lookup(field).IsMissing() {
			t.Errorf("%s: %s", field, command.FormatDoc(got))
		}
	}
	if got := h.run("admin", bsonx.NewDoc("serverStatus", 1, "metrics", 0)); !got.Lookup("metrics").IsMissing() {
		t.Error("an excluded section is there")
	}
}

func TestSessionCommands(t *testing.T) {
	h := newHarness(t)
	id := h.run("admin", bsonx.NewDoc("startSession", 1)).Lookup("id")
	if n := h.svc.Sessions.Len(); n != 1 {
		t.Fatalf("%d sessions", n)
	}
	lsid := bsonx.NewArray(bsonx.NewDoc("id", id.Doc().Lookup("id")))
	for _, name := range []string{
		"refreshSessions", "endSessions", "killSessions",
		"killAllSessions", "killAllSessionsByPattern",
	} {
		arg := lsid
		if strings.HasPrefix(name, "killAll") {
			arg = bsonx.NewArray()
		}
		if got := h.run("admin", bsonx.NewDoc(name, arg)); code(got) != 0 {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
		if got := h.run("admin", bsonx.NewDoc(name, "x")); code(got) != 14 {
			t.Errorf("%s of a string: %s", name, command.FormatDoc(got))
		}
	}
	if n := h.svc.Sessions.Len(); n != 0 {
		t.Errorf("%d sessions are left", n)
	}
}

func TestShutdownIsLocal(t *testing.T) {
	h := newHarness(t)
	if got := h.run("admin", bsonx.NewDoc("shutdown", 1)); code(got) != mongoerr.IllegalOperation {
		t.Errorf("embedded: %s", command.FormatDoc(got))
	}
	h.conn.LocalOnly = false
	if got := h.run("admin", bsonx.NewDoc("shutdown", 1)); code(got) != mongoerr.Unauthorized {
		t.Errorf("from elsewhere: %s", command.FormatDoc(got))
	}
}

// TestTable checks rules that all definitions must follow.
func TestTable(t *testing.T) {
	for _, d := range newHarness(t).svc.Commands.Definitions() {
		if d.Status == feature.Supported && !d.Hidden && d.Help == "" {
			t.Errorf("%s has no help", d.Name)
		}
		for i, f := range d.Fields {
			if slices.ContainsFunc(d.Fields[:i], func(other command.Field) bool { return other.Name == f.Name }) {
				t.Errorf("%s.%s is defined twice", d.Name, f.Name)
			}
			if g := command.FindGeneric([]byte(f.Name)); g >= 0 {
				t.Errorf("%s.%s is a generic argument", d.Name, f.Name)
			}
		}
	}
}

func BenchmarkHandlePing(b *testing.B) {
	svc, err := commands.NewService(command.Deps{})
	if err != nil {
		b.Fatal(err)
	}
	conn := svc.NewConn(1, "", "", true)
	lsid := bsonx.NewDoc("id", bsonx.Binary(4, make([]byte, 16)))
	msg := &wire.Message{Body: bsonx.NewDoc("ping", 1, "lsid", lsid, "$db", "admin")}
	out := make([]byte, 0, 1024)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		out = dispatch.Handle(ctx, svc, conn, msg, out[:0]).Out
	}
}

// TestExhaustStreams checks that, with exhaustAllowed, only hello and getMore stream replies. All
// other commands reply once.
func TestExhaustStreams(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	for _, d := range h.svc.Commands.Definitions() {
		if d.Status != feature.Supported || d.Name == "shutdown" || d.Name == "fsync" {
			continue
		}
		for _, flags := range []wire.Flags{wire.FlagExhaustAllowed, wire.FlagExhaustAllowed | wire.FlagMoreToCome} {
			res := h.send("admin", bsonx.NewDoc(d.Name, 1), flags)
			if res.Next != nil {
				t.Errorf("%s streams", d.Name)
			}
			if answered := len(res.Out) > 0; answered != (flags&wire.FlagMoreToCome == 0) {
				t.Errorf("%s, flags %x: %d bytes of reply", d.Name, flags, len(res.Out))
			}
		}
	}
}
