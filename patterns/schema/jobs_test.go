package schema_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/schema"
)

// chores returns one job of each kind.
func chores() []schema.Job {
	return []schema.Job{
		{Name: "names", Every: time.Hour, Task: schema.Copies{
			From: "users", Into: "posts", Ref: "author",
			Fields: map[string]string{"name": "authorName", "home.city": "authorCity"},
		}},
		{Name: "structure", Every: time.Hour, Task: schema.Structure{
			Collection: "users",
			Schema:     parseRule(`{"required":["name","active"],"properties":{"name":{"bsonType":"string"}}}`),
			Fix:        mongo.Pipeline{{{"$set", bson.D{{"active", bson.D{{"$ifNull", bson.A{"$active", true}}}}}}}},
		}},
		{
			Name: "duplicates", Every: time.Hour,
			Task: schema.Duplicates{Collection: "users", Fields: []string{"email", "home.city"}},
		},
		{
			Name: "prepare", Every: time.Hour,
			Task: schema.Prepare{Collection: "hits", Documents: func(now time.Time) (docs []bson.D) {
				for h := range 3 {
					at := now.Truncate(time.Hour).Add(time.Duration(h) * time.Hour)
					docs = append(docs, bson.D{{"_id", at}, {"n", 0}})
				}
				return docs
			}},
		},
		{
			Name: "summary", Every: time.Hour,
			Task: schema.Summary{Collection: "posts", Pipeline: func(time.Time) mongo.Pipeline {
				return mongo.Pipeline{
					{{"$group", bson.D{{"_id", "$author"}, {"posts", bson.D{{"$sum", 1}}}}}},
					{{"$merge", bson.D{{"into", "counts"}}}},
				}
			}},
		},
	}
}

func parseRule(s string) (d bson.D) {
	if err := bson.UnmarshalExtJSON([]byte(s), false, &d); err != nil {
		panic(err)
	}
	return d
}

// disorder fills the collections with problems for the chores to correct.
func disorder(t *testing.T, db *mongo.Database) {
	t.Helper()
	insert(t, db, "users",
		parseRule(`{"_id":"ann","name":"Ann","home":{"city":"Rome"},"active":false,"email":"a@x"}`),
		parseRule(`{"_id":"joe","name":"Joe","email":"j@x"}`),
		parseRule(`{"_id":"sam","name":3,"active":true,"email":"j@x"}`))
	insert(t, db, "posts",
		parseRule(`{"_id":1,"author":"ann","authorName":"Ann","authorCity":"Rome"}`),
		parseRule(`{"_id":2,"author":"ann","authorName":"Anna"}`),
		parseRule(`{"_id":3,"author":"joe","authorName":"Joe","authorCity":"Paris"}`),
		parseRule(`{"_id":4,"author":"gone","authorName":"Gone"}`),
		parseRule(`{"_id":5,"authorName":"nobody"}`))
	insert(t, db, "hits", bson.D{{"_id", patterntest.NewClock().Now()}, {"n", 9}})
}

func newJobs(t *testing.T, db *mongo.Database, cfg schema.JobsConfig) *schema.Jobs {
	t.Helper()
	jobs, err := schema.NewJobs(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// mustBeInOrder fails the test if the chores have left a problem.
func mustBeInOrder(t *testing.T, db *mongo.Database) {
	t.Helper()
	for coll, want := range map[string]string{
		"posts": `{"_id":1,"author":"ann","authorName":"Ann","authorCity":"Rome"}{"_id":2,"author":"ann","authorName":"Ann","authorCity":"Rome"}` +
			`{"_id":3,"author":"joe","authorName":"Joe"}{"_id":4,"author":"gone","authorName":"Gone"}{"_id":5,"authorName":"nobody"}`,
		"users": `{"_id":"ann","name":"Ann","home":{"city":"Rome"},"active":false,"email":"a@x"}` +
			`{"_id":"joe","name":"Joe","email":"j@x","active":true}{"_id":"sam","name":3,"active":true,"email":"j@x"}`,
		"hits": `{"_id":{"$date":"2026-05-01T12:00:00Z"},"n":9}{"_id":{"$date":"2026-05-01T13:00:00Z"},"n":0}` +
			`{"_id":{"$date":"2026-05-01T14:00:00Z"},"n":0}`,
		"counts": `{"_id":null,"posts":1}{"_id":"ann","posts":2}{"_id":"gone","posts":1}{"_id":"joe","posts":1}`,
	} {
		cur, err := db.Collection(coll).Aggregate(t.Context(), mongo.Pipeline{{{"$sort", bson.D{{"_id", 1}}}}})
		if err != nil {
			t.Fatal(err)
		}
		var docs []bson.D
		if err := cur.All(t.Context(), &docs); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range docs {
			got += text(t, d)
		}
		if got != want {
			t.Errorf("%s: %s\nwant %s", coll, got, want)
		}
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	db, clock := patterntest.Open(t), patterntest.NewClock()
	disorder(t, db)
	reports := map[string]schema.Report{}
	jobs := newJobs(t, db, schema.JobsConfig{
		Env: patterns.Env{Clock: clock}, Jobs: chores(),
		Notify: func(_ context.Context, job string, r schema.Report) { reports[job] = r },
	})
	if n, err := jobs.RunDue(t.Context()); n != 5 || err != nil {
		t.Fatalf("%d jobs, %v", n, err)
	}
	mustBeInOrder(t, db)
	want := map[string]string{
		"names": "1/2 what is referred to exists", "structure": "1/1 documents have the structure that was declared",
		"duplicates": "1/0 there are no two documents with the same values", "prepare": "0/2", "summary": "0/0",
	}
	for name, r := range reports {
		got := fmt.Sprintf("%d/%d", r.Found, r.Changed)
		for _, v := range r.Violations {
			got += " " + v.Rule
		}
		if got != want[name] {
			t.Errorf("%s: %s, want %s: %v", name, got, want[name], r.Violations)
		}
	}
	if n, err := jobs.RunDue(t.Context()); n != 0 || err != nil {
		t.Errorf("at once again: %d jobs, %v", n, err)
	}
	clock.Advance(time.Hour)
	if n, err := jobs.RunDue(t.Context()); n != 5 || err != nil || reports["names"].Changed != 0 ||
		reports["structure"].Changed != 0 {
		t.Errorf("an hour later: %d jobs, %v, %+v", n, err, reports)
	}
	violations, err := jobs.Check(t.Context())
	if err != nil || len(violations) > 0 {
		t.Errorf("check: %v, %v", violations, err)
	}
	if err := jobs.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) ||
		len(jobs.Indexes())+len(jobs.ShardKeys()) > 0 {
		t.Errorf("shard: %v", err)
	}
	if err := jobs.EnsureIndexes(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestCheckJobs breaks the rules with a job that fails, and a job that nobody executes.
func TestCheckJobs(t *testing.T) {
	t.Parallel()
	db, clock := patterntest.Open(t), patterntest.NewClock()
	broken := errors.New("broken")
	fails := atomic.Bool{}
	fails.Store(true)
	task := schema.TaskFunc(func(context.Context, *mongo.Database, patterns.Env) (schema.Report, error) {
		if fails.Load() {
			return schema.Report{}, broken
		}
		return schema.Report{}, nil
	})
	noTarget := schema.Summary{Collection: "c", Pipeline: func(time.Time) mongo.Pipeline { return nil }}
	jobs := newJobs(t, db, schema.JobsConfig{Env: patterns.Env{Clock: clock}, Jobs: []schema.Job{
		{Name: "a", Every: time.Minute, Task: task}, {Name: "b", Every: 24 * time.Hour, Task: noTarget},
	}})
	rules := func() (out []string) {
		violations, err := jobs.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range violations {
			out = append(out, fmt.Sprint(v.ID, ": ", v.Rule))
		}
		return out
	}
	if got := rules(); len(got) != 0 {
		t.Errorf("before the first execution: %v", got)
	}
	if n, err := jobs.RunDue(t.Context()); n != 2 || err != nil {
		t.Errorf("%d jobs, %v", n, err)
	}
	if got, want := fmt.Sprint(rules()), "[a: jobs do not fail b: jobs do not fail]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	fails.Store(false)
	clock.Advance(time.Minute)
	if n, err := jobs.RunDue(t.Context()); n != 1 || err != nil {
		t.Errorf("%d jobs, %v", n, err)
	}
	clock.Advance(time.Hour)
	if got, want := fmt.Sprint(rules()), "[a: jobs are executed when they are due b: jobs do not fail]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestOneLeader has many processes with the same jobs. One of them executes the jobs, and another
// one takes over when it stops.
func TestOneLeader(t *testing.T) {
	t.Parallel()
	db, clock := patterntest.Open(t), patterntest.NewClock()
	var inside, ran atomic.Int64
	by := sync.Map{}
	processes := map[int]context.CancelFunc{}
	var wg sync.WaitGroup
	for p := range 3 {
		jobs := newJobs(t, db, schema.JobsConfig{Env: patterns.Env{Clock: clock}, Jobs: []schema.Job{{
			Name: "count", Every: time.Minute,
			Task: schema.TaskFunc(func(context.Context, *mongo.Database, patterns.Env) (schema.Report, error) {
				if inside.Add(1) != 1 {
					t.Error("two execute the job")
				}
				ran.Add(1)
				by.Store(p, true)
				inside.Add(-1)
				return schema.Report{}, nil
			}),
		}}})
		ctx, cancel := context.WithCancel(t.Context())
		processes[p] = cancel
		wg.Go(func() {
			if err := jobs.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	until := func(want int64) {
		for t.Context().Err() == nil && ran.Load() < want {
			clock.Advance(time.Second)
			time.Sleep(time.Millisecond)
		}
	}
	until(3)
	by.Range(func(p, _ any) bool { processes[p.(int)](); return true }) // stop the leader, whichever process it is
	until(ran.Load() + 2)
	for _, cancel := range processes {
		cancel()
	}
	wg.Wait()
}

// TestSlept has a leader that sleeps through the end of its lease: its later results are not
// stored.
func TestSlept(t *testing.T) {
	t.Parallel()
	db, clock := patterntest.Open(t), patterntest.NewClock()
	begun, wake := make(chan struct{}), make(chan struct{})
	job := func(task schema.TaskFunc) *schema.Jobs {
		return newJobs(t, db, schema.JobsConfig{
			Env:  patterns.Env{Clock: clock},
			Jobs: []schema.Job{{Name: "j", Every: time.Minute, Task: task}},
		})
	}
	first := job(func(context.Context, *mongo.Database, patterns.Env) (schema.Report, error) {
		close(begun)
		<-wake
		return schema.Report{Changed: 1}, nil
	})
	second := job(func(context.Context, *mongo.Database, patterns.Env) (schema.Report, error) {
		return schema.Report{Changed: 2}, nil
	})
	result := make(chan error)
	go func() {
		_, err := first.RunDue(t.Context())
		result <- err
	}()
	<-begun
	if _, err := second.RunDue(t.Context()); !errors.Is(err, schema.ErrNotLeader) {
		t.Errorf("while another one leads: %v", err)
	}
	clock.Advance(time.Hour)
	for t.Context().Err() == nil {
		if n, err := second.RunDue(t.Context()); err == nil && n == 1 {
			break
		}
		clock.Advance(time.Minute)
	}
	close(wake)
	if err := <-result; err == nil {
		t.Error("the one that slept has heard nothing")
	}
	status, err := second.Status(t.Context())
	if err != nil || status["j"].Changed != 2 {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestCrashJobs(t *testing.T) {
	t.Parallel()
	patterntest.Crash(t, patterntest.Scenario{
		Setup: disorder,
		Operation: func(ctx context.Context, db *mongo.Database) error {
			jobs, err := schema.NewJobs(db,
				schema.JobsConfig{Env: patterns.Env{Clock: patterntest.NewClock()}, Jobs: chores()})
			if err != nil {
				return err
			}
			_, err = jobs.RunDue(ctx)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			clock := patterntest.NewClock()
			jobs := newJobs(t, db, schema.JobsConfig{Env: patterns.Env{Clock: clock}, Jobs: chores()})
			clock.Advance(schema.DefaultLease)
			n, err := jobs.RunDue(t.Context())
			if err != nil || death.Survived && n != 0 || death.Commands == 0 && n != 5 {
				t.Errorf("%d jobs, %v", n, err)
			}
			mustBeInOrder(t, db)
			if violations, err := jobs.Check(t.Context()); err != nil || len(violations) > 0 {
				t.Errorf("check: %v, %v", violations, err)
			}
		},
	})
}

func TestBadJobs(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	task := schema.Duplicates{Collection: "c"}
	for _, bad := range []schema.JobsConfig{
		{Jobs: []schema.Job{{Name: "a", Task: task}}},
		{Jobs: []schema.Job{{Every: 1, Task: task}}},
		{Jobs: []schema.Job{{Name: "a", Every: 1}}},
		{Jobs: []schema.Job{{Name: "a", Every: 1, Task: task}, {Name: "a", Every: 1, Task: task}}},
		{Pace: -1},
		{Lease: -1},
	} {
		if _, err := schema.NewJobs(db, bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
