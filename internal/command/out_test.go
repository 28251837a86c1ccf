package command_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

// runStages runs a pipeline in Extended JSON on a collection.
func runStages(t *testing.T, c *mongo.Collection, stages string) error {
	t.Helper()
	cursor, err := c.Aggregate(t.Context(), bsonxtest.ParseA(t, stages))
	if err == nil {
		err = cursor.Close(t.Context())
	}
	return err
}

func mustHaveCode(t *testing.T, err error, code int, message string) {
	t.Helper()
	var ce mongo.CommandError
	if !errors.As(err, &ce) || int(ce.Code) != code || !strings.Contains(ce.Message, message) {
		t.Errorf("instead of %d (%s): %v", code, message, err)
	}
}

// TestOutReplaces checks that $out keeps the indexes and options of the collection that it
// replaces. If it fails, the collection must stay unchanged. Readers must see either the old or the
// new collection.
func TestOutReplaces(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	source, target := db.Collection("source"), db.Collection("target")
	for i := range 1200 {
		if _, err := source.InsertOne(t.Context(), bson.D{{"_id", i}, {"u", i}, {"v", i % 600}}); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, target, bson.D{{"create", "target"}, {"validator", bson.D{{"no", bson.D{{"$exists", false}}}}}})
	if _, err := target.Indexes().CreateOne(t.Context(), mongo.IndexModel{Keys: bson.D{{"u", 1}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := target.InsertOne(t.Context(), bson.D{{"_id", "old"}}); err != nil {
		t.Fatal(err)
	}
	count := func() int64 {
		n, err := target.CountDocuments(t.Context(), bson.D{})
		if err != nil {
			t.Error(err)
		}
		return n
	}
	mustHaveCode(t, runStages(t, source, `[{"$set": {"_id": "$v"}}, {"$out": "target"}]`), 11000, "E11000")
	mustHaveCode(t, runStages(t, source, `[{"$set": {"no": {"$eq": ["$_id", 1100]}}}, {"$out": "target"}]`), 121, "validation")
	if n := count(); n != 1 {
		t.Errorf("%d documents after a $out that failed", n)
	}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 30 {
				if n := count(); n != 1 && n != 1200 {
					t.Errorf("a reader sees %d documents", n)
				}
			}
		})
	}
	if err := runStages(t, source, `[{"$out": "target"}]`); err != nil {
		t.Error(err)
	}
	readers.Wait()
	if n := count(); n != 1200 {
		t.Errorf("%d documents after $out", n)
	}
	indexes, err := target.Indexes().ListSpecifications(t.Context())
	if err != nil || len(indexes) != 2 {
		t.Error(len(indexes), err)
	}
	if _, err := target.InsertOne(t.Context(), bson.D{{"no", 1}}); err == nil {
		t.Error("the validator is gone")
	}
	names, err := db.ListCollectionNames(t.Context(), bson.D{})
	if err != nil || len(names) != 2 {
		t.Error(names, err)
	}
}

// TestOutTimestamps checks that $out and $merge replace zero timestamps by unique cluster times, as
// an insert does.
func TestOutTimestamps(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	source := db.Collection("source")
	if _, err := source.InsertMany(t.Context(), []any{bson.D{{"_id", 1}}, bson.D{{"_id", 2}}}); err != nil {
		t.Fatal(err)
	}
	zero := `{"$set": {"at": {"$timestamp": {"t": 0, "i": 0}}}}`
	seen := map[bson.Timestamp]string{}
	for name, into := range map[string]string{"out": `{"$out": "out"}`, "merge": `{"$merge": "merge"}`} {
		if err := runStages(t, source, "["+zero+", "+into+"]"); err != nil {
			t.Fatal(err)
		}
		var docs []struct {
			At bson.Timestamp `bson:"at"`
		}
		cur, err := db.Collection(name).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		if err := cur.All(t.Context(), &docs); err != nil || len(docs) != 2 {
			t.Fatal(docs, err)
		}
		for _, doc := range docs {
			at := doc.At
			if other, taken := seen[at]; taken {
				t.Errorf("a document of %s has the time %v of one of %s", name, at, other)
			}
			seen[at] = name
		}
	}
}

func TestOutRefusesCapped(t *testing.T) {
	t.Parallel()
	topic := newTopic(t, 10)
	mustHaveCode(t, runStages(t, topic, `[{"$out": "topic"}]`), 17152, "capped")
}

// TestMergeErrors checks that the errors of a write by $merge explain what $merge did.
func TestMergeErrors(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d")
	source, target := db.Collection("source"), db.Collection("target")
	for _, c := range []*mongo.Collection{source, target} {
		if _, err := c.InsertMany(t.Context(),
			[]any{bson.D{{"_id", 1}, {"k", 1}}, bson.D{{"_id", 2}, {"k", 2}}}); err != nil {
			t.Fatal(err)
		}
	}
	mustRun(t, target, bson.D{{"createIndexes", "target"}, {"indexes", bson.A{
		bson.D{{"key", bson.D{{"k", 1}}}, {"name", "k"}, {"unique", true}},
	}}})
	for stages, want := range map[string]struct {
		code    int
		message string
	}{
		`[{"$merge": {"into": "target", "whenMatched": "fail"}}]`: {
			11000,
			"$merge with whenMatched: fail found an existing document",
		},
		`[{"$set": {"_id": 9}}, {"$merge": {"into": "target", "whenMatched": "fail"}}]`:                       {11000, "$merge failed due to a DuplicateKey error"},
		`[{"$set": {"_id": 9}}, {"$merge": {"into": "target"}}]`:                                              {11000, "$merge failed due to a DuplicateKey error"},
		`[{"$set": {"_id": 9}}, {"$merge": {"into": "target", "on": "k", "whenMatched": "replace"}}]`:         {66, "$merge failed to update the matching document"},
		`[{"$merge": {"into": "target", "on": "zz"}}]`:                                                        {51183, "unique"},
		`[{"$set": {"k": [1]}}, {"$merge": {"into": "target", "on": "k"}}]`:                                   {51185, "array"},
		`[{"$set": {"_id": 9, "k": 9}}, {"$merge": {"into": "target", "on": "k", "whenNotMatched": "fail"}}]`: {13113, "could not find a matching document"},
	} {
		t.Run(stages, func(t *testing.T) { mustHaveCode(t, runStages(t, source, stages), want.code, want.message) })
	}
}
