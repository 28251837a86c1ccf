package schema_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/schema"
)

// steps returns the steps of products: 0 → 1 → 2. A product without a name cannot be migrated.
func steps() []schema.Step {
	return []schema.Step{
		schema.Rename("name", "title"),
		{Name: "titles are needed", Up: func(doc bson.D) (bson.D, error) {
			for i, e := range doc {
				if e.Key == "title" {
					doc[i].Value = fmt.Sprint(e.Value, "!") // makes visible whether the step was applied twice
					return doc, nil
				}
			}
			return nil, errors.New("there is no title")
		}},
	}
}

func products(t *testing.T, db *mongo.Database, cfg schema.Config) *schema.Schema {
	t.Helper()
	cfg.Collection = "products"
	if cfg.Steps == nil {
		cfg.Steps = steps()
	}
	s, err := schema.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.EnsureIndexes(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s
}

func insert(t *testing.T, db *mongo.Database, coll string, docs ...bson.D) {
	t.Helper()
	if _, err := db.Collection(coll).InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
}

// seed inserts n documents of each version.
func seed(t *testing.T, db *mongo.Database, n int) {
	t.Helper()
	for i := range n {
		insert(t, db, "products",
			bson.D{{"_id", fmt.Sprint("zero", i)}, {"name", "a"}, {"n", 0}},
			bson.D{{"_id", fmt.Sprint("null", i)}, {"name", "a"}, {"schema", nil}, {"n", 0}},
			bson.D{{"_id", fmt.Sprint("one", i)}, {"title", "a"}, {"schema", int64(1)}, {"n", 0}},
			bson.D{{"_id", fmt.Sprint("two", i)}, {"title", "a!"}, {"schema", 2.0}, {"n", 0}})
	}
}

type product struct {
	ID     string `bson:"_id"`
	Title  string
	Schema int
	N      int
}

// mustBeCurrent fails the test if a document does not have the current version.
func mustBeCurrent(t *testing.T, db *mongo.Database, s *schema.Schema, count int) (sum int) {
	t.Helper()
	cur, err := db.Collection("products").Find(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	var all []product
	if err := cur.All(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		sum += p.N
		if p.Title != "a!" || p.Schema != 2 {
			t.Errorf("%+v", p)
		}
	}
	if len(all) != count {
		t.Errorf("%d documents, want %d", len(all), count)
	}
	violations, err := s.Check(t.Context())
	if err != nil || len(violations) > 0 {
		t.Errorf("check: %v, %v", violations, err)
	}
	if n, err := s.Pending(t.Context()); n != 0 || err != nil {
		t.Errorf("%d documents are old, %v", n, err)
	}
	return sum
}

func TestGetAndUpdate(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s := products(t, db, schema.Config{})
	seed(t, db, 1)
	for _, id := range []string{"zero0", "null0", "one0", "two0"} {
		var p product
		if err := s.Get(t.Context(), id, &p); err != nil || p.Title != "a!" {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	if n, err := s.Pending(t.Context()); n != 3 || err != nil {
		t.Errorf("reading has migrated: %d are old, %v", n, err)
	}
	for _, id := range []string{"zero0", "null0", "one0", "two0"} {
		if err := s.Update(t.Context(), id, bson.D{{"$inc", bson.D{{"n", 1}}}}); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if sum := mustBeCurrent(t, db, s, 4); sum != 4 {
		t.Errorf("%d updates", sum)
	}
	if err := s.Insert(t.Context(), bson.D{{"_id", "new"}, {"title", "a!"}}); err != nil {
		t.Error(err)
	}
	mustBeCurrent(t, db, s, 5)
	var p product
	if err := s.Get(t.Context(), "none", &p); !errors.Is(err, schema.ErrNotFound) {
		t.Errorf("a document that does not exist: %v", err)
	}
	if err := s.Update(t.Context(), "none", bson.D{{"$set", bson.D{{"n", 1}}}}); !errors.Is(err, schema.ErrNotFound) {
		t.Errorf("a document that does not exist: %v", err)
	}
	older := products(t, db, schema.Config{Steps: steps()[:1]})
	if err := older.Get(t.Context(), "new", &p); !errors.Is(err, schema.ErrNewer) {
		t.Errorf("a document from the future: %v", err)
	}
	if err := older.Update(t.Context(), "new", bson.D{{"$set", bson.D{{"n", 1}}}}); !errors.Is(err, schema.ErrNewer) {
		t.Errorf("a document from the future: %v", err)
	}
}

func TestZeroConfig(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s, err := schema.New(db, schema.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Insert(t.Context(), bson.D{{"_id", 1}}); err != nil {
		t.Error(err)
	}
	insert(t, db, schema.DefaultCollection, bson.D{{"_id", 2}})
	for id := 1; id <= 2; id++ {
		if err := s.Update(t.Context(), id, bson.D{{"$set", bson.D{{"x", 1}}}}); err != nil {
			t.Error(err)
		}
	}
	if res, err := s.Migrate(t.Context()); err != nil || res.Migrated != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if n, err := s.Pending(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := s.ShardKeys(); len(got) != 0 {
		t.Errorf("shard keys: %v", got)
	}
	if err := s.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Errorf("shard: %v", err)
	}
	for _, bad := range []schema.Config{{Batch: -1}, {Field: "a.b"}, {Field: "_id"}, {Steps: []schema.Step{{}}}} {
		if _, err := schema.New(db, bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s := products(t, db, schema.Config{Batch: 3})
	seed(t, db, 5)
	if n, err := s.Pending(t.Context()); n != 15 || err != nil {
		t.Errorf("%d are old, %v", n, err)
	}
	res, err := s.Migrate(t.Context())
	if err != nil || res.Migrated != 15 || len(res.Failed) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	mustBeCurrent(t, db, s, 20)
	if res, err := s.Migrate(t.Context()); err != nil || res.Migrated != 0 {
		t.Errorf("again: %+v, %v", res, err)
	}
}

// TestFailures inserts documents for which a step fails, with _ids of several types. Migrate counts
// the failures and migrates the other documents.
func TestFailures(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	seed(t, db, 2)
	for _, id := range []any{1, "x", bson.NewObjectID(), bson.D{{"a", 1}}} {
		insert(t, db, "products", bson.D{{"_id", id}})
	}
	s := products(t, db, schema.Config{Batch: 2})
	res, err := s.Migrate(t.Context())
	if err != nil || res.Migrated != 6 || len(res.Failed) != 4 {
		t.Errorf("%+v, %v", res, err)
	}
	violations, err := s.Check(t.Context())
	if err != nil || len(violations) != 4 || violations[0].Rule != schema.RuleUpgrade {
		t.Errorf("check: %v, %v", violations, err)
	}
	few := products(t, db, schema.Config{MaxFailures: 2})
	if _, err := few.Migrate(t.Context()); !errors.Is(err, schema.ErrFailures) {
		t.Errorf("too many failures: %v", err)
	}
	moves := schema.Step{
		Name: "another _id",
		Up:   func(doc bson.D) (bson.D, error) { doc[0].Value = "y"; return doc, nil },
	}
	if _, _, err := products(t, db, schema.Config{Steps: []schema.Step{moves}}).
		Upgrade(mustMarshal(t, bson.D{{"_id", 1}})); !errors.Is(err, schema.ErrID) {
		t.Errorf("a step that changes the _id: %v", err)
	}
}

func mustMarshal(t *testing.T, v any) bson.Raw {
	t.Helper()
	data, err := bson.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCheckVersion breaks the rule of versions.
func TestCheckVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []any{"1", -1, 0.5, 3} {
		db := patterntest.Open(t)
		s := products(t, db, schema.Config{})
		insert(t, db, "products", bson.D{{"_id", 1}, {"title", "a"}, {"schema", version}})
		violations, err := s.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != schema.RuleVersion {
			t.Errorf("%v: %v, %v", version, violations, err)
		}
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Errorf("%v: %v", version, err)
		}
	}
}

func TestCrashMigrate(t *testing.T) {
	t.Parallel()
	patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) { products(t, db, schema.Config{}); seed(t, db, 2) },
		Operation: func(ctx context.Context, db *mongo.Database) error {
			s, err := schema.New(db, schema.Config{Collection: "products", Steps: steps(), Batch: 2})
			if err != nil {
				return err
			}
			if err := s.Update(ctx, "zero0", bson.D{{"$set", bson.D{{"n", 1}}}}); err != nil {
				return err
			}
			_, err = s.Migrate(ctx)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			s := products(t, db, schema.Config{})
			for _, id := range []string{"zero0", "null0", "one0", "two0", "zero1", "null1", "one1", "two1"} {
				var p product
				if err := s.Get(t.Context(), id, &p); err != nil || p.Title != "a!" {
					t.Errorf("%s is read as %+v, %v", id, p, err)
				}
			}
			if violations, err := s.Check(t.Context()); err != nil || len(violations) > 0 {
				t.Errorf("check: %v, %v", violations, err)
			}
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
			if sum := mustBeCurrent(t, db, s, 8); sum > 1 || death.Survived && sum != 1 {
				t.Errorf("the update was done %d times", sum)
			}
		},
	})
}

// TestTogether migrates in several processes, while other processes increment counters in the same
// documents. No increment is lost.
func TestTogether(t *testing.T) {
	t.Parallel()
	const migrators, writers, rounds, docs = 2, 3, 40, 10
	db := patterntest.Open(t)
	seed(t, db, docs)
	inc := bson.D{{"$inc", bson.D{{"n", 1}}}}
	var wg sync.WaitGroup
	for range migrators {
		s := products(t, db, schema.Config{Batch: 4})
		wg.Go(func() {
			if _, err := s.Migrate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	for w := range writers {
		s := products(t, db, schema.Config{})
		wg.Go(func() {
			for i := range rounds {
				id := fmt.Sprint([]string{"zero", "null", "one", "two"}[i%4], i%docs)
				var err error
				if w == 0 { // an older program, without versions
					_, err = db.Collection("products").UpdateOne(t.Context(), bson.D{{"_id", id}}, inc)
				} else {
					err = s.Update(t.Context(), id, inc)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s := products(t, db, schema.Config{})
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	if sum := mustBeCurrent(t, db, s, 4*docs); sum != writers*rounds {
		t.Errorf("%d of %d updates", sum, writers*rounds)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	server := patterntest.Start(t)
	products(t, server.Database(), schema.Config{})
	seed(t, server.Database(), 3)
	insert(t, server.Database(), "products", bson.D{{"_id", "bad"}})
	n := server.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		s, err := schema.New(db, schema.Config{Collection: "products", Steps: steps(), Batch: 4})
		if err != nil {
			t.Fatal(err)
		}
		var p product
		if err := errors.Join(
			s.Get(ctx, "zero0", &p),
			s.Update(ctx, "zero0", bson.D{{"$set", bson.D{{"n", 1}}}}),
		); err != nil {
			t.Error(err)
		}
		if _, err := s.Pending(ctx); err != nil {
			t.Error(err)
		}
		if _, err := s.Migrate(ctx); err != nil {
			t.Error(err)
		}
		jobs, err := schema.NewJobs(db,
			schema.JobsConfig{Jobs: []schema.Job{{Name: "migrate", Every: time.Hour, Task: s.Task()}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := jobs.RunDue(ctx); err != nil {
			t.Error(err)
		}
	})
	if n < 10 {
		t.Errorf("%d commands explained", n)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	run := func(doc string, steps ...schema.Step) string {
		var d bson.D
		if err := bson.UnmarshalExtJSON([]byte(doc), false, &d); err != nil {
			t.Fatal(err)
		}
		var err error
		for _, s := range steps {
			if d, err = s.Up(d); err != nil {
				return err.Error()
			}
		}
		out, err := bson.MarshalExtJSON(d, false, false)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, c := range []struct {
		doc  string
		step schema.Step
		want string
	}{
		{`{"a":1}`, schema.Default("b", 2), `{"a":1,"b":2}`},
		{`{"a":1,"b":null}`, schema.Default("b", 2), `{"a":1,"b":null}`},
		{`{"a":1}`, schema.Rename("a", "b"), `{"b":1}`},
		{`{"a":1,"b":2}`, schema.Rename("a", "b"), `there is a field b already`},
		{`{"c":1}`, schema.Rename("a", "b"), `{"c":1}`},
		{`{"a":1,"b":2}`, schema.Remove("a"), `{"b":2}`},
		{`{"x":0,"a":1,"y":3,"b":2}`, schema.Group("g", "a", "b"), `{"x":0,"g":{"a":1,"b":2},"y":3}`},
		{`{"a":1,"g":2}`, schema.Group("g", "a"), `there is a field g already`},
		{`{"a":1}`, schema.Group("a", "a"), `{"a":{"a":1}}`},
		{`{"c":1}`, schema.Group("g", "a"), `{"c":1}`},
	} {
		if got := run(c.doc, c.step); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.step.Name, c.doc, got, c.want)
		}
	}
}

// TestInspected is worked example W072: the number of fields compared to find a zip code, in a flat
// document and in a document with subdocuments.
func TestInspected(t *testing.T) {
	t.Parallel()
	var flat bson.D
	for _, f := range []string{
		"_id", "name", "email", "twitter", "screenname", "facebook", "linkedin", "phone", "street",
		"city", "state", "zip", "fax",
	} {
		flat = append(flat, bson.E{f, f})
	}
	s := products(t, patterntest.Open(t), schema.Config{Steps: []schema.Step{
		schema.Group("online", "email", "twitter", "screenname", "facebook", "linkedin"),
		schema.Group("address", "street", "city", "state", "zip"),
		schema.Group("tele", "phone", "fax"),
	}})
	up, old, err := s.Upgrade(mustMarshal(t, flat))
	if err != nil || !old {
		t.Fatal(old, err)
	}
	for _, c := range []struct {
		doc  bson.Raw
		path string
		want int
	}{
		{mustMarshal(t, flat), "zip", 12},
		{mustMarshal(t, flat), "_id", 1},
		{mustMarshal(t, flat), "none", 13},
		{mustMarshal(t, flat), "name.first", 2},
		{mustMarshal(t, bson.D{{"_id", 1}, {"a", bson.A{5, bson.D{{"b", 1}}}}}), "a.1.b", 5},
	} {
		if got, err := schema.Inspected(c.doc, c.path); got != c.want || err != nil {
			t.Errorf("%s: %d, %v, want %d", c.path, got, err, c.want)
		}
	}
	// The book puts tele after address. Group puts the group where its first field was, so tele is
	// compared too.
	levels := mustMarshal(t, bson.D{
		{"_id", 1},
		{"name", ""},
		{"online", bson.D{}},
		{"address", up.Lookup("address")},
		{"tele", bson.D{}},
	})
	if got, err := schema.Inspected(levels, "address.zip"); got != 8 || err != nil {
		t.Errorf("in levels: %d, %v", got, err)
	}
}

// TestW046 has a field with a default for reading. A reader sees the default at once, the migration
// stores it, and documents with a value keep their value.
func TestW046(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	s := products(t, db, schema.Config{Steps: []schema.Step{schema.Default("short_description", "")}})
	insert(t, db, "products",
		bson.D{{"_id", "a"}, {"title", "x"}},
		bson.D{{"_id", "b"}, {"short_description", "long"}})
	read := func(want string) {
		t.Helper()
		got := ""
		for _, id := range []string{"a", "b"} {
			var p struct {
				Short *string `bson:"short_description"`
			}
			if err := s.Get(t.Context(), id, &p); err != nil || p.Short == nil {
				t.Fatalf("%s: %v, %v", id, p.Short, err)
			}
			stored, err := db.Collection("products").FindOne(t.Context(), bson.D{{"_id", id}}).Raw()
			if err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintf("%s %q stored %s; ", id, *p.Short, stored.Lookup("short_description"))
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	read(`a "" stored ; b "long" stored "long"; `)
	for range 2 { // the second migration changes nothing
		if _, err := s.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		read(`a "" stored ""; b "long" stored "long"; `)
	}
}
