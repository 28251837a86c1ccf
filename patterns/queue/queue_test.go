package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/queue"
)

// newQueue returns a queue that retries after a second. If clock is nil, it uses the machine's
// clock.
func newQueue(t testing.TB, db *mongo.Database, clock patterns.Clock, change ...func(*queue.Config)) *queue.Queue {
	t.Helper()
	cfg := queue.Config{
		Env: patterns.Env{Clock: clock}, Lease: time.Minute, MaxAttempts: 3,
		Backoff: func(int) time.Duration { return time.Second },
	}
	for _, c := range change {
		c(&cfg)
	}
	q, err := queue.New(db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.EnsureIndexes(context.Background()); err != nil {
		t.Fatal(err)
	}
	return q
}

// open returns a queue with a database and a clock of its own.
func open(t testing.TB, change ...func(*queue.Config)) (*queue.Queue, *patterntest.Clock) {
	t.Helper()
	clock := patterntest.NewClock()
	return newQueue(t, patterntest.Open(t), clock, change...), clock
}

func put(t testing.TB, q *queue.Queue, s queue.Spec) string {
	t.Helper()
	id, err := q.Put(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func take(t testing.TB, q *queue.Queue) *queue.Taken {
	t.Helper()
	job, err := q.Take(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func mustBeEmpty(t testing.TB, q *queue.Queue) {
	t.Helper()
	if job, err := q.Take(context.Background()); !errors.Is(err, queue.ErrEmpty) {
		t.Fatalf("%+v %v", job, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustHold(t testing.TB, q *queue.Queue) {
	t.Helper()
	violations, err := q.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func mustBe(t testing.TB, q *queue.Queue, id string, state queue.State) *queue.Job {
	t.Helper()
	job, err := q.Get(context.Background(), id)
	if err != nil || job.State != state {
		t.Fatalf("job %s is %+v, want %s: %v", id, job, state, err)
	}
	return job
}

// TestOrder is worked example W113 of the book: three jobs with the priorities 1, 5 and 3, put one
// after the other.
func TestOrder(t *testing.T) {
	t.Parallel()
	for order, want := range map[queue.Order][]string{
		queue.ByTime:     {"a", "b", "c", "d"},
		queue.ByPriority: {"b", "c", "d", "a"},
	} {
		q, clock := open(t, func(c *queue.Config) { c.Order = order })
		for i, id := range []string{"a", "b", "c", "d"} {
			put(t, q, queue.Spec{ID: id, Priority: []int{1, 5, 3, 3}[i]})
			clock.Advance(time.Millisecond)
		}
		var got []string
		for range want {
			got = append(got, take(t, q).ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		mustBeEmpty(t, q)
		mustHold(t, q)
	}
}

// TestLife checks the fields of a job after the job is put, taken and ended (worked example W112 of
// the book), and the time at which the job is removed (W114).
func TestLife(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	type image struct{ Source, Output string }
	began := clock.Now()
	id := put(t, q, queue.Spec{Kind: "convertImage", Priority: 1, Payload: image{"image.png", "image.jpg"}})
	job := mustBe(t, q, id, queue.Open)
	if !job.Started.IsZero() || !job.Ended.IsZero() || !job.Created.Equal(began) || job.Priority != 1 {
		t.Errorf("put: %+v", job)
	}
	clock.Advance(time.Minute)
	held := take(t, q)
	var payload image
	if err := held.Decode(&payload); err != nil || payload != (image{"image.png", "image.jpg"}) {
		t.Errorf("%+v %v", payload, err)
	}
	if !held.Started.Equal(began.Add(time.Minute)) || held.Owner == "" || held.Attempt != 1 || held.Token != 1 {
		t.Errorf("taken: %+v", held.Job)
	}
	mustBeEmpty(t, q)
	clock.Advance(4 * time.Minute)
	held.SetResult("12 KiB")
	must(t, held.Done(t.Context()))
	job = mustBe(t, q, id, queue.Done)
	ended := began.Add(5 * time.Minute)
	if !job.Ended.Equal(ended) || !job.Expires.Equal(ended.Add(24*time.Hour)) ||
		job.Result.StringValue() != "12 KiB" || job.Owner != "" {
		t.Errorf("done: %+v", job)
	}
	if err := held.Done(t.Context()); !errors.Is(err, queue.ErrLost) {
		t.Errorf("done twice: %v", err)
	}
	mustHold(t, q)
}

func TestDelayed(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	put(t, q, queue.Spec{ID: "later", Priority: 9, At: clock.Now().Add(time.Hour)})
	put(t, q, queue.Spec{ID: "now"})
	if id := take(t, q).ID; id != "now" {
		t.Errorf("%s is taken first", id)
	}
	mustBeEmpty(t, q)
	clock.Advance(time.Hour)
	if id := take(t, q).ID; id != "later" {
		t.Errorf("%s", id)
	}
}

// TestRetry lets a job fail, wait, and fail again until it is dead.
func TestRetry(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	id := put(t, q, queue.Spec{})
	for i := 1; i <= 3; i++ {
		job := take(t, q)
		if job.Attempt != i {
			t.Errorf("attempt %d is %d", i, job.Attempt)
		}
		must(t, job.Fail(t.Context(), errors.New("no paper")))
		mustBeEmpty(t, q)
		clock.Advance(time.Second)
	}
	mustBeEmpty(t, q)
	job := mustBe(t, q, id, queue.Dead)
	if len(job.Errors) != 3 || job.Errors[2].Error != "no paper" ||
		job.Errors[2].Attempt != 3 || !job.Expires.IsZero() {
		t.Errorf("%+v", job)
	}
	mustHold(t, q)
	must(t, q.Requeue(t.Context(), id))
	if job := take(t, q); job.Attempt != 1 || job.Token != 4 || len(job.Errors) != 3 {
		t.Errorf("%+v", job)
	}
	mustHold(t, q)
}

func TestDiscard(t *testing.T) {
	t.Parallel()
	q, _ := open(t, func(c *queue.Config) { c.KeepDead = time.Hour })
	id := put(t, q, queue.Spec{})
	cause := errors.New("no such file")
	must(t, take(t, q).Fail(t.Context(), queue.Discard(cause)))
	if job := mustBe(t, q, id, queue.Dead); job.Errors[0].Error != cause.Error() || job.Expires.IsZero() {
		t.Errorf("%+v", job)
	}
	if !errors.Is(queue.Discard(cause), cause) {
		t.Error("the cause is hidden")
	}
}

func TestExponential(t *testing.T) {
	t.Parallel()
	backoff := queue.Exponential(time.Second, time.Minute)
	for attempt, most := range map[int]time.Duration{1: 1, 2: 2, 3: 4, 6: 32, 7: 60, 1000: 60} {
		if d := backoff(attempt); d < most*time.Second/2 || d > most*time.Second {
			t.Errorf("%v after attempt %d", d, attempt)
		}
	}
}

// TestDeadWorker lets workers take a job and die. The next worker gets the job when the lease has
// ended, the first worker cannot change it any more, and the job is dead after the last attempt.
func TestDeadWorker(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	id := put(t, q, queue.Spec{})
	first := take(t, q)
	clock.Advance(50 * time.Second)
	must(t, first.Extend(t.Context()))
	clock.Advance(50 * time.Second)
	mustBeEmpty(t, q)
	clock.Advance(10 * time.Second)
	must(t, first.Note(t.Context(), "page", 7)) // the lease is over, but no other worker has taken the job
	clock.Advance(time.Minute)
	second := take(t, q)
	var page int
	if ok, err := second.Noted("page", &page); !ok || err != nil || page != 7 {
		t.Errorf("%v %d %v", ok, page, err)
	}
	for what, err := range map[string]error{
		"extend": first.Extend(t.Context()), "note": first.Note(t.Context(), "page", 8),
		"done": first.Done(t.Context()),
		"fail": first.Fail(t.Context(), errors.New("late")), "release": first.Release(t.Context()),
	} {
		if !errors.Is(err, queue.ErrLost) {
			t.Errorf("%s by the one that has lost the job: %v", what, err)
		}
	}
	clock.Advance(time.Minute)
	take(t, q)
	clock.Advance(time.Minute)
	mustBeEmpty(t, q) // the third worker used the last attempt
	if job := mustBe(t, q, id, queue.Dead); job.Attempt != 3 || len(job.Errors) != 1 {
		t.Errorf("%+v", job)
	}
	mustHold(t, q)
}

func TestRelease(t *testing.T) {
	t.Parallel()
	q, _ := open(t)
	put(t, q, queue.Spec{})
	for range 5 {
		must(t, take(t, q).Release(t.Context()))
	}
	if job := take(t, q); job.Attempt != 1 || job.Token != 6 {
		t.Errorf("%+v", job.Job)
	}
	mustHold(t, q)
}

// TestEnded ends an attempt with Release and with Fail: a late heartbeat of that attempt returns
// ErrLost.
func TestEnded(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	put(t, q, queue.Spec{})
	for _, end := range []func(*queue.Taken) error{
		func(job *queue.Taken) error { return job.Release(t.Context()) },
		func(job *queue.Taken) error { return job.Fail(t.Context(), errors.New("no")) },
	} {
		job := take(t, q)
		must(t, end(job))
		if err := job.Extend(t.Context()); !errors.Is(err, queue.ErrLost) {
			t.Errorf("a late heartbeat: %v", err)
		}
		clock.Advance(time.Second)
	}
	take(t, q)
}

func TestUnique(t *testing.T) {
	t.Parallel()
	for _, spread := range []int{1, 3} {
		q, _ := open(t, func(c *queue.Config) { c.Spread = spread })
		spec := queue.Spec{Unique: "report of user 7"}
		id := put(t, q, spec)
		if _, err := q.Put(t.Context(), spec); !errors.Is(err, queue.ErrExists) {
			t.Errorf("while it waits: %v", err)
		}
		job := take(t, q)
		if _, err := q.Put(t.Context(), spec); !errors.Is(err, queue.ErrExists) {
			t.Errorf("while it is done: %v", err)
		}
		must(t, job.Done(t.Context()))
		put(t, q, spec)
		if err := q.Requeue(t.Context(), id); !errors.Is(err, queue.ErrExists) {
			t.Errorf("the first one again: %v", err)
		}
		if _, err := q.Put(t.Context(), queue.Spec{ID: id}); spread == 1 && !errors.Is(err, queue.ErrExists) {
			t.Errorf("the same ID: %v", err)
		}
		mustHold(t, q)
	}
}

func TestPutMany(t *testing.T) {
	t.Parallel()
	q, _ := open(t, func(c *queue.Config) { c.Spread = 3 })
	specs := make([]queue.Spec, 20)
	if n, err := q.PutMany(t.Context(), specs[:15]); n != 15 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := q.PutMany(t.Context(), specs); n != 5 || err != nil {
		t.Fatal(n, err)
	}
	seen := map[string]bool{}
	for range specs {
		seen[take(t, q).ID] = true
	}
	if len(seen) != len(specs) {
		t.Errorf("%d jobs", len(seen))
	}
	mustBeEmpty(t, q)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	q, _ := open(t, func(c *queue.Config) { c.Spread = 2 })
	waiting, running := put(t, q, queue.Spec{}), ""
	must(t, q.Cancel(t.Context(), waiting))
	mustBeEmpty(t, q)
	running = put(t, q, queue.Spec{})
	job := take(t, q)
	must(t, q.Cancel(t.Context(), running))
	if err := job.Extend(t.Context()); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a heartbeat of what was cancelled: %v", err)
	}
	if err := q.Cancel(t.Context(), running); !errors.Is(err, queue.ErrNotFound) {
		t.Errorf("twice: %v", err)
	}
	mustBe(t, q, running, queue.Cancelled)
	must(t, q.Requeue(t.Context(), waiting))
	if id := take(t, q).ID; id != waiting {
		t.Errorf("%s", id)
	}
	mustHold(t, q)
}

func TestInspect(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	put(t, q, queue.Spec{Kind: "a"})
	for range 2 {
		must(t, take(t, q).Fail(t.Context(), queue.Discard(errors.New("no"))))
		put(t, q, queue.Spec{Kind: "b"})
	}
	take(t, q)
	put(t, q, queue.Spec{At: clock.Now().Add(time.Hour)})
	put(t, q, queue.Spec{})
	must(t, q.Cancel(t.Context(), put(t, q, queue.Spec{})))
	clock.Advance(10 * time.Second)
	stats, err := q.Stats(t.Context())
	if want := (queue.Stats{
		Waiting: 1, Delayed: 1, Running: 1, Dead: 2, Cancelled: 1,
		Oldest: 10 * time.Second,
	}); err != nil || *stats != want {
		t.Errorf("%+v, want %+v: %v", stats, want, err)
	}
	count := func(which queue.Query) (n int) {
		for _, err := range q.Jobs(t.Context(), which) {
			must(t, err)
			n++
		}
		return n
	}
	if all, dead, a := count(queue.Query{}), count(queue.Query{State: queue.Dead}),
		count(queue.Query{Kind: "a"}); all != 6 || dead != 2 || a != 1 {
		t.Errorf("%d jobs, %d dead, %d of kind a", all, dead, a)
	}
	if n, err := q.RequeueDead(t.Context(), "a"); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := q.Purge(t.Context(), queue.Dead, clock.Now()); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if _, err := q.Purge(t.Context(), queue.Open, clock.Now()); err == nil {
		t.Error("open jobs are purged")
	}
	if _, err := q.Get(t.Context(), "x"); !errors.Is(err, queue.ErrNotFound) {
		t.Error(err)
	}
	mustHold(t, q)
}

// TestOnce updates another document twice for the same job: only the first update takes effect.
func TestOnce(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	q := newQueue(t, db, nil)
	put(t, q, queue.Spec{})
	job := take(t, q)
	accounts := db.Collection("accounts")
	if _, err := accounts.InsertOne(t.Context(), bson.D{{"_id", 1}, {"balance", 10}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{1, 0} {
		when, remember := job.Once("jobs")
		res, err := accounts.UpdateOne(t.Context(), bson.D{{"_id", 1}, when},
			bson.D{{"$inc", bson.D{{"balance", 5}}}, remember})
		if err != nil || res.ModifiedCount != want {
			t.Fatalf("%+v %v", res, err)
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if _, err := queue.New(db, queue.Config{Lease: -1}); err == nil {
		t.Error("a negative lease")
	}
	q := newQueue(t, db, nil)
	must(t, q.EnsureIndexes(t.Context()))
	if err := q.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
}
