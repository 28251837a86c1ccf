package sheaf_test

import (
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// diagnostic is a command whose reply has numbers about the server.
type diagnostic struct {
	name string
	db   string
	cmd  bson.D
	// stay lists the numeric fields whose values may be the same after the load. A key is a pattern
	// for path.Match. Its value is the reason.
	stay map[string]string
}

// patience is how long a figure may take to change after the load. Some monitors run only every few
// seconds.
const patience = time.Minute

// TestDiagnosticsAreMeasured runs each diagnostic command before a load that affects everything
// that a server counts. It runs the commands again while the load still has cursors, transactions
// and operations open. Each numeric field must have changed, unless it is in the list of fields
// that may stay.
func TestDiagnosticsAreMeasured(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	l := newDiagnosticLoad(t)
	commands := diagnostics()
	before := map[string]map[string]string{}
	for _, d := range commands {
		before[d.name] = l.figures(t, d)
	}
	l.run(t)
	still := map[string]map[string]string{}
	for _, d := range commands {
		still[d.name] = d.unmoved(before[d.name], l.figures(t, d))
		for pattern := range d.stay {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(l.figures(t, d))),
				func(field string) bool { return covers(pattern, field) }) {
				t.Errorf("%s: no field matches %s, which may stay", d.name, pattern)
			}
		}
	}
	l.lock(t)
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		l.endSession(t)
		left := 0
		for _, d := range commands {
			if len(still[d.name]) > 0 {
				still[d.name] = intersection(still[d.name], d.unmoved(before[d.name], l.figures(t, d)))
				left += len(still[d.name])
			}
		}
		if left == 0 || time.Now().After(deadline) {
			break
		}
	}
	for _, d := range commands {
		for _, field := range slices.Sorted(maps.Keys(still[d.name])) {
			t.Errorf("%s: %s is %s before and after the load", d.name, field, still[d.name][field])
		}
	}
}

// unmoved returns the fields that have not changed, although they must.
func (d *diagnostic) unmoved(before, after map[string]string) map[string]string {
	out := map[string]string{}
	for field, v := range after {
		if before[field] == v && matching(d.stay, field) == "" {
			out[field] = v
		}
	}
	return out
}

// intersection returns the fields of a that are also in b. So a gauge that has changed once counts
// as measured.
func intersection(a, b map[string]string) map[string]string {
	maps.DeleteFunc(a, func(field, _ string) bool { _, ok := b[field]; return !ok })
	return a
}

// covers reports whether a field matches a pattern of path.Match. A pattern that ends in /**
// matches all fields below the path.
func covers(pattern, field string) bool {
	if above, ok := strings.CutSuffix(pattern, "/**"); ok {
		names := strings.Split(field, "/")
		depth := strings.Count(above, "/") + 1
		if depth >= len(names) {
			return false
		}
		pattern, field = above, strings.Join(names[:depth], "/")
	}
	ok, err := path.Match(pattern, field)
	if err != nil {
		panic(err)
	}
	return ok
}

// matching returns a pattern that a field matches, or "".
func matching(patterns map[string]string, field string) string {
	for p := range patterns {
		if covers(p, field) {
			return p
		}
	}
	return ""
}

// figures runs a command and returns the numbers, dates and times of its reply. A key is the path
// of a field, with slashes between the names.
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

// withoutFigures lists the commands whose replies have no numbers about the server. Other tests
// cover their effects and replies.
const withoutFigures = `
abortTransaction aggregate authenticate buildInfo bulkWrite cloneCollectionAsCapped collMod
commitTransaction connectionStatus convertToCapped count create createIndexes delete
distinct drop dropDatabase dropIndexes endSessions find findAndModify fsync fsyncUnlock
getClusterParameter getCmdLineOpts getDefaultRWConcern getMore getParameter hello insert
isMaster killAllSessions killAllSessionsByPattern killCursors killOp killSessions
listCollections listCommands listIndexes logRotate logout mapReduce ping planCacheClear
planCacheListFilters profile reIndex refreshSessions renameCollection saslContinue saslStart
setClusterParameter setDefaultRWConcern setFeatureCompatibilityVersion setParameter shutdown
splitVector startSession update validateDBMetadata whatsmysni whatsmyuri
`

// TestCommandsAreDiagnosticOrNot: every command has a case in diagnostics or an entry in
// withoutFigures.
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

// TestOperatorsAreCounted runs one operator of each kind that serverStatus counts, and expects
// exactly one use.
func TestOperatorsAreCounted(t *testing.T) {
	t.Parallel()
	client := mustOpen(t, sheaf.Memory, nil).Client()
	mustRun(t, client.Database("d"), "aggregate", "c", "cursor", bson.D{}, "pipeline", bson.A{
		bson.D{{"$match", bson.D{{"a", bson.D{{"$gt", 1}}}, {"$or", bson.A{bson.D{{"b", 1}}}}}}},
		bson.D{{"$project", bson.D{{"x", bson.D{{"$add", bson.A{1, bson.D{{"$abs", "$a"}}}}}}}}},
		bson.D{{"$group", bson.D{{"_id", nil}, {"n", bson.D{{"$sum", "$x"}}}}}},
		bson.D{{"$setWindowFields", bson.D{{"output", bson.D{{"m", bson.D{{"$max", "$n"}}}}}}}},
	})
	mustRun(t, client.Database("d"), "find", "c", "filter", bson.D{{"a", bson.D{{"$lt", 1}}}})
	status := mustRun(t, client.Database("admin"), "serverStatus", 1)
	for _, name := range []string{
		"aggStageCounters/$match", "aggStageCounters/$project", "aggStageCounters/$group",
		"aggStageCounters/$setWindowFields",
		"operatorCounters/match/$gt", "operatorCounters/match/$or",
		"operatorCounters/match/$eq", "operatorCounters/match/$lt",
		"operatorCounters/expressions/$add", "operatorCounters/expressions/$abs",
		"operatorCounters/groupAccumulators/$sum",
		"operatorCounters/windowAccumulators/$max",
	} {
		v := status.Lookup(append([]string{"metrics"}, strings.Split(name, "/")...)...)
		if n, ok := v.AsInt64OK(); !ok || n != 1 {
			t.Errorf("%s is %s, used once", name, v)
		}
	}
}
