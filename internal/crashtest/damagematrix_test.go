package crashtest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/storage"
	"github.com/sheafdb/sheaf/internal/storage/pebble"
	"github.com/sheafdb/sheaf/internal/torture"
)

// fileKind is a kind of file in the directory of a store. A file without a kind fails the test, so
// that a new kind of file gets cases.
type fileKind struct {
	name           string
	prefix, suffix string
	// harmless means that no data are lost, whatever happens to such a file.
	harmless bool
	// left is the name of a file of this kind that only a killed process leaves. It is empty if
	// closed stores have such a file.
	left string
}

var fileKinds = []fileKind{
	{name: "table", suffix: ".sst"},
	{name: "manifest", prefix: "MANIFEST-"},
	{name: "manifest marker", prefix: "marker.manifest.", harmless: true},
	{name: "format marker", prefix: "marker.format-version.", harmless: true},
	{name: "options", prefix: "OPTIONS-", harmless: true},
	{name: "seal", prefix: "SHEAF_MANIFEST"},
	{name: "format", prefix: "SHEAF_FORMAT"},
	{name: "lock", prefix: "LOCK"},
	{name: "sync points", prefix: "SHEAF_SYNCED"},
	{name: "ids of tables", prefix: "SHEAF_TABLES"},
	// A store that was closed needs no log. TestLogDamage of package pebble damages the logs of
	// stores that were killed.
	{name: "log", suffix: ".log", harmless: true},
	{
		name: "options that are written", prefix: "temporary.", suffix: ".dbtmp", harmless: true,
		left: "temporary.000099.dbtmp",
	},
}

// damage is a way to change a file. do reports whether it changed anything.
type damage struct {
	name string
	do   func(t *testing.T, rng *rand.Rand, dir, name string) bool
}

var damages = []damage{
	{"missing", func(t *testing.T, _ *rand.Rand, dir, name string) bool {
		must(t, os.Remove(filepath.Join(dir, name)))
		return true
	}},
	{"empty", func(t *testing.T, _ *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name, func(content []byte) []byte { return nil })
	}},
	{"cut", func(t *testing.T, rng *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name, func(content []byte) []byte { return content[:rng.IntN(len(content)+1)] })
	}},
	{"cut to two thirds", func(t *testing.T, _ *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name, func(content []byte) []byte { return content[:len(content)*2/3] })
	}},
	{"cut by a byte", func(t *testing.T, _ *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name, func(content []byte) []byte { return content[:max(len(content)-1, 0)] })
	}},
	{"flipped", func(t *testing.T, rng *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name, func(content []byte) []byte {
			if len(content) > 0 {
				content[rng.IntN(len(content))] ^= 1 << rng.IntN(8)
			}
			return content
		})
	}},
	{"zeroed", func(t *testing.T, rng *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name, func(content []byte) []byte {
			clear(content[rng.IntN(len(content)+1):])
			return content
		})
	}},
	{"longer", func(t *testing.T, rng *rand.Rand, dir, name string) bool {
		return rewrite(t, dir, name,
			func(content []byte) []byte { return append(content, newNoise(rng.Uint64()).bytes(100)...) })
	}},
	{"swapped with its kind", func(t *testing.T, rng *rand.Rand, dir, name string) bool {
		return exchange(t, rng, dir, name, func(other string) bool { return kindOf(t, other) == kindOf(t, name) })
	}},
	{"swapped with another kind", func(t *testing.T, rng *rand.Rand, dir, name string) bool {
		return exchange(t, rng, dir, name, func(other string) bool {
			return kindOf(t, other) != kindOf(t, name) && kindOf(t, other).name != "log"
		})
	}},
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rewrite replaces a file's content.
func rewrite(t *testing.T, dir, name string, change func([]byte) []byte) bool {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	must(t, err)
	changed := change(bytes.Clone(content))
	must(t, os.WriteFile(path, changed, 0o600))
	return !bytes.Equal(content, changed)
}

// exchange exchanges the names of a file and of a random other file that candidate accepts.
func exchange(t *testing.T, rng *rand.Rand, dir, name string, candidate func(string) bool) bool {
	t.Helper()
	others := slices.DeleteFunc(fileNames(t, dir),
		func(other string) bool { return other == name || !candidate(other) })
	if len(others) == 0 {
		return false
	}
	a, b := filepath.Join(dir, name), filepath.Join(dir, others[rng.IntN(len(others))])
	must(t, os.Rename(a, a+".x"))
	must(t, os.Rename(b, a))
	must(t, os.Rename(a+".x", b))
	return true
}

func fileNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// kindOf returns a file's kind.
func kindOf(t *testing.T, name string) fileKind {
	t.Helper()
	kind, known := knownKind(name)
	if !known {
		t.Fatalf("file %s is of no known kind: it needs cases here", name)
	}
	return kind
}

func knownKind(name string) (fileKind, bool) {
	i := slices.IndexFunc(fileKinds,
		func(k fileKind) bool { return strings.HasPrefix(name, k.prefix) && strings.HasSuffix(name, k.suffix) })
	if i < 0 {
		return fileKind{}, false
	}
	return fileKinds[i], true
}

// checkKinds fails if a killed server has left a file in the directory of its store that has no
// kind in fileKinds. TestDamagedSpills handles the files in _tmp.
func checkKinds(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) { // the directory may not have been created
		t.Error(err)
	}
	for _, entry := range entries {
		if _, known := knownKind(entry.Name()); !known && entry.Name() != "_tmp" {
			t.Errorf("a killed server left %s, which is of no known kind: it needs cases in fileKinds", entry.Name())
		}
	}
}

// TestDamagedFiles damages every kind of file of a store in every way. There are three valid
// results: the store has all its data, or opening fails with an error that names the file and
// leaves the directory unchanged, or reading fails. Documents must never be missing without an
// error.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	run := torture.Begin(t)
	d := newDamageable(t, run.Rand(0))
	for _, kind := range fileKinds {
		if kind.left != "" {
			must(t, os.WriteFile(filepath.Join(d.dir, kind.left), newNoise(1).bytes(100), 0o600))
		}
		if !slices.ContainsFunc(fileNames(t, d.dir), func(name string) bool { return kindOf(t, name) == kind }) {
			t.Errorf("the store has no file of the kind %q", kind.name)
		}
	}
	d.damageEach(t, run)
}

// TestDamagedCheckpoint damages every kind of file of a checkpoint, as TestDamagedFiles does for a
// store.
func TestDamagedCheckpoint(t *testing.T) {
	torture.NeedsLong(t)
	t.Parallel()
	run := torture.Begin(t)
	whole := newDamageable(t, run.Rand(0))
	engine, err := pebble.Open(whole.dir, pebble.Options{})
	must(t, err)
	whole.dir, whole.needsLog = filepath.Join(t.TempDir(), "checkpoint"), true
	must(t, engine.Checkpoint(whole.dir))
	must(t, engine.Close())
	opened := t.TempDir() // after its first opening a checkpoint is an ordinary store
	must(t, os.CopyFS(opened, os.DirFS(whole.dir)))
	if got := whole.read(t, opened); got != "whole" {
		t.Fatalf("the checkpoint is %s", got)
	}
	whole.damageEach(t, run)
}

// damageEach applies all damages to all kinds of files, each to a new copy. A short run applies a
// part of them.
func (d *damageable) damageEach(t *testing.T, run *torture.Run) {
	t.Helper()
	outcomes := map[string]map[string]int{}
	for round := 0; run.Next(1, 0); round++ {
		rng := run.Rand(round + 1)
		cases := d.cases(t)
		if part := torture.Part(len(cases)); part < len(cases) {
			rng.Shuffle(len(cases), func(i, j int) { cases[i], cases[j] = cases[j], cases[i] })
			cases = cases[:part]
		}
		for _, c := range cases {
			name := c.files[rng.IntN(len(c.files))]
			outcome := d.try(t, rng, c.kind, c.what, name)
			cell := c.kind.name + ", " + c.what.name
			if outcomes[cell] == nil {
				outcomes[cell] = map[string]int{}
			}
			outcomes[cell][outcome]++
			if t.Failed() {
				t.Fatalf("seed and case: %s of %s in round %d", c.what.name, name, round)
			}
		}
	}
	for _, cell := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%-45s %v", cell, outcomes[cell])
	}
}

// damageCase is a kind of files of a store, and a damage of one of them.
type damageCase struct {
	kind  fileKind
	what  damage
	files []string
}

// cases returns each damage of each kind of files that the store has.
func (d *damageable) cases(t *testing.T) (all []damageCase) {
	t.Helper()
	for _, kind := range fileKinds {
		files := slices.DeleteFunc(fileNames(t, d.dir),
			func(name string) bool { return kindOf(t, name) != kind })
		if len(files) == 0 {
			continue
		}
		for _, what := range damages {
			all = append(all, damageCase{kind, what, files})
		}
	}
	return all
}

// damageable is a store. The test damages copies of it.
type damageable struct {
	dir  string
	docs map[string]uint32
	// needsLog means that the store was not closed, so that the data of its log are not in tables.
	needsLog bool
}

// newDamageable creates a store with several tables, an index, dropped data, and a collection with
// changed documents.
func newDamageable(t *testing.T, rng *rand.Rand) *damageable {
	t.Helper()
	d := &damageable{dir: t.TempDir(), docs: map[string]uint32{}}
	noise := newNoise(rng.Uint64())
	for round := range 3 {
		db, err := sheaf.Open(d.dir, &sheaf.Options{MemoryBudget: 8 << 20})
		must(t, err)
		coll := db.Client().Database("test").Collection("c")
		var docs []any
		for i := range 250 {
			docs = append(docs, bson.D{
				{"_id", round*1000 + i},
				{"a", i},
				{"noise", noise.bytes(3000)},
			})
		}
		_, err = coll.InsertMany(t.Context(), docs)
		must(t, err)
		_, err = coll.UpdateMany(t.Context(), bson.D{{"a", bson.D{{"$lt", 20}}}},
			bson.D{{"$inc", bson.D{{"n", 1}}}})
		must(t, err)
		_, err = coll.DeleteMany(t.Context(), bson.D{{"a", 200 + round}})
		must(t, err)
		_, err = coll.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{"a", 1}}})
		must(t, err)
		dropped := db.Client().Database("test").Collection("dropped")
		_, err = dropped.InsertMany(t.Context(), docs)
		must(t, err)
		must(t, dropped.Drop(t.Context()))
		must(t, db.Close())
	}
	db, err := sheaf.Open(d.dir, nil)
	must(t, err)
	d.docs, err = readDocs(t, db, bson.D{})
	must(t, errors.Join(err, db.Close()))
	return d
}

// readDocs returns a checksum of each document.
func readDocs(t *testing.T, db *sheaf.DB, filter bson.D) (map[string]uint32, error) {
	t.Helper()
	cursor, err := db.Client().Database("test").Collection("c").Find(t.Context(), filter)
	if err != nil {
		return nil, err
	}
	defer cursor.Close(t.Context())
	docs := map[string]uint32{}
	for cursor.Next(t.Context()) {
		docs[cursor.Current.Lookup("_id").String()] = crc32.ChecksumIEEE(cursor.Current)
	}
	return docs, cursor.Err()
}

// try damages a file of a copy of the store, opens the copy, and returns the result.
func (d *damageable) try(t *testing.T, rng *rand.Rand, kind fileKind, what damage, name string) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	must(t, err)
	defer os.RemoveAll(dir)
	must(t, os.CopyFS(dir, os.DirFS(d.dir)))
	if !what.do(t, rng, dir, name) {
		return "no change"
	}
	before := contents(t, dir)
	outcome := d.read(t, dir)
	if outcome == "whole" {
		return outcome
	}
	if kind.harmless && (kind.name != "log" || !d.needsLog) && !strings.HasPrefix(what.name, "swapped") {
		t.Errorf("refused for a file without which all is known")
	}
	after := contents(t, dir)
	if _, ok := before["LOCK"]; !ok {
		delete(after, "LOCK") // opening created the lock file, because a checkpoint has none before
	}
	whole := contents(t, d.dir)
	if !tableDiffers(whole, before) && !maps.Equal(before, after) {
		t.Errorf("a store that was refused was changed: %v, before %v", slices.Sorted(maps.Keys(after)),
			slices.Sorted(maps.Keys(before)))
	}
	// Putting the file back must restore all data.
	for name, sum := range whole {
		if before[name] != sum {
			content, err := os.ReadFile(filepath.Join(d.dir, name))
			must(t, err)
			must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		}
	}
	if again := d.read(t, dir); again != "whole" {
		t.Errorf("%s after the file was put back", again)
	}
	return outcome
}

// tableDiffers reports whether the content of a table has changed. Opening a store checks only the
// sizes of its tables. Damage of their content is found when they are read, and by then opening has
// changed the directory.
func tableDiffers(whole, damaged map[string]uint32) bool {
	for name, sum := range whole {
		if strings.HasSuffix(name, ".sst") && damaged[name] != sum {
			return true
		}
	}
	return false
}

// read opens a store and reads everything in it.
func (d *damageable) read(t *testing.T, dir string) (outcome string) {
	t.Helper()
	db, err := sheaf.Open(dir, nil)
	if err != nil {
		d.judge(t, err, dir)
		return "refused"
	}
	outcome = "whole"
	for _, filter := range []bson.D{{}, {{"a", bson.D{{"$gte", 0}}}}} {
		docs, err := readDocs(t, db, filter)
		switch {
		case err != nil:
			d.judge(t, err, dir)
			outcome = "reported"
		case !maps.Equal(docs, d.docs):
			t.Errorf("%d documents, %d are wanted, or they are wrong", len(docs), len(d.docs))
		}
	}
	if err := db.Close(); err != nil && outcome == "whole" {
		t.Errorf("Close: %v", err)
	}
	return outcome
}

// judge checks that an error reports damage and names a file of the store.
func (d *damageable) judge(t *testing.T, err error, dir string) {
	t.Helper()
	var s mongo.ServerError
	known := errors.Is(err, storage.ErrCorrupt) || errors.Is(err, storage.ErrFormat) ||
		errors.As(err, &s) && s.HasErrorCode(dataCorruptionDetected)
	named := false
	for _, kind := range fileKinds {
		named = named || strings.Contains(err.Error(), fmt.Sprint(kind.prefix, kind.suffix))
	}
	if !known || !named || !strings.Contains(err.Error(), dir) {
		t.Errorf("the error does not tell of damage, or names no file: %v", err)
	}
}

// contents returns a checksum of each file.
func contents(t *testing.T, dir string) map[string]uint32 {
	t.Helper()
	sums := map[string]uint32{}
	for _, name := range fileNames(t, dir) {
		content, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		sums[name] = crc32.ChecksumIEEE(content)
	}
	return sums
}
