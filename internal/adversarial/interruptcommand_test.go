package adversarial

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/commands"
	"github.com/sheafdb/sheaf/internal/feature"
)

// cmd returns a document of pairs of names and values.
func cmd(pairs ...any) bson.D {
	var out bson.D
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, bson.E{pairs[i].(string), pairs[i+1]})
	}
	return out
}

// commandAttack is a command that takes long.
type commandAttack struct {
	cmd    bson.D
	before []bson.D // commands that create its data
	after  []bson.D // commands that undo its effect
}

func eachOf(cmds ...bson.D) []commandAttack {
	var out []commandAttack
	for _, c := range cmds {
		out = append(out, commandAttack{cmd: c})
	}
	return out
}

// slowFilter is a filter that takes about a millisecond for each of the small documents of the
// collection points, and minutes for large texts.
var slowFilter = is("$expr",
	is("$eq", bson.A{is("$sum",
		is("$map", bson.D{
			{"input", is("$range", bson.A{0, 5000})},
			{"in", "$n"},
		})), int32(-1)}))

// commandAttacks returns the attacks, by the name of the command.
func commandAttacks() map[string][]commandAttack {
	l := newLists()
	uuids := many(scaled(10_000),
		func(int) any { return cmd("id", bson.Binary{Subtype: 4, Data: []byte(bson.NewObjectID().Hex()[:16])}) })
	stages := many(900, func(i int) any { return is("$match", is("v", is("$ne", int32(-i)))) })
	loop := bson.JavaScript("function() { for (;;) {} }")
	emit := bson.JavaScript("function() { emit(this._id % 2, 1) }")
	sum := bson.JavaScript("function(k, v) { return Array.sum(v) }")
	inline := cmd("inline", 1)
	update := cmd("q", slowFilter, "u", is("$set", is("x", 1)), "multi", true)
	slow := cmd("find", "points", "filter", slowFilter)
	index := func(coll string, keys bson.D) commandAttack {
		return commandAttack{
			cmd:   cmd("createIndexes", coll, "indexes", bson.A{cmd("key", keys, "name", "built")}),
			after: []bson.D{cmd("dropIndexes", coll, "index", "built")},
		}
	}
	wide := func(name string, args ...any) bson.D { return cmd(append([]any{name, 1}, args...)...) }
	names := is("$in", l.patterns)
	explain := func(c bson.D) bson.D { return cmd("explain", c, "verbosity", "executionStats") }
	ops := func(ops ...any) bson.D {
		return cmd("bulkWrite", 1, "ops", bson.A(ops), "nsInfo",
			bson.A{cmd("ns", "d.points"), cmd("ns", "d.validated"), cmd("ns", "d.indexed")})
	}
	numbers := many(scaled(600_000), func(i int) any { return int32(i * 7919 % 1_000_003) })
	large := cmd("_id", "fresh", "v", numbers)
	remove := func(coll string) []bson.D {
		return []bson.D{cmd("delete", coll, "deletes", bson.A{cmd("q", is("_id", "fresh"), "limit", 1)})}
	}
	made := []bson.D{cmd("drop", "inserted")}
	upserts := many(scaled(100_000), func(i int) any { return cmd("q", is("_id", i), "u", is("x", 1), "upsert", true) })
	deletes := many(scaled(100_000), func(i int) any { return cmd("q", is("_id", i), "limit", 1) })
	bulk := many(scaled(100_000), func(i int) any {
		return cmd("update", 0, "filter", is("_id", i), "updateMods", is("x", 1), "upsert", true)
	})
	indexNames, indexSpecs, sparseSpecs := make(bson.A, 50), make(bson.A, 50), make(bson.A, 50)
	for i := range indexNames {
		indexNames[i] = fmt.Sprint("built", i)
		indexSpecs[i] = cmd("key",
			bson.D{{"n", 1}, {fmt.Sprint("f", i), 1}}, "name", indexNames[i])
		sparseSpecs[i] = cmd("key", cmd(fmt.Sprint("x", i), 1, fmt.Sprint("y", i), 1), "name",
			indexNames[i], "sparse", true)
	}
	filled := func(coll string) []bson.D {
		return []bson.D{
			cmd("drop", coll),
			cmd("aggregate", "points", "pipeline", bson.A{is("$out", coll)}, "cursor", bson.D{}),
		}
	}
	return map[string][]commandAttack{
		"aggregate": eachOf(
			cmd("aggregate", "view", "pipeline", bson.A{is("$match", slowFilter)}, "cursor", bson.D{}),
			cmd("aggregate", "points", "pipeline",
				bson.A{
					is("$lookup", cmd("from", "view", "localField", "n", "foreignField", "nosuch", "as", "r")),
					is("$match", is("nosuch", 1)),
				}, "cursor", bson.D{}),
			cmd("aggregate", "points", "pipeline", stages, "cursor", bson.D{}),
		),
		"bulkWrite": {
			{cmd: ops(cmd("update", 0, "filter", slowFilter, "updateMods", is("$set", is("x", 1)), "multi", true))},
			{cmd: ops(cmd("delete", 0, "filter", slowFilter, "multi", true))},
			{cmd: ops(cmd("insert", 1, "document", large)), after: remove("validated")},
			{cmd: ops(cmd("insert", 2, "document", large)), after: remove("indexed")},
			{cmd: cmd("bulkWrite", 1, "ops", bulk, "nsInfo", bson.A{cmd("ns", "d.inserted")}), after: made},
		},
		"collMod": {
			{cmd: cmd("collMod", "valid", "validator", is("v", is("$in", l.regexes)))},
			{cmd: cmd("collMod", "valid", "validator",
				is("$or", conditions(scaled(20_000), func(i int) any { return is("$gt", fmt.Sprint("u", i)) })))},
			{
				before: append(filled("counted"),
					cmd("createIndexes", "counted", "indexes", bson.A{cmd("key", is("n", 1), "name", "n")}),
					cmd("collMod", "counted", "index", cmd("name", "n", "prepareUnique", true))),
				cmd:   cmd("collMod", "counted", "index", cmd("name", "n", "unique", true)),
				after: []bson.D{cmd("drop", "counted")},
			},
		},
		"collStats": eachOf(cmd("collStats", "large"), cmd("collStats", "indexed")),
		"cloneCollectionAsCapped": {{cmd: cmd("cloneCollectionAsCapped", "points", "toCollection", "capped", "size",
			1<<20), after: []bson.D{cmd("drop", "capped")}}},
		"convertToCapped": {{
			before: filled("tocap"), cmd: cmd("convertToCapped", "tocap", "size", 1<<20),
			after: []bson.D{cmd("drop", "tocap")},
		}},
		"count": eachOf(cmd("count", "points", "query", slowFilter), cmd("count", "view", "query", slowFilter),
			cmd("count", "large", "query", is("v", is("$in", l.patterns)))),
		"create": {
			{
				cmd:   cmd("create", "made", "validator", is("v", is("$in", l.regexes))),
				after: []bson.D{cmd("drop", "made")},
			},
			{cmd: cmd("create", "made", "viewOn", "points", "pipeline", stages), after: []bson.D{cmd("drop", "made")}},
			{
				cmd: cmd("create", "made", "viewOn", "points", "pipeline",
					bson.A{is("$match", is("$or", conditions(scaled(200_000), func(i int) any { return int32(i) })))}),
				after: []bson.D{cmd("drop", "made")},
			},
		},
		"createIndexes": {
			index("large", is("v", 1)),
			index("large", bson.D{{"v.k", 1}, {"v.v", -1}}), index("large", is("$**", 1)),
			index("large", is("$**", "text")), index("points", is("p.0", 1)),
			{
				cmd:   cmd("createIndexes", "points", "indexes", indexSpecs),
				after: []bson.D{cmd("dropIndexes", "points", "index", indexNames)},
			},
			{
				cmd:   cmd("createIndexes", "broad", "indexes", sparseSpecs),
				after: []bson.D{cmd("dropIndexes", "broad", "index", indexNames)},
			},
		},
		"currentOp": eachOf(wide("currentOp", "command.comment", names)),
		"dataSize": eachOf(cmd("dataSize", "d.points"),
			cmd("dataSize", "d.indexed", "keyPattern", is("v", 1), "min", is("v", bson.MinKey{}),
				"max", is("v", bson.MaxKey{}))),
		"dbStats": eachOf(wide("dbStats"), wide("dbStats", "freeStorage", 1)),
		"delete": {
			{cmd: cmd("delete", "points", "deletes", bson.A{cmd("q", slowFilter, "limit", 0)})},
			{
				before: []bson.D{cmd("insert", "indexed", "documents", bson.A{large})}, cmd: remove("indexed")[0],
				after: remove("indexed"),
			},
			{cmd: cmd("delete", "points", "deletes", deletes)},
		},
		"distinct": eachOf(cmd("distinct", "large", "key", "v"), cmd("distinct", "large", "key", "v.k"),
			cmd("distinct", "indexed", "key", "v"), cmd("distinct", "points", "key", "n", "query", slowFilter),
			cmd("distinct", "view", "key", "n", "query", slowFilter)),
		"drop":         {{before: filled("dropped"), cmd: cmd("drop", "dropped")}},
		"dropDatabase": {{cmd: wide("dropDatabase")}},
		"dropIndexes": {{
			before: append(filled("dropped"),
				cmd("createIndexes", "dropped", "indexes", bson.A{cmd("key", is("$**", 1), "name", "built")})),
			cmd: cmd("dropIndexes", "dropped", "index", "*"), after: []bson.D{cmd("drop", "dropped")},
		}},
		"endSessions": eachOf(cmd("endSessions", uuids)),
		"explain": eachOf(
			explain(slow), explain(cmd("aggregate", "view", "pipeline", bson.A{is("$match", slowFilter)}, "cursor",
				bson.D{})), explain(cmd("count", "points", "query", slowFilter)),
			explain(cmd("distinct", "large", "key", "v")), explain(cmd("update", "points", "updates", bson.A{update})),
			explain(cmd("delete", "points", "deletes", bson.A{cmd("q", slowFilter, "limit", 0)})),
			explain(cmd("findAndModify", "points", "query", slowFilter, "remove", true)),
			explain(cmd("find", "large", "filter", is("v", is("$in", l.patterns)))),
			explain(cmd("find", "indexed", "filter",
				is("$or", conditions(scaled(20_000), func(i int) any { return is("$gt", fmt.Sprint("u", i)) })))),
			explain(cmd("mapReduce", "points", "map", emit, "reduce", sum, "query", slowFilter, "out", inline)),
		),
		"find": eachOf(slow, cmd("find", "view", "filter", slowFilter),
			cmd("find", "large", "filter", is("v", is("$in", l.patterns))),
			cmd("find", "points", "filter", slowFilter, "sort", is("n", -1))),
		"findAndModify": eachOf(cmd("findAndModify", "points", "query", slowFilter, "remove", true),
			cmd("findAndModify", "points", "query", slowFilter, "sort", is("n", 1), "update", is("$set", is("x", 1))),
			cmd("findAndModify", "large", "query", is("_id", "numbers"), "update",
				is("$pull", is("v", is("$in", l.regexes))))),
		"insert": {
			{cmd: cmd("insert", "validated", "documents", bson.A{large}), after: remove("validated")},
			{cmd: cmd("insert", "indexed", "documents", bson.A{large}), after: remove("indexed")},
			{cmd: cmd("insert", "judged", "documents", bson.A{cmd("_id", "judged", "n", 100_000)})},
			{
				cmd: cmd("insert", "inserted", "documents",
					many(scaled(100_000), func(i int) any { return is("n", i) })),
				after: []bson.D{cmd("drop", "inserted")},
			},
		},
		"killAllSessions": eachOf(cmd("killAllSessions", bson.A{})),
		"killAllSessionsByPattern": eachOf(cmd("killAllSessionsByPattern",
			many(scaled(20_000), func(int) any { return cmd("lsid", uuids[0]) }))),
		"killCursors": eachOf(cmd("killCursors", "points", "cursors",
			many(scaled(200_000), func(i int) any { return int64(i + 1) }))),
		"killSessions": eachOf(cmd("killSessions", uuids)),
		"listCollections": eachOf(wide("listCollections", "filter", is("name", names)),
			wide("listCollections", "filter", slowFilter)),
		"listDatabases": eachOf(wide("listDatabases"), wide("listDatabases", "filter", is("name", names))),
		"lockInfo":      eachOf(wide("lockInfo")),
		"mapReduce": eachOf(
			cmd("mapReduce", "points", "map", loop, "reduce", sum, "out", inline),
			cmd("mapReduce", "points", "map", emit, "reduce", loop, "out", inline),
			cmd("mapReduce", "points", "map", emit, "reduce", sum, "finalize", loop, "out", inline),
			cmd("mapReduce", "points", "map", emit, "reduce", sum, "query", slowFilter, "out", inline),
			cmd("mapReduce", "points", "map", emit, "reduce", sum, "sort", is("n", -1), "out", "reduced"),
			cmd("mapReduce", "points", "map", bson.JavaScript("function() { for (let i = 0; i < 1e6; i++) emit(i, this._id) }"), "reduce", sum, "out", inline),
		),
		"planCacheClear": eachOf(cmd("planCacheClear", "points", "query",
			is("$or", conditions(scaled(20_000), func(i int) any { return is("$gt", fmt.Sprint("u", i)) })))),
		"refreshSessions": eachOf(cmd("refreshSessions", uuids)),
		"renameCollection": {{
			before: filled("renamed"),
			cmd:    cmd("renameCollection", "d.renamed", "to", "other.renamed", "dropTarget", true),
			after:  []bson.D{cmd("drop", "renamed")},
		}},
		"serverStatus": eachOf(wide("serverStatus")),
		"splitVector": eachOf(cmd("splitVector", "d.points", "keyPattern", is("_id", 1), "maxChunkSizeBytes", 1024),
			cmd("splitVector", "d.indexed", "keyPattern", is("v", 1), "maxChunkSizeBytes", 1024)),
		"top": eachOf(wide("top")),
		"update": eachOf(cmd("update", "points", "updates", bson.A{update}),
			cmd("update", "validated", "updates",
				bson.A{cmd("q", is("_id", "up"), "u", is("$set", is("v", numbers)), "upsert", true)}),
			cmd("update", "inserted", "updates", upserts)),
		"validate": eachOf(cmd("validate", "indexed"),
			cmd("validate", "indexed", "full", true), cmd("validate", "large")),
		"validateDBMetadata": eachOf(wide("validateDBMetadata", "apiParameters", cmd("version", "1"))),
	}
}

var (
	// onAdmin are the commands that run in the database admin.
	onAdmin = map[string]bool{
		"bulkWrite": true, "currentOp": true, "listDatabases": true, "lockInfo": true,
		"renameCollection": true, "top": true, "killAllSessions": true, "killAllSessionsByPattern": true,
	}
	// onWide are the commands that run in the database wide, which has many collections.
	onWide = map[string]bool{"dropDatabase": true, "dbStats": true, "listCollections": true, "validateDBMetadata": true}
)

// brief are the commands that cannot take long, and so have no attack, each with the reason.
var brief = func() map[string]string {
	out := map[string]string{
		"getMore":           "runs what its cursor's command began, of which the other lists have attacks",
		"shutdown":          "ends the server",
		"fsync":             "waits for the disk only, and unlocks",
		"reIndex":           "refused by a member of a replica set",
		"abortTransaction":  "runs to its end, as a commit does",
		"commitTransaction": "a commit whose message arrived runs to its end",
		"waitForFailPoint":  "waits", "replSetStepDown": "waits",
		"listIndexes": "a collection has at most 64 indexes",
		"fsyncUnlock": "waits for nothing", "coordinateCommitTransaction": "of a sharded cluster",
	}
	for reason, names := range map[string][]string{
		"answers from settings": {
			"getClusterParameter", "getCmdLineOpts", "getDefaultRWConcern", "getLog",
			"getParameter", "setClusterParameter", "setDefaultRWConcern", "setFeatureCompatibilityVersion",
			"setParameter", "profile", "logRotate", "configureFailPoint",
		},
		"answers from counters": {
			"connectionStatus", "features", "hostInfo", "buildInfo", "getDiagnosticData",
			"replSetGetStatus", "replSetGetConfig", "replSetGetRBID", "connPoolStats", "shardingState", "listCommands",
			"whatsmyuri", "whatsmysni", "planCacheListFilters",
		},
		"is of one document": {"appendOplogNote", "replSetResizeOplog", "replSetStepUp", "startSession", "killOp"},
		"shakes hands": {
			"hello", "isMaster", "ping", "saslStart", "saslContinue",
			"logout", "getnonce", "authenticate",
		},
	} {
		for _, name := range names {
			out[name] = reason
		}
	}
	return out
}()

// endlessFilter returns a filter that takes minutes for a document whose n is 100,000.
func endlessFilter() bson.D {
	sum := func(name string, length, in any) bson.D {
		return is("$sum", is("$map", cmd("input", is("$range", bson.A{0, length}), "as", name, "in", in)))
	}
	return is("$expr", is("$eq", bson.A{sum("x", "$n", sum("y", is("$add", bson.A{"$n", "$$x"}), "$$y")), -1}))
}

// newCommands adds the collections and views that the attacks on commands need.
func newCommands(t *testing.T, db *mongo.Database) {
	t.Helper()
	for _, c := range []bson.D{
		cmd("create", "view", "viewOn", "points", "pipeline", bson.A{is("$set", is("y", 1))}),
		cmd("create", "valid"),
		cmd("create", "judged", "validator", endlessFilter()),
		cmd("create", "validated", "validator",
			is("v", is("$not", is("$elemMatch",
				is("$or", conditions(scaled(2000),
					func(i int) any { return int32(-i - 1) }))))), "validationAction", "error"),
	} {
		if err := db.RunCommand(t.Context(), c).Err(); err != nil {
			t.Fatal(err)
		}
	}
	broad := append(bson.D{{"_id", 0}}, manyFields(1000, func(int) any { return int32(1) })...)
	for i := range scaled(5000) {
		broad[0].Value = i
		if _, err := db.Collection("broad").InsertOne(t.Context(), broad); err != nil {
			t.Fatal(err)
		}
	}
	makeWide(t, db.Client())
}

// makeWide creates many collections in the database wide.
func makeWide(t *testing.T, client *mongo.Client) {
	t.Helper()
	for i := range scaled(2000) {
		if err := client.Database("wide").
			RunCommand(t.Context(), cmd("create", fmt.Sprintf("c%d", i))).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// interruptCommands interrupts each command, run in a way that takes long.
func interruptCommands(t *testing.T, db *mongo.Database) {
	newCommands(t, db)
	all := commandAttacks()
	here, admin, wide := newMeasure(t, db), newMeasure(t,
		db.Client().Database("admin")), newMeasure(t, db.Client().Database("wide"))
	number, known := 0, map[string]bool{}
	for _, d := range commands.Definitions() {
		list := all[d.Name]
		known[d.Name] = true
		if d.Status != feature.Supported || d.Refuse != nil || d.TestOnly {
			continue
		}
		if (len(list) > 0) == (brief[d.Name] != "") {
			t.Errorf("%s has no case: write one into commandAttacks, or a reason into brief", d.Name)
		}
		m := here
		switch {
		case onAdmin[d.Name]:
			m = admin
		case onWide[d.Name]:
			m = wide
		}
		for i, a := range list {
			if number++; *long || number%shortShare(4) == 0 || d.Name == "insert" {
				m.around(fmt.Sprintf("%s %d", d.Name, i), a)
			}
		}
		if d.Name == "dropDatabase" && *long {
			makeWide(t, db.Client())
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(all)), slices.Collect(maps.Keys(brief))) {
		if !known[name] {
			t.Errorf("%s is no command", name)
		}
	}
	for _, m := range []*measure{admin, wide} {
		for kind, overs := range m.overs {
			here.overs[kind] = append(here.overs[kind], overs...)
		}
	}
	here.report()
}

// around runs the commands in before, checks the command of the attack, and runs the commands in
// after.
func (m *measure) around(name string, a commandAttack) {
	m.t.Helper()
	prepare := func(cmds []bson.D) {
		for _, c := range cmds {
			_ = m.db.Client().Database("d").RunCommand(m.t.Context(), c).Err()
		}
	}
	prepare(a.before)
	m.check(name, a.cmd)
	prepare(a.after)
}
