package sheaf_test

import (
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
)

type rwDefaults struct {
	ReadConcern  bson.M         `bson:"defaultReadConcern"`
	WriteConcern bson.M         `bson:"defaultWriteConcern"`
	ReadSource   string         `bson:"defaultReadConcernSource"`
	WriteSource  string         `bson:"defaultWriteConcernSource"`
	OpTime       bson.Timestamp `bson:"updateOpTime"`
}

func code(err error) int32 {
	var e mongo.CommandError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

// TestDefaultConcerns sets the default read and write concerns. The store must keep them, and
// commands must use them: writes without a write concern are durable.
func TestDefaultConcerns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sheaf.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	get := func() (d rwDefaults) {
		if err := db.Client().Database("admin").
			RunCommand(t.Context(), bson.D{{"getDefaultRWConcern", 1}}).Decode(&d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	set := func(args ...bson.E) error {
		return db.Client().Database("admin").
			RunCommand(t.Context(), append(bson.D{{"setDefaultRWConcern", 1}}, args...)).Err()
	}
	if d := get(); d.ReadSource != "implicit" || d.WriteSource != "implicit" || d.WriteConcern["w"] != "majority" ||
		d.ReadConcern["level"] != "local" || !d.OpTime.IsZero() {
		t.Errorf("%+v", d)
	}
	if err := set(bson.E{"defaultWriteConcern", bson.D{}}); err != nil {
		t.Error(err)
	}
	if n := durableCommits(t, db); n != 1 {
		t.Errorf("%d writes by the implied concern were durable", n)
	}
	for name, c := range map[string]struct {
		arg  bson.E
		code int32
	}{
		"nothing":      {bson.E{"comment", 1}, 2},
		"snapshot":     {bson.E{"defaultReadConcern", bson.D{{"level", "snapshot"}}}, 2},
		"linearizable": {bson.E{"defaultReadConcern", bson.D{{"level", "linearizable"}}}, 2},
		"a time": {bson.E{"defaultReadConcern", bson.D{
			{"level", "local"}, {"afterClusterTime", bson.Timestamp{T: 1}},
		}}, 2},
		"w 0":    {bson.E{"defaultWriteConcern", bson.D{{"w", 0}}}, 2},
		"w 2":    {bson.E{"defaultWriteConcern", bson.D{{"w", 2}}}, 100},
		"a mode": {bson.E{"defaultWriteConcern", bson.D{{"w", "dc"}}}, 79},
		"w 1":    {bson.E{"defaultWriteConcern", bson.D{{"w", 1}, {"j", true}}}, 0},
	} {
		if err := set(c.arg); code(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := set(bson.E{"defaultReadConcern", bson.D{{"level", "majority"}}},
		bson.E{"defaultWriteConcern", bson.D{{"w", "majority"}}}); err != nil {
		t.Fatal(err)
	}
	if err := set(bson.E{"defaultWriteConcern", bson.D{}}); code(err) != 20 {
		t.Errorf("the default was taken back: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = sheaf.Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	if d := get(); d.ReadSource != "global" || d.WriteSource != "global" ||
		d.ReadConcern["level"] != "majority" || d.OpTime.IsZero() {
		t.Errorf("after opening again: %+v", d)
	}
	if n := durableCommits(t, db); n == 0 {
		t.Error("a write by the default concern was not durable")
	}
}

// durableCommits inserts a document and returns how many times the store waited for the disk.
func durableCommits(t *testing.T, db *sheaf.DB) int64 {
	t.Helper()
	coll := db.Client().Database("d").Collection("c")
	if _, err := coll.InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	before := sheaf.DurableCommits(db)
	if _, err := coll.InsertOne(t.Context(), bson.D{}); err != nil {
		t.Fatal(err)
	}
	return sheaf.DurableCommits(db) - before
}
