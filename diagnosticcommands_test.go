package sheaf_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// otherCommands are commands that the rest of the load does not run. What they answer does not matter here: they are counted.
func otherCommands() map[string][]bson.D {
	one := func(name string, arg any, more ...bson.E) bson.D {
		return append(bson.D{{Key: name, Value: arg}}, more...)
	}
	session := bson.A{newSession()[0].Value}
	id := bson.D{{Key: "_id", Value: 0}}
	return map[string][]bson.D{
		"admin": {
			one("authenticate", 1, bson.E{Key: "mechanism", Value: "MONGODB-X509"}), one("buildInfo", 1), one("connectionStatus", 1), one("getCmdLineOpts", 1),
			one("getDefaultRWConcern", 1), one("getParameter", 1, bson.E{Key: "quiet", Value: 1}), one("killAllSessions", session[:0]),
			one("killAllSessionsByPattern", session), one("killOp", 1, bson.E{Key: "op", Value: 0}), one("killSessions", session), one("logRotate", 1),
			one("logout", 1), one("refreshSessions", session), one("startSession", 1), one("whatsmysni", 1), one("whatsmyuri", 1), one("shutdown", 1),
			one("saslStart", 1, bson.E{Key: "mechanism", Value: "PLAIN"}, bson.E{Key: "payload", Value: bson.Binary{}}), one("fsyncUnlock", 1),
			one("saslContinue", 1, bson.E{Key: "conversationId", Value: 1}, bson.E{Key: "payload", Value: bson.Binary{}}),
			one("setFeatureCompatibilityVersion", "8.0", bson.E{Key: "confirm", Value: true}), one("getClusterParameter", "*"),
			one("bulkWrite", 1, bson.E{Key: "ops", Value: bson.A{bson.D{{Key: "insert", Value: 0}, {Key: "document", Value: id}}}},
				bson.E{Key: "nsInfo", Value: bson.A{bson.D{{Key: "ns", Value: "o.c"}}}}),
			one("renameCollection", "o.c", bson.E{Key: "to", Value: "o.d"}),
			one("validateDBMetadata", 1, bson.E{Key: "apiParameters", Value: bson.D{{Key: "version", Value: "1"}, {Key: "strict", Value: false}}}),
		},
		"o": {
			one("cloneCollectionAsCapped", "d", bson.E{Key: "toCollection", Value: "e"}, bson.E{Key: "size", Value: 4096}), one("collMod", "d"),
			one("convertToCapped", "e", bson.E{Key: "size", Value: 8192}), one("count", "d"), one("distinct", "d", bson.E{Key: "key", Value: "_id"}),
			one("findAndModify", "d", bson.E{Key: "query", Value: id}, bson.E{Key: "remove", Value: true}),
			one("killCursors", "d", bson.E{Key: "cursors", Value: bson.A{int64(1)}}), one("listCollections", 1), one("listIndexes", "d"),
			one("mapReduce", "d", bson.E{Key: "map", Value: "function() {}"}, bson.E{Key: "reduce", Value: "function() {}"},
				bson.E{Key: "out", Value: bson.D{{Key: "inline", Value: 1}}}),
			one("splitVector", "o.d", bson.E{Key: "keyPattern", Value: bson.D{{Key: "_id", Value: 1}}}, bson.E{Key: "maxChunkSizeBytes", Value: 4096}),
			one("planCacheClear", "d"), one("planCacheListFilters", "d"), one("profile", -1), one("reIndex", "d"),
			one("dropIndexes", "d", bson.E{Key: "index", Value: "*"}), one("drop", "d"), one("dropDatabase", 1),
		},
	}
}

// others runs otherCommands, and changes the limits that explain prints.
func (l *diagnosticLoad) others(t *testing.T) {
	t.Helper()
	for _, db := range []string{"admin", "o"} {
		for _, cmd := range otherCommands()[db] {
			_ = l.client.Database(db).RunCommand(t.Context(), cmd).Err()
		}
	}
	limits, err := l.must(t, "d", bson.D{{Key: "explain", Value: bson.D{{Key: "find", Value: "c"}}}}).Lookup("serverParameters").Document().Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range limits {
		if n, ok := e.Value().AsInt64OK(); ok && n > 1 {
			l.set(t, e.Key(), n-1)
		}
	}
	l.must(t, "d", bson.D{{Key: "createIndexes", Value: "c"}, {Key: "indexes", Value: bson.A{
		bson.D{{Key: "key", Value: bson.D{{Key: "z", Value: 1}}}, {Key: "name", Value: "z_1"}},
	}}})
}

// catalog makes a collection of each kind.
func (l *diagnosticLoad) catalog(t *testing.T) {
	t.Helper()
	l.must(t, "d", bson.D{{Key: "create", Value: "capped"}, {Key: "capped", Value: true}, {Key: "size", Value: 4096}})
	l.must(t, "d", bson.D{{Key: "create", Value: "clustered"}, {Key: "clusteredIndex", Value: bson.D{{Key: "key", Value: bson.D{{Key: "_id", Value: 1}}}, {Key: "unique", Value: true}}}})
	l.must(t, "d", bson.D{{Key: "create", Value: "series"}, {Key: "timeseries", Value: bson.D{{Key: "timeField", Value: "t"}}}})
	l.must(t, "d", bson.D{{Key: "create", Value: "view"}, {Key: "viewOn", Value: "c"}, {Key: "pipeline", Value: bson.A{}}})
	l.must(t, "admin", bson.D{{Key: "create", Value: "own"}})
	l.must(t, "admin", bson.D{{Key: "create", Value: "view"}, {Key: "viewOn", Value: "own"}, {Key: "pipeline", Value: bson.A{}}})
	l.must(t, "e", bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{bson.D{{Key: "x", Value: 1}}}}})
}

// compression talks with each compressor.
func (l *diagnosticLoad) compression(t *testing.T) {
	t.Helper()
	for _, name := range []string{"snappy", "zlib", "zstd"} {
		if err := l.connect(t, "&compressors="+name).Database("d").RunCommand(t.Context(), bson.D{{Key: "find", Value: "c"}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// expire lets a document expire.
func (l *diagnosticLoad) expire(t *testing.T) {
	t.Helper()
	l.must(t, "d", bson.D{{Key: "createIndexes", Value: "old"}, {Key: "indexes", Value: bson.A{
		bson.D{{Key: "key", Value: bson.D{{Key: "at", Value: 1}}}, {Key: "name", Value: "at"}, {Key: "expireAfterSeconds", Value: 0}},
	}}})
	l.must(t, "d", bson.D{{Key: "insert", Value: "old"}, {Key: "documents", Value: bson.A{bson.D{{Key: "at", Value: time.Unix(0, 0)}}}}})
	l.set(t, "ttlMonitorSleepSecs", 1)
	l.await(t, 1, "metrics", "ttl", "deletedDocuments")
}

// replan caches a plan by a value of which there is one, and runs it with one of which there are many.
func (l *diagnosticLoad) replan(t *testing.T) {
	t.Helper()
	var docs bson.A
	for i := range 3000 {
		docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "p", Value: min(i, 1)}, {Key: "q", Value: max(0, i-2000)}})
	}
	l.must(t, "d", bson.D{{Key: "insert", Value: "plans"}, {Key: "documents", Value: docs}})
	l.must(t, "d", bson.D{{Key: "createIndexes", Value: "plans"}, {Key: "indexes", Value: bson.A{
		bson.D{{Key: "key", Value: bson.D{{Key: "p", Value: 1}}}, {Key: "name", Value: "p"}},
		bson.D{{Key: "key", Value: bson.D{{Key: "q", Value: 1}}}, {Key: "name", Value: "q"}},
	}}})
	c := l.client.Database("d").Collection("plans")
	for range 4 {
		l.all(t, c, bson.D{{Key: "p", Value: 0}, {Key: "q", Value: 0}}, nil)
	}
	l.all(t, c, bson.D{{Key: "p", Value: 1}, {Key: "q", Value: 900}}, nil)
	if l.status(t, "planCache", "classic", "replanned") == 0 {
		t.Error("a plan that became a thousand times as expensive was not replanned")
	}
}
