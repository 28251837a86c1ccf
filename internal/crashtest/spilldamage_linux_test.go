package crashtest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/torture"
)

// spills are the parameters that limit the memory of a stage, with commands that exceed a limit of
// 40 KiB. A parameter without a command fails the test.
var spills = map[string][]string{
	"internalQueryMaxBlockingSortMemoryUsageBytes": {
		`{"find": "c", "filter": {}, "sort": {"noise": 1}, "batchSize": 2}`,
		`{"aggregate": "c", "cursor": {"batchSize": 2}, "pipeline": [{"$set": {"x": "$a"}}, {"$sort": {"x": -1, "noise": 1}}]}`,
	},
	"internalDocumentSourceGroupMaxMemoryBytes": {
		`{"aggregate": "c", "cursor": {"batchSize": 2}, "pipeline": [{"$group": {"_id": "$noise", "n": {"$sum": "$a"}}}, {"$set": {"y": 1}}]}`,
		`{"aggregate": "c", "cursor": {"batchSize": 2}, "pipeline": [{"$group": {"_id": {"$mod": ["$a", 50]}, "all": {"$push": "$noise"}}}]}`,
	},
	"internalDocumentSourceSetWindowFieldsMaxMemoryBytes": {
		`{"aggregate": "c", "cursor": {"batchSize": 2}, "pipeline": [{"$setWindowFields": {"sortBy": {"_id": 1}, "output": {"n": {"$sum": "$a", "window": {"documents": ["unbounded", "unbounded"]}}}}}]}`,
	},
	"internalDocumentSourceBucketAutoMaxMemoryBytes": {
		`{"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [{"$bucketAuto": {"groupBy": "$noise", "buckets": 20}}]}`,
	},
	"internalDocumentSourceGraphLookupMaxMemoryBytes": {
		`{"aggregate": "c", "cursor": {"batchSize": 1}, "pipeline": [{"$limit": 3}, {"$graphLookup": {"from": "c", "startWith": "$a", "connectFromField": "next", "connectToField": "a", "as": "all"}}, {"$unwind": "$all"}]}`,
	},
}

// lookupSpills are commands with $lookup that build a table of the foreign collection. The table
// may take a share of the requests' memory.
var lookupSpills = []string{
	`{"aggregate": "c", "cursor": {"batchSize": 3}, "pipeline": [{"$lookup": {"from": "c", "localField": "next", "foreignField": "a", "as": "all"}}]}`,
	`{"aggregate": "c", "cursor": {"batchSize": 3}, "pipeline": [{"$lookup": {"from": "c", "localField": "a", "foreignField": "next", "as": "all"}}, {"$unwind": "$all"}]}`,
}

// lookupRequestMemory is a memory limit for requests with which the commands of lookupSpills spill.
const lookupRequestMemory = 256 << 10

// spillFiles are the source files that use temporary files, with the commands that reach them. A
// source file that is not in this list fails the test.
var spillFiles = map[string]string{
	"spill/runs.go": "internalQueryMaxBlockingSortMemoryUsageBytes, internalDocumentSourceGroupMaxMemoryBytes, " +
		"and whatever has a sorter",
	"spill/deque.go":                "internalDocumentSourceSetWindowFieldsMaxMemoryBytes",
	"spill/set.go":                  "internalDocumentSourceGraphLookupMaxMemoryBytes",
	"spill/file.go":                 "a tempfile.File with a buffer",
	"pipeline/foreign/filetable.go": "lookupSpills",
	"tempfile/file.go":              "itself",
}

// notSpilled are the parameters of stages that do not use the disk.
var notSpilled = []string{
	"internalQueryFacetMaxOutputDocSizeBytes", "internalDocumentSourceDensifyMaxMemoryBytes",
	"internalLookupStageIntermediateDocumentMaxSizeBytes", // limits the size of a document
}

const spillBound = 40 << 10

// openSpills returns the temporary files in a directory that this process has open, as paths under
// /proc.
func openSpills(t *testing.T, dir string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	for _, e := range entries {
		path := filepath.Join("/proc/self/fd", e.Name())
		if to, err := os.Readlink(path); err == nil && strings.HasPrefix(to, filepath.Join(dir, "_tmp")) {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestDamagedSpills damages the temporary files of an operation between its batches. The operation
// must fail, or give the right answer.
func TestDamagedSpills(t *testing.T) {
	torture.SkipShort(t)
	run := torture.Begin(t)
	dir := t.TempDir()
	db, err := sheaf.Open(dir, &sheaf.Options{TestCommands: true})
	must(t, err)
	defer db.Close()
	fillForSpills(t, db)
	checkSpillParameters(t, db)
	outcomes := map[string]int{}
	for round := 0; run.Next(1, 0); round++ {
		rng := run.Rand(round)
		for _, param := range slices.Sorted(maps.Keys(spills)) {
			setSpillBound(t, db, param, spillBound)
			damageSpills(t, db, dir, param, spills[param], rng, outcomes)
			setSpillBound(t, db, param, 100<<20)
		}
	}
	t.Log(outcomes)
	if outcomes["failed"] == 0 {
		t.Error("no damage was noticed")
	}
}

// damageSpills runs commands and damages their temporary files in each way.
func damageSpills(t *testing.T, db *sheaf.DB, dir, name string, cmds []string,
	rng *rand.Rand, outcomes map[string]int,
) {
	t.Helper()
	for i, cmd := range cmds {
		want, _, err := readSpilling(t, db, dir, cmd, nil)
		must(t, err)
		for _, d := range spillDamages {
			got, n, err := readSpilling(t, db, dir, cmd, func(path string) { d.do(t, rng, path) })
			outcomes[judgeSpill(t, name, cmd, d.name, n, want, got, err)]++
			if t.Failed() {
				t.Fatalf("case: %s, command %d, %s", name, i, d.name)
			}
		}
	}
}

// TestDamagedLookupSpills does the same as TestDamagedSpills for the table of a $lookup.
func TestDamagedLookupSpills(t *testing.T) {
	torture.SkipShort(t)
	run := torture.Begin(t)
	dir := t.TempDir()
	db, err := sheaf.Open(dir, &sheaf.Options{RequestMemory: lookupRequestMemory})
	must(t, err)
	defer db.Close()
	fillForSpills(t, db)
	outcomes := map[string]int{}
	for round := 0; run.Next(1, 0); round++ {
		damageSpills(t, db, dir, "$lookup", lookupSpills, run.Rand(round), outcomes)
	}
	t.Log(outcomes)
	if outcomes["failed"] == 0 {
		t.Error("no damage was noticed")
	}
}

// TestSpillFiles fails if a source file uses temporary files and is not in spillFiles.
func TestSpillFiles(t *testing.T) {
	t.Parallel()
	field := regexp.MustCompile(`(?m)^\t[\w, ]*\b(tempfile|spill)\.File$`)
	must(t, filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		if _, there := spillFiles[name]; !there && field.Match(source) {
			t.Errorf("%s has a temporary file, and no command that damages it", name)
		}
		return err
	}))
}

// spillDamages are the ways to change an open temporary file. The file cannot be removed, because
// it has no name.
var spillDamages = []struct {
	name string
	do   func(t *testing.T, rng *rand.Rand, path string)
}{
	{"emptied", func(t *testing.T, _ *rand.Rand, path string) { must(t, os.Truncate(path, 0)) }},
	{"cut", func(t *testing.T, rng *rand.Rand, path string) {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.Truncate(path, rng.Int64N(info.Size()+1)))
	}},
	{"flipped", func(t *testing.T, rng *rand.Rand, path string) {
		changeSpill(t, path, func(b []byte) {
			for at := 0; at < len(b); at += 4 << 10 {
				b[at+rng.IntN(min(4<<10, len(b)-at))] ^= 1 << rng.IntN(8)
			}
		})
	}},
	{"one bit", func(t *testing.T, rng *rand.Rand, path string) {
		changeSpill(t, path, func(b []byte) { b[rng.IntN(len(b))] ^= 1 })
	}},
	{"zeroed", func(t *testing.T, _ *rand.Rand, path string) { changeSpill(t, path, func(b []byte) { clear(b) }) }},
	{"blocks exchanged", func(t *testing.T, _ *rand.Rand, path string) {
		changeSpill(t, path, func(b []byte) {
			half := len(b) / 2
			copy(b, append(slices.Clone(b[half:]), b[:half]...))
		})
	}},
}

func changeSpill(t *testing.T, path string, change func([]byte)) {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	if len(content) == 0 {
		return
	}
	change(content)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteAt(content, 0)
	must(t, errors.Join(err, f.Close()))
}

// readSpilling runs a command to its end, and calls damage for each temporary file after the first
// batch.
func readSpilling(t *testing.T, db *sheaf.DB, dir, text string,
	damage func(path string),
) (docs []string, files int, err error) {
	t.Helper()
	cursor, err := db.Client().Database("test").RunCommandCursor(t.Context(), bsonxtest.ParseD(t, text))
	if err != nil {
		return nil, 0, err
	}
	defer cursor.Close(t.Context())
	paths := openSpills(t, dir)
	if damage != nil {
		for _, path := range paths {
			damage(path)
		}
	}
	for cursor.Next(t.Context()) {
		docs = append(docs, cursor.Current.String())
	}
	return docs, len(paths), cursor.Err()
}

func judgeSpill(t *testing.T, param, cmd, damage string, files int, want, got []string, err error) string {
	t.Helper()
	where := fmt.Sprintf("%s: %.120s: %s", param, cmd, damage)
	if files == 0 {
		t.Errorf("%s: nothing was spilled", where)
	}
	if err == nil {
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d wrong documents, %d are wanted", where, len(got), len(want))
		}
		return "as if whole"
	}
	var s mongo.ServerError
	if !errors.As(err, &s) || !s.HasErrorCode(dataCorruptionDetected) {
		t.Errorf("%s: %v", where, err)
	}
	if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
		t.Errorf("%s: wrong documents before the error", where)
	}
	return "failed"
}

func fillForSpills(t *testing.T, db *sheaf.DB) {
	t.Helper()
	noise, docs := newNoise(1), []any(nil)
	for i := range 400 {
		docs = append(docs, bson.D{
			{"_id", i},
			{"a", i},
			{"next", i + 1},
			{"noise", noise.bytes(500)},
		})
	}
	_, err := db.Client().Database("test").Collection("c").InsertMany(t.Context(), docs)
	must(t, err)
}

func setSpillBound(t *testing.T, db *sheaf.DB, param string, n int64) {
	t.Helper()
	must(t, db.Client().Database("admin").
		RunCommand(t.Context(), bson.D{{"setParameter", 1}, {param, n}}).Err())
}

// checkSpillParameters fails if a parameter limits the memory of a stage, and is neither in spills
// nor in notSpilled.
func checkSpillParameters(t *testing.T, db *sheaf.DB) {
	t.Helper()
	var all bson.M
	must(t, db.Client().Database("admin").
		RunCommand(t.Context(), bson.D{{"getParameter", "*"}}).Decode(&all))
	for name := range all {
		bounds := strings.HasPrefix(name, "internalDocumentSource") && strings.HasSuffix(name, "MaxMemoryBytes") ||
			strings.HasPrefix(name, "internal") && strings.Contains(name, "MemoryUsageBytes")
		if _, there := spills[name]; bounds && !there && !slices.Contains(notSpilled, name) {
			t.Errorf("%s bounds what a stage keeps in memory, and has no command here", name)
		}
	}
}

// TestLeftSpills checks that the next start removes the files of a killed process, and no others.
func TestLeftSpills(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sheaf.Open(dir, nil)
	must(t, err)
	must(t, db.Close())
	must(t, os.Mkdir(filepath.Join(dir, "_tmp"), 0o700))
	for _, name := range []string{"sheaf-temp-1", "sheaf-temp-2", "other"} {
		must(t, os.WriteFile(filepath.Join(dir, "_tmp", name), []byte("x"), 0o600))
	}
	db, err = sheaf.Open(dir, nil)
	must(t, err)
	defer db.Close()
	if left := fileNames(t, filepath.Join(dir, "_tmp")); !slices.Equal(left, []string{"other"}) {
		t.Errorf("%v are left", left)
	}
}
