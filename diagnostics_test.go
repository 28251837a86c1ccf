package sheaf_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/sheafdb/sheaf"
)

// diagnostic is a command whose reply tells figures.
type diagnostic struct {
	name string
	db   string
	cmd  bson.D
	// stay are the numeric fields that need not move, as patterns of path.Match, each with its reason.
	stay map[string]string
}

// Reasons why a numeric field may be what it was before the load.
const (
	whole    = "a part of the answer's form, not a figure"
	limit    = "a limit or a setting: the load changes none"
	machineF = "a fact of the machine or of the program"
	alone    = "the set has one member, and one term"
	rare     = "counts what this load cannot cause: a fault, or an event of hours"
	same     = "the load leaves as much as it found"
)

// TestDiagnosticsAreMeasured runs each command of diagnostics before and after a load that touches everything that a
// server counts. Each numeric field must have moved, or stand in the list of those that may stay.
func TestDiagnosticsAreMeasured(t *testing.T) {
	t.Parallel()
	l := newDiagnosticLoad(t)
	commands := diagnostics()
	before := map[string]map[string]string{}
	for _, d := range commands {
		before[d.name] = l.figures(t, d)
	}
	l.run(t)
	for _, d := range commands {
		after := l.figures(t, d)
		used := map[string]bool{}
		for _, field := range slices.Sorted(maps.Keys(after)) {
			pattern := matching(d.stay, field)
			used[pattern] = true
			if pattern == "" && before[d.name][field] == after[field] {
				t.Errorf("%s: %s is %s before and after the load", d.name, field, after[field])
			}
		}
		for pattern := range d.stay {
			if !used[pattern] {
				t.Errorf("%s: no field matches %s, which may stay", d.name, pattern)
			}
		}
	}
}

// matching returns the pattern that a field matches, "" for none.
func matching(patterns map[string]string, field string) string {
	for p := range patterns {
		if ok, err := path.Match(p, field); err != nil {
			panic(err)
		} else if ok {
			return p
		}
	}
	return ""
}

// figures runs a command and returns the numbers, dates and times of its reply by path. A slash is between the names.
func (l *diagnosticLoad) figures(t *testing.T, d diagnostic) map[string]string {
	t.Helper()
	raw, err := l.db.Client().Database(d.db).RunCommand(t.Context(), d.cmd).Raw()
	if err != nil {
		t.Fatalf("%s: %v", d.name, err)
	}
	out := map[string]string{}
	flatten(out, "", bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: raw})
	return out
}

func flatten(out map[string]string, at string, v bson.RawValue) {
	switch v.Type {
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		elements, _ := bson.Raw(v.Value).Elements()
		for _, e := range elements {
			name := strings.ReplaceAll(e.Key(), "/", "|")
			if doc, ok := e.Value().DocumentOK(); ok && v.Type == bson.TypeArray {
				if s, ok := doc.Lookup("name").StringValueOK(); ok {
					name = s
				}
			}
			flatten(out, path.Join(at, name), e.Value())
		}
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDateTime, bson.TypeTimestamp:
		out[at] = v.String()
	default:
	}
}

// diagnosticLoad is a store that is served, with some data.
type diagnosticLoad struct {
	db     *sheaf.DB
	client *mongo.Client // by way of the network
}

func newDiagnosticLoad(t *testing.T) *diagnosticLoad {
	t.Helper()
	db := mustOpen(t, t.TempDir(), &sheaf.Options{TestCommands: true, SlowOperation: time.Millisecond})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = db.Serve(context.Background(), listener) }()
	client, err := mongo.Connect(options.Client().
		ApplyURI("mongodb://" + listener.Addr().String() + "/?directConnection=true&compressors=zstd").
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Disconnect(context.Background()) })
	l := &diagnosticLoad{db: db, client: client}
	l.insert(t, 0, 50)
	l.must(t, "d", bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
		bson.D{{Key: "key", Value: bson.D{{Key: "a", Value: 1}}}, {Key: "name", Value: "a_1"}},
		bson.D{{Key: "key", Value: bson.D{{Key: "b", Value: 1}, {Key: "a", Value: 1}}}, {Key: "name", Value: "b_1_a_1"}},
	}}})
	return l
}

// must runs a command that succeeds, by way of the network.
func (l *diagnosticLoad) must(t *testing.T, db string, cmd bson.D) bson.Raw {
	t.Helper()
	raw, err := l.client.Database(db).RunCommand(t.Context(), cmd).Raw()
	if err != nil {
		t.Fatalf("%v: %v", cmd, err)
	}
	return raw
}

// fails runs a command that fails.
func (l *diagnosticLoad) fails(t *testing.T, db string, cmd bson.D) {
	t.Helper()
	if err := l.client.Database(db).RunCommand(t.Context(), cmd).Err(); err == nil {
		t.Fatalf("%v succeeds", cmd)
	}
}

func (l *diagnosticLoad) insert(t *testing.T, from, to int) {
	t.Helper()
	var docs []any
	for i := from; i < to; i++ {
		docs = append(docs, bson.D{
			{Key: "_id", Value: i},
			{Key: "a", Value: i % 10},
			{Key: "b", Value: i},
			{Key: "pad", Value: strings.Repeat(fmt.Sprint(i*7919), 40)},
		})
	}
	if _, err := l.client.Database("d").Collection("c").InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// run is the load.
func (l *diagnosticLoad) run(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	c := l.client.Database("d").Collection("c")
	l.insert(t, 50, 20_000)
	if _, err := c.UpdateMany(ctx, bson.D{{Key: "a", Value: 3}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "b", Value: 1}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.DeleteMany(ctx, bson.D{{Key: "a", Value: 4}}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReplaceOne(ctx, bson.D{{Key: "_id", Value: -1}}, bson.D{{Key: "z", Value: 1}}, options.Replace().SetUpsert(true)); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		for range 5 {
			l.all(t, c, bson.D{{Key: "a", Value: 3}, {Key: "b", Value: bson.D{{Key: "$lt", Value: 200 * i}}}}, nil)
		}
	}
	l.all(t, c, bson.D{{Key: "pad", Value: "none"}}, options.Find().SetSort(bson.D{{Key: "pad", Value: 1}}))
	l.all(t, c, bson.D{}, options.Find().SetSort(bson.D{{Key: "pad", Value: 1}}))
	l.transactions(t)
	l.fails(t, "d", bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "$none", Value: 1}}}})
	l.fails(t, "d", bson.D{{Key: "noSuchCommand", Value: 1}})
	l.fails(t, "d", bson.D{{Key: "create", Value: "c"}, {Key: "capped", Value: true}, {Key: "size", Value: 4096}})
}

func (l *diagnosticLoad) all(t *testing.T, c *mongo.Collection, filter bson.D, opts *options.FindOptionsBuilder) {
	t.Helper()
	cursor, err := c.Find(t.Context(), filter, opts)
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.Raw
	if err := cursor.All(t.Context(), &docs); err != nil {
		t.Fatal(err)
	}
}

// transactions commits one, aborts one, and makes two conflict.
func (l *diagnosticLoad) transactions(t *testing.T) {
	t.Helper()
	c := l.client.Database("d").Collection("t")
	insert := func(ctx context.Context) {
		if _, err := c.InsertOne(ctx, bson.D{{Key: "x", Value: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, end := range []func(*mongo.Session, context.Context) error{(*mongo.Session).CommitTransaction, (*mongo.Session).AbortTransaction} {
		s, err := l.client.StartSession()
		if err != nil {
			t.Fatal(err)
		}
		defer s.EndSession(t.Context())
		if err := s.StartTransaction(); err != nil {
			t.Fatal(err)
		}
		insert(mongo.NewSessionContext(t.Context(), s))
		if err := end(s, t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// mayStay are the fields of every reply that need not move.
var mayStay = map[string]string{
	"ok": whole, "$clusterTime/signature/keyId": "there are no keys: nobody is authenticated",
}

// statusMayStay are those of serverStatus.
var statusMayStay = map[string]string{
	"asserts/regular": rare, "asserts/msg": rare, "asserts/rollovers": rare,
	"asserts/warning": "MongoDB's is always 0 too", "asserts/tripwire": "MongoDB's counts in its own tests only",
	"backgroundFlushing/*": "the load may fit into a memtable",
	"catalogStats/capped":  same, "catalogStats/clustered": same, "catalogStats/internal*": same, "catalogStats/timeseries": same,
	"catalogStats/views":           same,
	"connections/*":                "the driver may use the connections that it has",
	"connections/*/*":              "connections are not limited",
	"queues/*/*":                   "connections are not limited",
	"extra_info/*":                 "what the process took may be too little to be counted",
	"globalLock/*/*":               "a gauge of what runs at the moment",
	"logicalSessionRecordCache/*":  "the job runs once in minutes",
	"mem/*":                        "in MiB: the load may fit into what the process has",
	"metrics/aggStageCounters/*":   "TestOperatorsAreCounted asks for each kind",
	"metrics/operatorCounters/*/*": "TestOperatorsAreCounted asks for each kind",
	"metrics/commands/*/*":         "a command counts its own runs; the load has few of all commands",
	"metrics/cursor/open/*":        "the load closes its cursors",
	"metrics/cursor/timedOut":      rare,
	"metrics/operation/*":          "counted where an operation sorts, conflicts or is ended",
	"metrics/record/moves":         "a document keeps its place by its key",
	"metrics/repl/*/*":             alone,
	"metrics/repl/*/*/*":           alone,
	"metrics/ttl/*":                "the monitor runs once a minute",
	"opcountersRepl/*":             alone,
	"oplog/earliestOptime":         "the log is not full",
	"oplog/maximumBytes":           limit,
	"oplog/minRetentionHours":      limit,
	"pid":                          machineF,
	"planCache/classic/replanned":  "no plan of the load becomes ten times as expensive",
	"readConcernCounters/*/*":      "the load gives no read concerns",
	"readConcernCounters/*/*/*":    "the load gives no read concerns",
	"readConcernCounters/*/*/*/*":  "the load gives no read concerns",
	"repl/lastWrite/*/t":           alone,
	"repl/lastWrite/*Date":         "in seconds: the load may take less than one",
	"repl/rbid":                    alone,
	"repl/setVersion":              alone,
	"repl/topologyVersion/counter": alone,
	"requestMemory/limitBytes":     limit,
	"requestMemory/usedBytes":      "a gauge of what is held at the moment",
	"requestMemory/waiting":        "a gauge: nobody waits",
	"requestMemory/refused":        rare,
	"requestMemory/ended":          rare,
	"storage/cache/*":              "a small load may need nothing of the cache, whose limit stays",
	"storage/disk/*":               "the log is allocated ahead; TestSizesAddUpToTheDirectory compares with the directory",
	"storage/transactions/*":       "gauges and conflicts: the load has none; concerns decide which commits are durable",
	"transactions/current*":        "the load ends its transactions",
	"transactions/retried*":        "no reply of the load is lost",
	"transactions/totalPrepared*":  "two-phase commits need several shards",
	"uptime":                       "in seconds: the load may take less than one",
	"uptimeEstimate":               "in seconds: the load may take less than one",
}

// memberMayStay are those of replSetGetStatus: the set has one member, whose dates are in seconds.
var memberMayStay = map[string]string{
	"heartbeatIntervalMillis": limit, "*Count": alone, "myState": alone, "syncSourceId": alone, "term": alone,
	"members/*/*":   "one member, whose state, election and version stay; dates are in seconds",
	"members/*/*/t": alone, "optimes/*/t": alone, "optimes/*WallTime": "in seconds: the load may take less than one",
}

// explainMayStay are those of explain of a find by an index.
var explainMayStay = map[string]string{
	"command/filter/a": whole, "queryPlanner/*": "in milliseconds: planning may take less than one",
	"queryPlanner/*/*/*": "the query and the index are the same", "queryPlanner/*/*/*/*": "the query and the index are the same",
	"executionStats/executionTimeMillis":                   "in milliseconds: the query may take less than one",
	"executionStats/executionStages/alreadyHasObj":         "no stage below a fetch has documents",
	"executionStats/executionStages/execution*":            "in milliseconds: the query may take less than one",
	"executionStats/executionStages/isEOF":                 "every plan is run to its end",
	"executionStats/executionStages/need*":                 "every step gives a document",
	"executionStats/executionStages/*State":                "the plan is run in one go",
	"executionStats/executionStages/inputStage/dups*":      "the index is not multikey",
	"executionStats/executionStages/inputStage/execution*": "in milliseconds: the query may take less than one",
	"executionStats/executionStages/inputStage/index*":     whole,
	"executionStats/executionStages/inputStage/isEOF":      "every plan is run to its end",
	"executionStats/executionStages/inputStage/need*":      "every step gives a key",
	"executionStats/executionStages/inputStage/seeks":      "one range is one seek",
	"executionStats/executionStages/inputStage/*State":     "the plan is run in one go",
	"executionStats/executionStages/inputStage/key*/a":     whole,
	"serverParameters/*":                                   limit,
	"serverInfo/port":                                      machineF,
}

func diagnostics() []diagnostic {
	command := func(name, db string, arg any, stay map[string]string, more ...bson.E) diagnostic {
		all := maps.Clone(mayStay)
		maps.Copy(all, stay)
		return diagnostic{name: name, db: db, cmd: append(bson.D{{Key: name, Value: arg}}, more...), stay: all}
	}
	return []diagnostic{
		command("serverStatus", "admin", 1, statusMayStay),
		command("collStats", "d", "c", map[string]string{
			"indexSizes/_id_": "records are clustered by _id", "nindexes": same, "numOrphanDocs": "orphans need several shards",
			"indexDetails/_id_/*": "records are clustered by _id", "indexDetails/*/tableBytes": "the load may fit into a memtable",
			"scaleFactor": limit,
		}),
		command("dbStats", "d", 1, map[string]string{
			"fsTotalSize": machineF, "fsUsedSize": machineF, "indexFreeStorageSize": "counted in tables: the load may fit into a memtable",
			"scaleFactor": limit, "views": same,
		}, bson.E{Key: "freeStorage", Value: 1}),
		command("listDatabases", "admin", 1, map[string]string{"databases/admin/sizeOnDisk": "admin has nothing that is stored"}),
		command("replSetGetStatus", "admin", 1, memberMayStay),
		command("explain", "d", bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "a", Value: 3}}}}, explainMayStay),
		command("connPoolStats", "admin", 1, map[string]string{"num*": "the server connects to nobody", "total*": "the server connects to nobody"}),
		command("hostInfo", "admin", 1, map[string]string{"system/mem*": machineF, "system/num*": machineF, "system/cpuAddrSize": machineF}),
		command("validate", "d", "c", map[string]string{"nIndexes": same, "nInvalidDocuments": rare, "nNonCompliantDocuments": rare}),
		command("getLog", "admin", "global", nil),
		command("dataSize", "d", "d.c", map[string]string{"millis": "the counters are read in less than a millisecond"}),
		command("top", "admin", 1, map[string]string{"totals/d.t/*/*": "made by the load"}),
	}
}

// withoutFigures are the commands that tell no figures of the server: what they do and answer is tested where they are.
const withoutFigures = `
abortTransaction aggregate authenticate buildInfo bulkWrite cloneCollectionAsCapped collMod
commitTransaction connectionStatus convertToCapped count create createIndexes currentOp delete
distinct drop dropDatabase dropIndexes endSessions find findAndModify fsync fsyncUnlock
getClusterParameter getCmdLineOpts getDefaultRWConcern getDiagnosticData getMore getParameter hello insert
isMaster killAllSessions killAllSessionsByPattern killCursors killOp killSessions
listCollections listCommands listIndexes lockInfo logRotate logout mapReduce ping planCacheClear
planCacheListFilters profile reIndex refreshSessions renameCollection saslContinue saslStart
setClusterParameter setDefaultRWConcern setFeatureCompatibilityVersion setParameter shutdown
startSession update validateDBMetadata whatsmysni whatsmyuri
`

// TestCommandsAreDiagnosticOrNot: every command has a case in diagnostics or an entry in withoutFigures.
func TestCommandsAreDiagnosticOrNot(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, d := range diagnostics() {
		known[d.name] = true
	}
	for _, name := range strings.Fields(withoutFigures) {
		known[name] = true
	}
	admin := mustOpen(t, sheaf.Memory, nil).Client().Database("admin")
	elements, err := mustRun(t, admin, "listCommands", 1).Lookup("commands").Document().Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		if !known[e.Key()] {
			t.Errorf("%s is neither in diagnostics nor in withoutFigures", e.Key())
		}
	}
}

// TestOperatorsAreCounted runs one operator of each kind that serverStatus counts, and looks for exactly one use.
func TestOperatorsAreCounted(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, sheaf.Memory, nil).Client()
	mustRun(t, client.Database("d"), "aggregate", "c", "cursor", bson.D{}, "pipeline", bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$gt", Value: 1}}}, {Key: "$or", Value: bson.A{bson.D{{Key: "b", Value: 1}}}}}}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "x", Value: bson.D{{Key: "$add", Value: bson.A{1, bson.D{{Key: "$abs", Value: "$a"}}}}}}}}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "n", Value: bson.D{{Key: "$sum", Value: "$x"}}}}}},
		bson.D{{Key: "$setWindowFields", Value: bson.D{{Key: "output", Value: bson.D{{Key: "m", Value: bson.D{{Key: "$max", Value: "$n"}}}}}}}},
	})
	mustRun(t, client.Database("d"), "find", "c", "filter", bson.D{{Key: "a", Value: bson.D{{Key: "$lt", Value: 1}}}})
	status := mustRun(t, client.Database("admin"), "serverStatus", 1)
	for _, name := range []string{
		"aggStageCounters/$match", "aggStageCounters/$project", "aggStageCounters/$group", "aggStageCounters/$setWindowFields",
		"operatorCounters/match/$gt", "operatorCounters/match/$or", "operatorCounters/match/$eq", "operatorCounters/match/$lt",
		"operatorCounters/expressions/$add", "operatorCounters/expressions/$abs", "operatorCounters/groupAccumulators/$sum",
		"operatorCounters/windowAccumulators/$max",
	} {
		v := status.Lookup(append([]string{"metrics"}, strings.Split(name, "/")...)...)
		if n, ok := v.AsInt64OK(); !ok || n != 1 {
			t.Errorf("%s is %s, used once", name, v)
		}
	}
}
