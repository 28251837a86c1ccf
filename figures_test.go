package sheaf_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// slowly is a predicate that takes a second for each document.
var slowly = bson.E{"$where", "sleep(1000); true"}

// runningCommands returns commands that run a plan. For each, it has the plan summary that
// currentOp must show while the command runs.
func runningCommands() map[string]struct {
	cmd  bson.D
	plan string
} {
	byIndex, all := bson.D{{"a", 1}, slowly}, bson.D{slowly}
	// $match does not accept $where, so this is a $function.
	byFunction := bson.D{{"a", 1}, {"$expr", bson.D{{"$function", bson.D{
		{"body", "function() { sleep(1000); return true }"},
		{"args", bson.A{}},
		{"lang", "js"},
	}}}}}
	set := bson.D{{"$set", bson.D{{"x", 1}}}}
	type running = struct {
		cmd  bson.D
		plan string
	}
	return map[string]running{
		"find":     {bson.D{{"find", "c"}, {"filter", byIndex}}, "IXSCAN { a: 1 }"},
		"find all": {bson.D{{"find", "c"}, {"filter", all}}, "COLLSCAN"},
		"count":    {bson.D{{"count", "c"}, {"query", byIndex}}, "IXSCAN { a: 1 }"},
		"distinct": {bson.D{{"distinct", "c"}, {"key", "x"}, {"query", byIndex}}, "IXSCAN { a: 1 }"},
		"aggregate": {bson.D{
			{"aggregate", "c"},
			{"cursor", bson.D{}},
			{"pipeline", bson.A{bson.D{{"$match", byFunction}}}},
		}, "IXSCAN { a: 1 }"},
		"update": {bson.D{{"update", "c"}, {"updates", bson.A{
			bson.D{{"q", byIndex}, {"u", set}, {"multi", true}},
		}}}, "IXSCAN { a: 1 }"},
		"delete": {bson.D{
			{"delete", "c"},
			{"deletes", bson.A{bson.D{{"q", byIndex}, {"limit", 0}}}},
		}, "IXSCAN { a: 1 }"},
		"findAndModify": {bson.D{{"findAndModify", "c"}, {"query", byIndex}, {"update", set}}, "IXSCAN { a: 1 }"},
		"mapReduce": {bson.D{
			{"mapReduce", "c"},
			{"query", byIndex},
			{"map", "function() { emit(1, 1) }"},
			{"reduce", "function() { return 1 }"},
			{"out", bson.D{{"inline", 1}}},
		}, "IXSCAN { a: 1 }"},
	}
}

// TestPlanSummaryOfRunningOperations checks the plan summaries that currentOp shows while commands
// run.
func TestPlanSummaryOfRunningOperations(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, nil)
	d, admin := db.Client().Database("d"), db.Client().Database("admin")
	var docs bson.A
	for i := range 100 {
		docs = append(docs, bson.D{{"_id", i}, {"a", 1}})
	}
	mustRun(t, d, "insert", "c", "documents", docs)
	mustRun(t, d, "createIndexes", "c", "indexes", bson.A{bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a"}}})
	for name, c := range runningCommands() {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = d.RunCommand(ctx, append(c.cmd, bson.E{"comment", name})).Err()
		}()
		var op bson.Raw
		for deadline := time.Now().Add(patience); op == nil && time.Now().
			Before(deadline); time.Sleep(time.Millisecond) {
			values, err := mustRun(t, admin, "currentOp", 1, "command.comment", name, "planSummary",
				bson.D{{"$exists", true}}).Lookup("inprog").Array().Values()
			if err != nil {
				t.Fatal(err)
			}
			if len(values) > 0 {
				op = values[0].Document()
			}
		}
		if op == nil {
			t.Errorf("%s: no operation with a plan", name)
		} else {
			if got := op.Lookup("planSummary").StringValue(); got != c.plan {
				t.Errorf("%s: planSummary is %s, want %s", name, got, c.plan)
			}
			mustRun(t, admin, "killOp", 1, "op", op.Lookup("opid").AsInt64())
		}
		cancel()
		<-done
	}
}

// TestBulkWriteIsShownOnItsCollection: while a bulkWrite runs, currentOp names the collection that
// it is working on.
func TestBulkWriteIsShownOnItsCollection(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, nil)
	d, admin := db.Client().Database("d"), db.Client().Database("admin")
	mustRun(t, d, "insert", "c", "documents", bson.A{bson.D{{"_id", 1}}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = admin.RunCommand(ctx, bson.D{
			{"bulkWrite", 1},
			{"ops", bson.A{
				bson.D{{"insert", 1}, {"document", bson.D{{"_id", 1}}}},
				bson.D{
					{"update", 0},
					{"filter", bson.D{{"$where", "while (true) {}"}}},
					{"updateMods", bson.D{{"$set", bson.D{{"x", 1}}}}},
				},
			}},
			{"nsInfo", bson.A{bson.D{{"ns", "d.c"}}, bson.D{{"ns", "d.e"}}}},
		}).Err()
	}()
	var op bson.Raw
	for deadline := time.Now().Add(patience); op == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		values, err := mustRun(t, admin, "currentOp", 1, "ns", "d.c").Lookup("inprog").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		if len(values) > 0 {
			op = values[0].Document()
		}
	}
	if op == nil {
		t.Error("no operation on the collection")
	} else {
		mustRun(t, admin, "killOp", 1, "op", op.Lookup("opid").AsInt64())
	}
	cancel()
	<-done
}

// TestExplainTellsTheWork: the counts of explain are the numbers of documents and keys that the
// plan reads. Its times are at least as long as the predicates sleep.
func TestExplainTellsTheWork(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, sheaf.Memory, nil).Client().Database("d")
	var docs bson.A
	for i := range 6 {
		docs = append(docs, bson.D{{"_id", i}, {"a", i}})
	}
	mustRun(t, d, "insert", "c", "documents", docs)
	mustRun(t, d, "createIndexes", "c", "indexes", bson.A{bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a"}}})
	where := bson.E{"$where", "sleep(20); return this._id % 2 == 0"}
	stats := func(filter bson.D) bson.Raw {
		t.Helper()
		return mustRun(t, d, "explain", bson.D{{"find", "c"}, {"filter", filter}}).Lookup("executionStats").Document()
	}
	for name, c := range map[string]struct {
		filter bson.D
		path   []string
		want   map[string]int64
	}{
		"scan": {
			bson.D{where},
			[]string{"executionStages"},
			map[string]int64{"nReturned": 3, "works": 7, "advanced": 3, "needTime": 3, "isEOF": 1, "docsExamined": 6},
		},
		"fetch": {
			bson.D{{"a", bson.D{{"$gte", 1}}}, where},
			[]string{"executionStages"},
			map[string]int64{"nReturned": 2, "works": 6, "advanced": 2, "needTime": 3, "isEOF": 1, "docsExamined": 5},
		},
		"keys": {
			bson.D{{"a", bson.D{{"$gte", 1}}}, where},
			[]string{"executionStages", "inputStage"},
			map[string]int64{
				"nReturned": 5, "works": 6, "advanced": 5, "needTime": 0, "isEOF": 1,
				"keysExamined": 5, "seeks": 1,
			},
		},
	} {
		all := stats(c.filter)
		stage := all.Lookup(c.path...).Document()
		for field, want := range c.want {
			if v := stage.Lookup(field); v.AsInt64() != want {
				t.Errorf("%s: %s is %v, want %d", name, field, v, want)
			}
		}
		slept := all.Lookup("totalDocsExamined").AsInt64() * 20
		if len(c.path) > 1 {
			slept = 0 // another stage sleeps, not this one
		}
		if got := stage.Lookup("executionTimeMillisEstimate").AsInt64(); got < slept ||
			slept == 0 && got > all.Lookup("executionTimeMillis").AsInt64()/2 {
			t.Errorf("%s: executionTimeMillisEstimate is %d, slept for %d: %v", name, got, slept, all)
		}
		if got := all.Lookup("executionTimeMillis").AsInt64(); got < slept {
			t.Errorf("%s: executionTimeMillis is %d, slept for %d", name, got, slept)
		}
	}
}

// TestExplainPrintsTheLimits changes each limit that explain prints.
func TestExplainPrintsTheLimits(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, sheaf.Memory, nil).Client()
	limits := func() bson.Raw {
		t.Helper()
		return mustRun(t, client.Database("d"), "explain", bson.D{{"find", "c"}}).Lookup("serverParameters").Document()
	}
	elements, err := limits().Elements()
	if err != nil || len(elements) == 0 {
		t.Fatalf("%d limits, %v", len(elements), err)
	}
	changed := 0
	for _, e := range elements {
		n, ok := e.Value().AsInt64OK()
		if !ok {
			continue
		}
		want := n * 2
		if n < 2 {
			want = 1 - n // the limit is a switch with the values 0 and 1
		}
		mustRun(t, client.Database("admin"), "setParameter", 1, e.Key(), want)
		changed++
		if got := limits().Lookup(e.Key()).AsInt64(); got != want {
			t.Errorf("%s is set to %d, explain prints %d", e.Key(), want, got)
		}
	}
	if changed < 5 {
		t.Errorf("%d limits can be changed", changed)
	}
}

// TestMechanisms: no client can authenticate, so no reply may list an authentication mechanism.
func TestMechanisms(t *testing.T) {
	t.Parallel()
	admin := mustOpen(t, sheaf.Memory, nil).Client().Database("admin")
	for _, name := range []string{"hello", "isMaster"} {
		reply := mustRun(t, admin, name, 1, "saslSupportedMechs", "admin.user", "speculativeAuthenticate", bson.D{
			{"saslStart", 1},
			{"mechanism", "SCRAM-SHA-256"},
			{"payload", bson.Binary{Data: []byte("n,,n=user,r=x")}},
			{"db", "admin"},
		})
		for _, field := range []string{"saslSupportedMechs", "speculativeAuthenticate"} {
			if v, err := reply.LookupErr(field); err == nil {
				t.Errorf("%s announces %s: %v", name, field, v)
			}
		}
	}
	if got := mustRun(t, admin, "getParameter", 1, "authenticationMechanisms", 1).
		Lookup("authenticationMechanisms"); got.String() != "[]" {
		t.Errorf("authenticationMechanisms is %v", got)
	}
	for _, mechanism := range []string{"SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN", "MONGODB-X509"} {
		_, err := run(t, admin, "saslStart", 1, "mechanism", mechanism, "payload", bson.Binary{})
		wantCode(t, err, 18)
	}
}

// TestDurableOpTime: a write that is acknowledged without a sync advances the applied time at once,
// but the durable time only after a sync.
func TestDurableOpTime(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, t.TempDir(), &sheaf.Options{Sync: sheaf.SyncOnRequest})
	admin := db.Client().Database("admin")
	times := func() (applied, durable, recovery bson.RawValue) {
		t.Helper()
		status := mustRun(t, admin, "replSetGetStatus", 1)
		return status.Lookup("optimes", "appliedOpTime", "ts"), status.Lookup("optimes", "durableOpTime", "ts"),
			status.Lookup("lastStableRecoveryTimestamp")
	}
	write := func(concern bson.D) {
		t.Helper()
		mustRun(t, db.Client().Database("d"), "insert", "c", "documents", bson.A{bson.D{}}, "writeConcern", concern)
	}
	write(bson.D{{"w", "majority"}})
	write(bson.D{{"w", 1}})
	if applied, durable, recovery := times(); durable.Equal(applied) || !recovery.Equal(durable) {
		t.Errorf("before a sync: applied %v, durable %v, recovery %v", applied, durable, recovery)
	}
	mustRun(t, admin, "fsync", 1)
	if applied, durable, recovery := times(); !durable.Equal(applied) || !recovery.Equal(durable) {
		t.Errorf("after a sync: applied %v, durable %v, recovery %v", applied, durable, recovery)
	}
}

// TestMemberHasOneName: all replies on the same connection give the only member of the set the same
// name.
func TestMemberHasOneName(t *testing.T) {
	t.Parallel()
	db := mustOpen(t, sheaf.Memory, nil)
	address := listenOn(t, db, "tcp", "127.0.0.1:0").String()
	for name, client := range map[string]*mongo.Client{
		"by the network": (&diagnosticLoad{address: address}).connect(t, ""), "in memory": db.Client(),
	} {
		admin := client.Database("admin")
		want := mustRun(t, admin, "hello", 1).Lookup("me").StringValue()
		if name == "by the network" && want != address {
			t.Errorf("hello says %s, served is %s", want, address)
		}
		var stored struct{ Members []struct{ Host string } }
		if err := client.Database("local").Collection("system.replset").
			FindOne(t.Context(), bson.D{}).Decode(&stored); err != nil {
			t.Fatal(err)
		}
		for from, got := range map[string]string{
			"hello's hosts":   mustRun(t, admin, "hello", 1).Lookup("hosts", "0").StringValue(),
			"hello's primary": mustRun(t, admin, "hello", 1).Lookup("primary").StringValue(),
			"serverStatus":    mustRun(t, admin, "serverStatus", 1).Lookup("repl", "me").StringValue(),
			"replSetGetConfig": mustRun(t, admin, "replSetGetConfig", 1).
				Lookup("config", "members", "0", "host").StringValue(),
			"replSetGetStatus":     mustRun(t, admin, "replSetGetStatus", 1).Lookup("members", "0", "name").StringValue(),
			"local.system.replset": stored.Members[0].Host,
		} {
			if got != want {
				t.Errorf("%s: %s says %s, hello's me is %s", name, from, got, want)
			}
		}
	}
}

// TestValidateCounts compares the figures of validate with the content of a collection.
func TestValidateCounts(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, sheaf.Memory, nil).Client().Database("d")
	index := func(name string, key bson.D, more ...bson.E) bson.D {
		return append(bson.D{{"name", name}, {"key", key}}, more...)
	}
	mustRun(t, d, "createIndexes", "c", "indexes", bson.A{
		index("plain", bson.D{{"a", 1}}),
		index("sparse", bson.D{{"s", 1}}, bson.E{"sparse", true}),
		index("partial", bson.D{{"a", -1}}, bson.E{"partialFilterExpression", bson.D{{"a", bson.D{{"$lt", 3}}}}}),
		index("multikey", bson.D{{"tags", 1}}),
		index("text", bson.D{{"words", "text"}}),
	})
	var docs bson.A
	for i := range 10 {
		doc := bson.D{
			{"_id", i},
			{"a", i},
			{"tags", bson.A{1, 2, 2, i + 10}},
			{"words", fmt.Sprintf("red green red%d", i)},
		}
		if i%2 == 0 {
			doc = append(doc, bson.E{"s", i})
		}
		docs = append(docs, doc)
	}
	mustRun(t, d, "insert", "c", "documents", docs)
	check := func(full bool, want map[string]int64, warnings int) {
		t.Helper()
		reply := mustRun(t, d, "validate", "c", "full", full)
		for field, n := range want {
			if got := reply.Lookup(field); got.AsInt64() != n {
				t.Errorf("full %t: %s is %v, want %d", full, field, got, n)
			}
		}
		keys := map[string]int64{}
		elements, _ := reply.Lookup("keysPerIndex").Document().Elements()
		for _, e := range elements {
			keys[e.Key()] = e.Value().AsInt64()
		}
		if got, want := fmt.Sprint(keys), fmt.Sprint(map[string]int64{
			"_id_": 10, "plain": 10, "sparse": 5,
			"partial": 3, "multikey": 30, "text": 30,
		}); got != want {
			t.Errorf("keysPerIndex is %s, want %s", got, want)
		}
		values, _ := reply.Lookup("warnings").Array().Values()
		if !reply.Lookup("valid").Boolean() || len(values) != warnings {
			t.Errorf("full %t: valid %v, warnings %v", full, reply.Lookup("valid"), values)
		}
	}
	healthy := map[string]int64{"nrecords": 10, "nIndexes": 6, "nInvalidDocuments": 0, "nNonCompliantDocuments": 0}
	check(false, healthy, 0)
	check(true, healthy, 0)
	mustRun(t, d, "collMod", "c", "validator", bson.D{{"a", bson.D{{"$lt", 6}}}})
	refused := map[string]int64{"nrecords": 10, "nInvalidDocuments": 0, "nNonCompliantDocuments": 4}
	check(false, refused, 1)
	mustRun(t, d, "collMod", "c", "validationLevel", "off")
	check(true, map[string]int64{"nNonCompliantDocuments": 0}, 0)
}
