package sheaf_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// otherCommands returns commands that the rest of the load does not run. The test ignores their
// replies: the server must only count the commands.
func otherCommands() map[string][]bson.D {
	one := func(name string, arg any, more ...bson.E) bson.D {
		return append(bson.D{{name, arg}}, more...)
	}
	session := bson.A{newSession()[0].Value}
	id := bson.D{{"_id", 0}}
	return map[string][]bson.D{
		"admin": {
			one("authenticate", 1, bson.E{"mechanism", "MONGODB-X509"}), one("buildInfo", 1),
			one("connectionStatus", 1), one("getCmdLineOpts", 1),
			one("getDefaultRWConcern", 1), one("getParameter", 1, bson.E{"quiet", 1}),
			one("killAllSessions", session[:0]),
			one("killAllSessionsByPattern", session), one("killOp", 1, bson.E{"op", 0}),
			one("killSessions", session), one("logRotate", 1),
			one("logout", 1), one("refreshSessions", session), one("startSession", 1), one("whatsmysni", 1),
			one("whatsmyuri", 1), one("shutdown", 1),
			one("saslStart", 1, bson.E{"mechanism", "PLAIN"}, bson.E{"payload", bson.Binary{}}), one("fsyncUnlock", 1),
			one("saslContinue", 1, bson.E{"conversationId", 1}, bson.E{"payload", bson.Binary{}}),
			one("setFeatureCompatibilityVersion", "8.0", bson.E{"confirm", true}), one("getClusterParameter", "*"),
			one("bulkWrite", 1, bson.E{"ops", bson.A{bson.D{{"insert", 0}, {"document", id}}}},
				bson.E{"nsInfo", bson.A{bson.D{{"ns", "o.c"}}}}),
			one("renameCollection", "o.c", bson.E{"to", "o.d"}),
			one("validateDBMetadata", 1, bson.E{"apiParameters", bson.D{{"version", "1"}, {"strict", false}}}),
		},
		"o": {
			one("cloneCollectionAsCapped", "d", bson.E{"toCollection", "e"}, bson.E{"size", 4096}), one("collMod", "d"),
			one("convertToCapped", "e", bson.E{"size", 8192}), one("count", "d"),
			one("distinct", "d", bson.E{"key", "_id"}),
			one("findAndModify", "d", bson.E{"query", id}, bson.E{"remove", true}),
			one("killCursors", "d", bson.E{"cursors", bson.A{int64(1)}}),
			one("listCollections", 1), one("listIndexes", "d"),
			one("mapReduce", "d", bson.E{"map", "function() {}"}, bson.E{"reduce", "function() {}"},
				bson.E{"out", bson.D{{"inline", 1}}}),
			one("splitVector", "o.d", bson.E{"keyPattern", bson.D{{"_id", 1}}}, bson.E{"maxChunkSizeBytes", 4096}),
			one("planCacheClear", "d"), one("planCacheListFilters", "d"), one("profile", -1), one("reIndex", "d"),
			one("dropIndexes", "d", bson.E{"index", "*"}), one("drop", "d"), one("dropDatabase", 1),
		},
	}
}

// others runs otherCommands. It also changes the limits that explain prints.
func (l *diagnosticLoad) others(t *testing.T) {
	t.Helper()
	for _, db := range []string{"admin", "o"} {
		for _, cmd := range otherCommands()[db] {
			_ = l.client.Database(db).RunCommand(t.Context(), cmd).Err()
		}
	}
	limits, err := l.must(t, "d", bson.D{{"explain", bson.D{{"find", "c"}}}}).
		Lookup("serverParameters").Document().Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range limits {
		if n, ok := e.Value().AsInt64OK(); ok && n > 1 {
			l.set(t, e.Key(), n-1)
		}
	}
	l.must(t, "d", bson.D{{"createIndexes", "c"}, {"indexes", bson.A{
		bson.D{{"key", bson.D{{"z", 1}}}, {"name", "z_1"}},
	}}})
}

// catalog creates a collection of each kind, such as a view or a capped collection.
func (l *diagnosticLoad) catalog(t *testing.T) {
	t.Helper()
	l.must(t, "d", bson.D{{"create", "capped"}, {"capped", true}, {"size", 4096}})
	l.must(t, "d", bson.D{
		{"create", "clustered"},
		{"clusteredIndex", bson.D{{"key", bson.D{{"_id", 1}}}, {"unique", true}}},
	})
	l.must(t, "d", bson.D{{"create", "series"}, {"timeseries", bson.D{{"timeField", "t"}}}})
	l.must(t, "d", bson.D{{"create", "view"}, {"viewOn", "c"}, {"pipeline", bson.A{}}})
	l.must(t, "admin", bson.D{{"create", "own"}})
	l.must(t, "admin", bson.D{{"create", "view"}, {"viewOn", "own"}, {"pipeline", bson.A{}}})
	l.must(t, "e", bson.D{{"insert", "c"}, {"documents", bson.A{bson.D{{"x", 1}}}}})
}

// compression uses each compressor.
func (l *diagnosticLoad) compression(t *testing.T) {
	t.Helper()
	for _, name := range []string{"snappy", "zlib", "zstd"} {
		if err := l.connect(t, "&compressors="+name).Database("d").
			RunCommand(t.Context(), bson.D{{"find", "c"}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// expire lets a document expire.
func (l *diagnosticLoad) expire(t *testing.T) {
	t.Helper()
	l.must(t, "d", bson.D{{"createIndexes", "old"}, {"indexes", bson.A{
		bson.D{{"key", bson.D{{"at", 1}}}, {"name", "at"}, {"expireAfterSeconds", 0}},
	}}})
	l.must(t, "d", bson.D{{"insert", "old"}, {"documents", bson.A{bson.D{{"at", time.Unix(0, 0)}}}}})
	l.set(t, "ttlMonitorSleepSecs", 1)
	l.await(t, 1, "metrics", "ttl", "deletedDocuments")
}

// replan caches a plan with a rare value, and runs it with a frequent value.
func (l *diagnosticLoad) replan(t *testing.T) {
	t.Helper()
	var docs bson.A
	for i := range 3000 {
		docs = append(docs, bson.D{{"_id", i}, {"p", min(i, 1)}, {"q", max(0, i-2000)}})
	}
	l.must(t, "d", bson.D{{"insert", "plans"}, {"documents", docs}})
	l.must(t, "d", bson.D{{"createIndexes", "plans"}, {"indexes", bson.A{
		bson.D{{"key", bson.D{{"p", 1}}}, {"name", "p"}},
		bson.D{{"key", bson.D{{"q", 1}}}, {"name", "q"}},
	}}})
	c := l.client.Database("d").Collection("plans")
	for range 4 {
		l.all(t, c, bson.D{{"p", 0}, {"q", 0}}, nil)
	}
	l.all(t, c, bson.D{{"p", 1}, {"q", 900}}, nil)
	if l.status(t, "planCache", "classic", "replanned") == 0 {
		t.Error("a plan that became a thousand times as expensive was not replanned")
	}
}
