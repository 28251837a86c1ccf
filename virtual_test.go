package sheaf_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

// virtualNames lists the collections that show the server's state in a replica set. Those with
// standalone exist on a standalone server, too.
var virtualNames = []struct {
	db, name   string
	standalone bool
}{
	{"admin", "system.version", true},
	{"config", "image_collection", false},
	{"config", "system.sessions", true},
	{"config", "transactions", false},
	{"local", "system.replset", false},
}

// TestVirtualCollections reads each collection that shows the server's state, in every way in which
// clients can read. It also tries every way to change the collection.
func TestVirtualCollections(t *testing.T) {
	t.Parallel()
	for _, standalone := range []bool{false, true} {
		client := mustOpen(t, t.TempDir(), &sheaf.Options{Standalone: standalone}).Client()
		useSessions(t, client, standalone)
		for _, v := range virtualNames {
			c := client.Database(v.db).Collection(v.name)
			listed, err := client.Database(v.db).ListCollectionNames(t.Context(), bson.D{{"type", "collection"}})
			if err != nil {
				t.Fatal(err)
			}
			if exists := !standalone || v.standalone; slices.Contains(listed, v.name) != exists {
				t.Errorf("standalone %t: %s in listCollections of %v, want %t", standalone, v.name, listed, exists)
			} else if exists {
				readVirtual(t, c)
				refuseWrites(t, c)
			}
		}
	}
}

// useSessions uses sessions. In a replica set, they leave the records of a retryable write, a
// findAndModify and a transaction.
func useSessions(t *testing.T, client *mongo.Client, standalone bool) {
	t.Helper()
	c := client.Database("d").Collection("c")
	if _, err := c.InsertOne(t.Context(), bson.D{{"_id", 1}}); err != nil || standalone {
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	s, err := client.StartSession()
	if err != nil {
		t.Fatal(err)
	}
	defer s.EndSession(t.Context())
	if err := s.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.InsertOne(mongo.NewSessionContext(t.Context(), s), bson.D{}); err != nil {
		t.Fatal(err)
	}
	// The driver uses another session for this command. In the same session, the newer transaction
	// number would replace the records of the older one.
	if err := c.FindOneAndDelete(t.Context(), bson.D{{"_id", 1}}).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.CommitTransaction(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// readVirtual checks that each way of reading finds the same number of documents.
func readVirtual(t *testing.T, c *mongo.Collection) {
	t.Helper()
	db, ctx := c.Database(), t.Context()
	name := db.Name() + "." + c.Name()
	cursor, err := c.Find(ctx, bson.D{}, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var docs []bson.Raw
	if err := cursor.All(ctx, &docs); err != nil || len(docs) == 0 {
		t.Fatalf("%s has %d documents: %v", name, len(docs), err)
	}
	size := int64(0)
	for _, d := range docs {
		size += int64(len(d))
	}
	n := int64(len(docs))
	counts := map[string]int64{
		"count":     mustRun(t, db, "count", c.Name()).Lookup("n").AsInt64(),
		"collStats": mustRun(t, db, "collStats", c.Name()).Lookup("count").AsInt64(),
		"validate":  mustRun(t, db, "validate", c.Name()).Lookup("nrecords").AsInt64(),
		"dataSize":  mustRun(t, db, "dataSize", name).Lookup("numObjects").AsInt64(),
		"aggregate": aggregated(t, c,
			bson.D{{"$match", bson.D{{"_id", bson.D{{"$exists", true}}}}}}, bson.D{{"$count", "n"}}),
		"$collStats": aggregated(t, c, bson.D{{"$collStats", bson.D{{"count", bson.D{}}}}},
			bson.D{{"$project", bson.D{{"n", "$count"}}}}),
	}
	for how, got := range counts {
		if got != n {
			t.Errorf("%s: %s finds %d documents, find %d", name, how, got, n)
		}
	}
	if got := mustRun(t, db, "collStats", c.Name()).Lookup("size").AsInt64(); got != size {
		t.Errorf("%s: collStats says %d bytes, there are %d", name, got, size)
	}
	mustRun(t, db, "find", c.Name(), "hint", "_id_", "noCursorTimeout", true)
	mustRun(t, db, "distinct", c.Name(), "key", "_id")
	mustRun(t, db, "listIndexes", c.Name())
	for _, verbosity := range []string{"queryPlanner", "executionStats"} {
		mustRun(t, db, "explain", bson.D{{"find", c.Name()}}, "verbosity", verbosity)
	}
}

func aggregated(t *testing.T, c *mongo.Collection, stages ...bson.D) int64 {
	t.Helper()
	cursor, err := c.Aggregate(t.Context(), stages)
	if err != nil {
		t.Fatalf("%s: %v", c.Name(), err)
	}
	var out []struct{ N int64 }
	if err := cursor.All(t.Context(), &out); err != nil || len(out) != 1 {
		t.Fatalf("%s: %v, %v", c.Name(), out, err)
	}
	return out[0].N
}

func refuseWrites(t *testing.T, c *mongo.Collection) {
	t.Helper()
	db, name := c.Database(), c.Name()
	doc := bson.D{{"_id", 1}}
	for _, cmd := range [][]any{
		{"insert", name, "documents", bson.A{doc}},
		{"update", name, "updates", bson.A{bson.D{{"q", doc}, {"u", doc}, {"upsert", true}}}},
		{"delete", name, "deletes", bson.A{bson.D{{"q", bson.D{}}, {"limit", 0}}}},
		{"findAndModify", name, "remove", true},
		{"create", name},
		{"create", name, "viewOn", "x", "pipeline", bson.A{}},
		{"drop", name},
		{"collMod", name},
		{"createIndexes", name, "indexes", bson.A{bson.D{{"key", bson.D{{"a", 1}}}, {"name", "a"}}}},
		{"dropIndexes", name, "index", "*"},
		{"convertToCapped", name, "size", 4096},
	} {
		reply, err := run(t, db, cmd...)
		if err == nil {
			if _, err := reply.LookupErr("writeErrors"); err != nil {
				t.Errorf("%s.%s: %v is accepted: %v", db.Name(), name, cmd, reply)
			}
		}
	}
	if _, err := run(t, db.Client().Database("admin"), "renameCollection", db.Name()+"."+name,
		"to", "d.other"); err == nil {
		t.Errorf("%s.%s is renamed", db.Name(), name)
	}
	mustRun(t, db.Client().Database("d"), "create", "from")
	if _, err := run(t, db.Client().Database("admin"), "renameCollection", "d.from", "to",
		db.Name()+"."+name); err == nil {
		t.Errorf("d.from takes the place of %s.%s", db.Name(), name)
	}
}

// TestRecordsAreShown: config.transactions and config.image_collection contain the records for
// retries. collStats reports their size.
func TestRecordsAreShown(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, t.TempDir(), nil).Client()
	useSessions(t, client, false)
	config := client.Database("config")
	var committed struct {
		ID            struct{ ID, UID bson.Binary } `bson:"_id"`
		TxnNum        int64
		LastWriteDate time.Time
	}
	if err := config.Collection("transactions").FindOne(t.Context(), bson.D{{"state", "committed"}}).
		Decode(&committed); err != nil {
		t.Fatal(err)
	}
	if committed.ID.ID.Subtype != 4 || len(committed.ID.UID.Data) != 32 || committed.TxnNum < 1 ||
		time.Since(committed.LastWriteDate) > time.Hour {
		t.Errorf("the transaction is shown as %+v", committed)
	}
	image, err := config.Collection("image_collection").FindOne(t.Context(), bson.D{{"imageKind", "preImage"}}).Raw()
	if err != nil || image.Lookup("image", "_id").AsInt64() != 1 {
		t.Errorf("the image is %v: %v", image, err)
	}
	if got := mustRun(t, config, "collStats", "transactions").Lookup("storageSize").AsInt64(); got <= 0 {
		t.Errorf("the records take %d bytes", got)
	}
	list, err := client.ListDatabases(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, db := range list.Databases {
		sizes[db.Name] = db.SizeOnDisk
	}
	if sizes["config"] <= 0 || sizes["local"] <= 0 {
		t.Errorf("listDatabases says %v", sizes)
	}
	if _, ok := sizes["admin"]; !ok {
		t.Errorf("listDatabases lacks admin: %v", sizes)
	}
}

// TestStartsAreLogged: local.startup_log has an entry for each start of a server, but not for a
// start of a program that embeds the store.
func TestStartsAreLogged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, line := range [][]string{{"sheaf", "serve"}, nil, {"sheaf", "serve"}} {
		db := mustOpen(t, dir, &sheaf.Options{CommandLine: line, Settings: bson.D{{"net", bson.D{{"port", 1}}}}})
		local := db.Client().Database("local")
		n := mustRun(t, local, "count", "startup_log").Lookup("n").AsInt64()
		if want := int64(i/2 + 1); n != want {
			t.Errorf("after start %d the log has %d", i, n)
		}
		doc, err := local.Collection("startup_log").FindOne(t.Context(), bson.D{}).Raw()
		if err != nil || doc.Lookup("cmdLine", "net", "port").AsInt64() != 1 ||
			doc.Lookup("buildinfo", "version").StringValue() == "" {
			t.Errorf("the start is %v: %v", doc, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTop: the counters that the command top reports for a collection are exact.
func TestTop(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, sheaf.Memory, nil).Client()
	d, admin := client.Database("d"), client.Database("admin")
	mustRun(t, d, "insert", "c", "documents", bson.A{bson.D{{"_id", 1}}, bson.D{{"_id", 2}}})
	mustRun(t, d, "update", "c", "updates", bson.A{bson.D{{"q", bson.D{}}, {"u", bson.D{{"a", 1}}}}})
	id := mustRun(t, d, "find", "c", "batchSize", 1).Lookup("cursor", "id").AsInt64()
	mustRun(t, d, "getMore", id, "collection", "c")
	mustRun(t, d, "find", "c")
	mustRun(t, d, "delete", "c", "deletes", bson.A{bson.D{{"q", bson.D{}}, {"limit", 1}}})
	mustRun(t, d, "count", "c")
	totals := mustRun(t, admin, "top", 1).Lookup("totals").Document()
	for field, want := range map[string]int64{
		"total": 7, "readLock": 4, "writeLock": 3, "queries": 2, "getmore": 1, "insert": 1,
		"update": 1, "remove": 1, "commands": 1,
	} {
		if got := totals.Lookup("d.c", field, "count").AsInt64(); got != want {
			t.Errorf("%s: %d, want %d", field, got, want)
		}
		if totals.Lookup("d.c", field, "time").AsInt64() < 0 {
			t.Errorf("%s: no time", field)
		}
	}
}

// TestLockInfo: the command lockInfo shows which operation holds the lock of fsync, and which
// operations wait for it.
func TestLockInfo(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, t.TempDir(), nil).Client()
	admin := client.Database("admin")
	locks := func() bson.RawArray { return mustRun(t, admin, "lockInfo", 1).Lookup("lockInfo").Array() }
	if got, _ := locks().Values(); len(got) != 0 {
		t.Errorf("nothing is locked, but %v", got)
	}
	mustRun(t, admin, "fsync", 1, "lock", true)
	done := make(chan error, 1)
	go func() {
		_, err := client.Database("d").Collection("c").InsertOne(t.Context(), bson.D{})
		done <- err
	}()
	waiting := func() bool {
		held, _ := locks().Values()
		if len(held) != 1 {
			return false
		}
		pending, _ := held[0].Document().Lookup("pending").Array().Values()
		return len(pending) == 1
	}
	for deadline := time.Now().Add(30 * time.Second); !waiting() && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	if !waiting() {
		t.Error("the insert that waits is not shown")
	}
	mustRun(t, admin, "fsyncUnlock", 1)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestDiagnosticData checks the parts of getDiagnosticData that monitoring programs read.
func TestDiagnosticData(t *testing.T) {
	t.Parallel()
	data := mustRun(t, mustOpen(t, t.TempDir(), nil).Client().Database("admin"),
		"getDiagnosticData", 1).Lookup("data").Document()
	for _, part := range []string{
		"serverStatus", "replSetGetStatus", "local.oplog.rs.stats", "config.transactions.stats",
		"config.image_collection.stats", "systemMetrics",
	} {
		if start, ok := data.Lookup(part, "start").TimeOK(); !ok || data.Lookup(part, "end").Time().Before(start) {
			t.Errorf("%s has no times", part)
		}
	}
	if data.Lookup("serverStatus", "opcounters", "command").AsInt64() < 0 ||
		data.Lookup("local.oplog.rs.stats", "count").AsInt64() == 0 {
		t.Errorf("figures are missing: %v", data)
	}
}

// TestValidateDBMetadata: validateDBMetadata lists the features in use that version 1 of the stable
// API does not have.
func TestValidateDBMetadata(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, sheaf.Memory, nil).Client()
	d := client.Database("d")
	mustRun(t, d, "createIndexes", "texts", "indexes", bson.A{bson.D{{"key", bson.D{{"a", "text"}}}, {"name", "t"}}})
	mustRun(t, d, "create", "uses", "viewOn", "texts", "pipeline", bson.A{bson.D{{"$indexStats", bson.D{}}}})
	mustRun(t, d, "create", "fine", "viewOn", "texts", "pipeline", bson.A{bson.D{{"$match", bson.D{}}}})
	check := func(strict bool, more ...any) []string {
		t.Helper()
		reply := mustRun(t, d, append([]any{
			"validateDBMetadata", 1, "apiParameters",
			bson.D{{"version", "1"}, {"strict", strict}},
		}, more...)...)
		values, err := reply.Lookup("apiVersionErrors").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, v := range values {
			out = append(out, v.Document().Lookup("ns").StringValue()+" "+v.Document().Lookup("codeName").StringValue())
		}
		return out
	}
	if got, want := check(true), []string{"d.texts APIStrictError", "d.uses APIStrictError"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := check(false); got != nil {
		t.Errorf("without strict: %v", got)
	}
	if got := check(true, "db", "d", "collection", "uses"); len(got) != 1 {
		t.Errorf("of one view: %v", got)
	}
}

// TestCollStatsOfViews: a view has no storage.
func TestCollStatsOfViews(t *testing.T) {
	t.Parallel()
	d := mustOpen(t, sheaf.Memory, nil).Client().Database("d")
	mustRun(t, d, "create", "v", "viewOn", "c", "pipeline", bson.A{})
	_, err := run(t, d, "collStats", "v")
	wantCode(t, err, 166)
	for _, part := range []string{"storageStats", "count", "queryExecStats"} {
		_, err = run(t, d, "aggregate", "v", "cursor", bson.D{}, "pipeline",
			bson.A{bson.D{{"$collStats", bson.D{{part, bson.D{}}}}}})
		wantCode(t, err, 166)
	}
	mustRun(t, d, "aggregate", "v", "cursor", bson.D{}, "pipeline",
		bson.A{bson.D{{"$collStats", bson.D{{"latencyStats", bson.D{}}}}}})
}
