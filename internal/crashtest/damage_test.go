package crashtest

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/torture"
)

// dataCorruptionDetected is MongoDB's code for damaged data.
const dataCorruptionDetected = 366

// noise makes bytes that do not compress.
type noise struct{ rng *rand.Rand }

func newNoise(seed uint64) noise { return noise{rand.New(rand.NewPCG(seed, 7))} }

func (n noise) bytes(size int) []byte {
	out := make([]byte, 0, size+8)
	for len(out) < size {
		out = binary.LittleEndian.AppendUint64(out, n.rng.Uint64())
	}
	return out[:size]
}

// TestDamage changes bytes in the files of a store, one at a time. The client must get an error
// that names the file, or right answers.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const n = 2000
	rng := newNoise(1)
	// The budget is small, so that the data go to tables.
	db, err := sheaf.Open(dir, &sheaf.Options{MemoryBudget: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	var docs []bson.D
	for i := range n {
		docs = append(docs, bson.D{
			{"_id", i},
			{"a", i},
			{"noise", rng.bytes(3000)},
		})
	}
	coll := db.Client().Database("test").Collection("c")
	if _, err := coll.InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	if _, err := coll.Indexes().
		CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{"a", 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil || len(files) == 0 {
		more, _ := filepath.Glob(filepath.Join(dir, "*", "*.sst"))
		files = append(files, more...)
	}
	if len(files) == 0 {
		t.Skip("the store has no tables yet")
	}
	reported, rounds := 0, 0
	for ; rounds < torture.Part(12) || reported == 0 && rounds < 12; rounds++ {
		// Each case uses its own copy, because opening a store may replace tables.
		damaged := t.TempDir()
		if err := os.CopyFS(damaged, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(dir, files[rng.rng.IntN(len(files))])
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(damaged, name)
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		data[rng.rng.IntN(len(data))] ^= 0x55
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		reported += readDamaged(t, damaged, n)
	}
	t.Logf("%d of %d damages were reported", reported, rounds)
	if reported == 0 {
		t.Error("no damage was reported")
	}
	if readDamaged(t, dir, n) != 0 {
		t.Error("damage is reported where there is none")
	}
}

// readDamaged reads all documents of a store with a damaged file. It returns 1 if an error reported
// the damage.
func readDamaged(t *testing.T, dir string, n int) (reported int) {
	t.Helper()
	check := func(err error) bool {
		var s mongo.ServerError
		switch {
		case err == nil:
			return true
		case !strings.Contains(err.Error(), ".sst"):
			t.Errorf("the error names no file: %v", err)
		case errors.As(err, &s) && !s.HasErrorCode(dataCorruptionDetected):
			t.Errorf("the error has another code: %v", err)
		}
		reported = 1
		return false
	}
	db, err := sheaf.Open(dir, nil)
	if !check(err) {
		return reported
	}
	defer db.Close()
	coll := db.Client().Database("test").Collection("c")
	for _, filter := range []bson.D{{}, {{"a", bson.D{{"$gte", 0}}}}} {
		cursor, err := coll.Find(t.Context(), filter)
		var docs []bson.Raw
		if err == nil {
			err = cursor.All(t.Context(), &docs)
		}
		if check(err) && len(docs) != n {
			t.Errorf("%v gave %d of %d documents", filter, len(docs), n)
		}
	}
	return reported
}
