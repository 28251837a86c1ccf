package command_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/command/ddl"
	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/oplog"
	"github.com/sheafdb/sheaf/internal/schema"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/mem"
	"github.com/sheafdb/sheaf/internal/table"
)

// newMember returns a harness for a service that is a member of a replica set.
func newMember(t *testing.T, defs ...command.Definition) *harness {
	t.Helper()
	svc, err := commands.NewService(command.Deps{
		TestCommands: true, Definitions: defs,
		ReplicaSet: command.DefaultReplicaSet,
	})
	if err != nil {
		t.Fatal(err)
	}
	return &harness{t, svc, svc.NewConn(1, "127.0.0.1:5", "127.0.0.1:27017", true)}
}

func readIt(name string, snapshot bool) command.Definition {
	return command.Definition{
		Name: name, Read: true, Snapshot: snapshot, Loose: true,
		Run: func(context.Context, *command.Request, *bsonx.Builder) error { return nil },
	}
}

func TestHelloOfAMember(t *testing.T) {
	h := newMember(t)
	for name, primary := range map[string]string{
		"hello":    "isWritablePrimary",
		"isMaster": "ismaster", "ismaster": "ismaster",
	} {
		got := h.run("admin", bsonx.NewDoc(name, 1))
		for _, field := range []string{"me", "primary"} {
			if got.Lookup(field).Str() != "127.0.0.1:27017" {
				t.Errorf("%s: %s is %v", name, field, got.Lookup(field))
			}
		}
		if hosts := got.Lookup("hosts").Doc(); hosts.Len() != 1 || hosts.Index(0).Str() != "127.0.0.1:27017" {
			t.Errorf("%s: hosts %v", name, hosts)
		}
		if got.Lookup("setName").Str() != "rs0" || got.Lookup("setVersion").Int32() != 1 ||
			!got.Lookup(primary).Bool() ||
			got.Lookup("secondary").Bool() || got.Lookup("electionId").Type != bsonx.TypeObjectID {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
		for _, path := range [][]string{
			{"lastWrite", "opTime", "ts"},
			{"lastWrite", "majorityOpTime", "ts"},
			{"operationTime"},
			{"$clusterTime", "clusterTime"},
		} {
			if v := got.LookupPath(path...); v.Type != bsonx.TypeTimestamp || command.StampOf(v) == 0 {
				t.Errorf("%s: %v is %v", name, path, v)
			}
		}
		if sub, hash := got.LookupPath("$clusterTime", "signature", "hash").Binary(); sub != 0 || len(hash) != 20 {
			t.Errorf("%s: the signature is %d, %x", name, sub, hash)
		}
		if got.LookupPath("$clusterTime", "signature", "keyId").Int64() != 0 {
			t.Errorf("%s: a key", name)
		}
	}
}

func TestReplicationCommands(t *testing.T) {
	h := newMember(t)
	status := h.run("admin", bsonx.NewDoc("replSetGetStatus", 1))
	member := status.Lookup("members").Doc().Index(0).Doc()
	if status.Lookup("set").Str() != "rs0" || status.Lookup("myState").Int32() != 1 || !member.Lookup("self").Bool() ||
		member.Lookup("name").Str() != "127.0.0.1:27017" || member.Lookup("stateStr").Str() != "PRIMARY" {
		t.Error(command.FormatDoc(status))
	}
	config := h.run("admin", bsonx.NewDoc("replSetGetConfig", 1)).Lookup("config").Doc()
	if config.Lookup("_id").Str() != "rs0" || config.LookupPath("members").Doc().Index(0).Doc().
		Lookup("host").Str() != "127.0.0.1:27017" {
		t.Error(command.FormatDoc(config))
	}
	for name, want := range map[string]mongoerr.Code{
		"replSetInitiate": 23, "replSetReconfig": 103, "replSetStepDown": 262,
		"replSetFreeze": 95, "replSetSyncFrom": 95,
		"replSetMaintenance": 95, "replSetStepUp": 0, "replSetGetRBID": 0, "replSetHeartbeat": 20,
		"replSetAbortPrimaryCatchUp": 20,
	} {
		if got := h.run("admin", bsonx.NewDoc(name, 1)); code(got) != want {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
	}
	if got := h.run("admin", bsonx.NewDoc("replSetStepDown", 1, "force", true)); code(got) != 0 {
		t.Error(command.FormatDoc(got))
	}
	if got := h.run("test", bsonx.NewDoc("replSetGetStatus", 1)); code(got) != mongoerr.Unauthorized {
		t.Error(command.FormatDoc(got))
	}
	if got := newHarness(t).
		run("admin", bsonx.NewDoc("replSetGetStatus", 1)); code(got) != mongoerr.NoReplicationEnabled {
		t.Error(command.FormatDoc(got))
	}
}

// TestConcernsOfAMember checks the concerns that differ from those on a standalone server; see
// TestGenericArguments.
func TestConcernsOfAMember(t *testing.T) {
	doc := bsonx.NewDoc
	future := bsonx.Timestamp(4_000_000_000, 1)
	past := bsonx.Timestamp(1, 1)
	h := newMember(t, echo(), readIt("readIt", true), readIt("countIt", false))
	for name, c := range map[string]struct {
		cmd  bsonx.Doc
		code mongoerr.Code
		wce  mongoerr.Code
	}{
		"linearizable":           {doc("readIt", 1, "readConcern", doc("level", "linearizable")), 0, 0},
		"snapshot":               {doc("readIt", 1, "readConcern", doc("level", "snapshot")), 0, 0},
		"snapshot not supported": {doc("countIt", 1, "readConcern", doc("level", "snapshot")), 72, 0},
		"majority":               {doc("countIt", 1, "readConcern", doc("level", "majority")), 0, 0},
		"majority of no read":    {doc("ping", 1, "readConcern", doc("level", "majority")), 72, 0},
		"after a time":           {doc("ping", 1, "readConcern", doc("afterClusterTime", past)), 0, 0},
		"after a time and local": {doc("readIt", 1, "readConcern",
			doc("level", "local", "afterClusterTime", past)), 0, 0},
		"after a time and available": {doc("readIt", 1, "readConcern",
			doc("level", "available", "afterClusterTime", past)), 72, 0},
		"after a time, linearizable": {doc("readIt", 1, "readConcern",
			doc("level", "linearizable", "afterClusterTime", past)), 72, 0},
		"after no time":           {doc("readIt", 1, "readConcern", doc("afterClusterTime", bsonx.Timestamp(0, 0))), 72, 0},
		"after a time unheard of": {doc("readIt", 1, "readConcern", doc("afterClusterTime", future)), 72, 0},
		"at a time and local":     {doc("readIt", 1, "readConcern", doc("level", "local", "atClusterTime", past)), 72, 0},
		"at a time unheard of": {doc("readIt", 1, "readConcern",
			doc("level", "snapshot", "atClusterTime", future)), 72, 0},
		"at and after": {doc("readIt", 1, "readConcern",
			doc("level", "snapshot", "atClusterTime", past, "afterClusterTime", past)), 72, 0},
		"after a time and an op time": {doc("readIt", 1, "readConcern",
			doc("afterOpTime", doc(), "afterClusterTime", past)), 72, 0},
		"w 2":                          {doc("echo", 1, "need", "x", "writeConcern", doc("w", 2)), 0, 100},
		"w 2 and an error":             {doc("echo", 1, "need", "error", "writeConcern", doc("w", 2)), 2, 100},
		"w 50":                         {doc("echo", 1, "need", "x", "writeConcern", doc("w", 50, "wtimeout", 1)), 0, 100},
		"w 51":                         {doc("echo", 1, "need", "x", "writeConcern", doc("w", 51)), 9, 0},
		"w 1":                          {doc("echo", 1, "need", "x", "writeConcern", doc("w", 1, "j", true)), 0, 0},
		"w 0":                          {doc("echo", 1, "need", "x", "writeConcern", doc("w", 0)), 0, 0},
		"w majority":                   {doc("echo", 1, "need", "x", "writeConcern", doc("w", "majority", "wtimeout", 5)), 0, 0},
		"w mode":                       {doc("echo", 1, "need", "x", "writeConcern", doc("w", "dc")), 0, 79},
		"w tags":                       {doc("echo", 1, "need", "x", "writeConcern", doc("w", doc("dc", 2))), 0, 4},
		"w tags that are none":         {doc("echo", 1, "need", "x", "writeConcern", doc("w", doc("dc", "east"))), 9, 0},
		"getLastError":                 {doc("getLastError", 1, "w", 2), 59, 0},
		"getlasterror":                 {doc("getlasterror", 1), 59, 0},
		"cluster time":                 {doc("ping", 1, "$clusterTime", doc("clusterTime", past)), 0, 0},
		"cluster time too far":         {doc("ping", 1, "$clusterTime", doc("clusterTime", future)), 205, 0},
		"cluster time of another type": {doc("ping", 1, "$clusterTime", doc("clusterTime", 1)), 14, 0},
		"no cluster time":              {doc("ping", 1, "$clusterTime", doc()), 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := &harness{t, h.svc, h.svc.NewConn(2, "", "", true)}
			got := h.run("test", c.cmd)
			wce := got.Lookup("writeConcernError").Doc()
			if code(got) != c.code || wce != nil != (c.wce != 0) || wce != nil && code(wce) != c.wce {
				t.Fatal(command.FormatDoc(got))
			}
			if wce == nil {
				return
			}
			if p := wce.LookupPath("errInfo", "writeConcern",
				"provenance"); p.Type != bsonx.TypeString || p.Str() != "clientSupplied" {
				t.Error(command.FormatDoc(wce))
			}
		})
	}
}

// TestClusterTime checks that the server adopts the cluster time of a client, and that a read waits
// for its afterClusterTime.
func TestClusterTime(t *testing.T) {
	h := newMember(t, readIt("readIt", true))
	ahead := storage.NewStamp(uint32(time.Now().Unix())+1000, 7)
	if got := h.run("test",
		bsonx.NewDoc("readIt", 1, "readConcern",
			bsonx.NewDoc("afterClusterTime", oplog.Timestamp(ahead)))); code(got) != 72 {
		t.Error(command.FormatDoc(got))
	}
	got := h.run("test", bsonx.NewDoc("readIt", 1, "readConcern",
		bsonx.NewDoc("afterClusterTime", oplog.Timestamp(ahead)),
		"$clusterTime", bsonx.NewDoc("clusterTime", oplog.Timestamp(ahead))))
	if code(got) != 0 || command.StampOf(got.LookupPath("$clusterTime", "clusterTime")) != ahead ||
		command.StampOf(got.Lookup("operationTime")) != ahead {
		t.Error(command.FormatDoc(got))
	}

	// A read that must see a later commit waits for an earlier commit that is still in progress.
	under := h.svc.Order.Begin(0, 1)
	later := h.svc.Order.Take(0)
	read := bsonx.NewDoc("readIt", 1, "readConcern", bsonx.NewDoc("afterClusterTime", oplog.Timestamp(later)))
	if got := h.run("test",
		bsonx.NewDoc("readIt", 1, "maxTimeMS", 10, "readConcern",
			bsonx.NewDoc("afterClusterTime", oplog.Timestamp(later)))); code(got) != mongoerr.MaxTimeMSExpired {
		t.Error(command.FormatDoc(got))
	}
	done := make(chan bsonx.Doc)
	go func() {
		other := &harness{t, h.svc, h.svc.NewConn(2, "", "", true)}
		done <- other.run("test", read)
	}()
	select {
	case got := <-done:
		t.Fatalf("it did not wait: %s", command.FormatDoc(got))
	case <-time.After(20 * time.Millisecond):
	}
	h.svc.Order.End(under)
	if got := <-done; code(got) != 0 || command.StampOf(got.Lookup("operationTime")) != later {
		t.Error(command.FormatDoc(got))
	}
}

// TestOperationTime checks that the operationTime of a write is its own stamp, not the stamp of
// another visible commit.
func TestOperationTime(t *testing.T) {
	h := newMember(t)
	h.conn.Op.Begin(t.Context(), 1, time.Now())
	under := h.svc.Order.Begin(0, 1)
	mine := h.svc.Order.Take(0)
	h.conn.Op.Stamp = mine
	b := bsonx.NewBuilder(nil)
	b.StartDoc()
	h.svc.AppendTimes(b, &h.conn.Op)
	b.End()
	got := bsonx.Doc(b.Bytes())
	if command.StampOf(got.Lookup("operationTime")) != mine ||
		command.StampOf(got.LookupPath("$clusterTime", "clusterTime")) != mine {
		t.Error(command.FormatDoc(got))
	}
	h.svc.Order.End(under)
	h.conn.Op.Finish()
	if n := testing.AllocsPerRun(100, func() {
		b.Reset(b.Bytes()[:0])
		b.StartDoc()
		h.svc.AppendTimes(b, &h.conn.Op)
		b.End()
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}

func TestOplogCommands(t *testing.T) {
	engine := mem.New()
	store, err := schema.OpenLogged(engine, ddl.Compiler{}, slog.New(slog.DiscardHandler), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	svc, err := commands.NewService(command.Deps{
		ReplicaSet: command.DefaultReplicaSet,
		Data:       command.Data{Store: store},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t, svc, svc.NewConn(1, "", "", true)}
	before := svc.Order.Visible()
	for name, c := range map[string]struct {
		cmd  bsonx.Doc
		code mongoerr.Code
	}{
		"note":            {bsonx.NewDoc("appendOplogNote", 1, "data", bsonx.NewDoc("a", 1)), 0},
		"note of nothing": {bsonx.NewDoc("appendOplogNote", 1), 4},
		"note of a type":  {bsonx.NewDoc("appendOplogNote", 1, "data", 1), 14},
		"stale note": {bsonx.NewDoc("appendOplogNote", 1, "data", bsonx.NewDoc(),
			"maxClusterTime", bsonx.Timestamp(1, 1)), 209},
		"size":           {bsonx.NewDoc("replSetResizeOplog", 1, "size", 990.0, "minRetentionHours", 1.5), 0},
		"small size":     {bsonx.NewDoc("replSetResizeOplog", 1, "size", 989.0), 2},
		"negative hours": {bsonx.NewDoc("replSetResizeOplog", 1, "minRetentionHours", -1), 2},
	} {
		if got := h.run("admin", c.cmd); code(got) != c.code {
			t.Errorf("%s: %s", name, command.FormatDoc(got))
		}
	}
	if size, retention := store.OplogLimits(); size != 990<<20 || retention != 90*time.Minute {
		t.Errorf("size %d, retention %s", size, retention)
	}
	if svc.Order.Visible() <= before {
		t.Error("the note is not in the log")
	}
}
