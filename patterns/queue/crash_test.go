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

// later advances the clock so far that every lease and delay has ended.
func later(t *testing.T, db *mongo.Database) *queue.Queue {
	t.Helper()
	clock := patterntest.NewClock()
	clock.Advance(time.Hour)
	return newQueue(t, db, clock)
}

// withIndexes returns a queue on a database whose indexes exist, so that only the commands of the
// operation count.
func withIndexes(t *testing.T, db *mongo.Database) *queue.Queue {
	t.Helper()
	q, err := queue.New(db, queue.Config{
		Env: patterns.Env{Clock: patterntest.NewClock()}, Lease: time.Minute, MaxAttempts: 3,
	})
	must(t, err)
	return q
}

// TestCrash lets the process die at every point of each operation. No job is lost, and no job stays
// with a dead process for longer than a lease.
func TestCrash(t *testing.T) {
	t.Parallel()
	takeOne := func(ctx context.Context, q *queue.Queue) (*queue.Taken, error) { return q.Take(ctx) }
	for name, c := range map[string]struct {
		points int
		setup  func(t *testing.T, q *queue.Queue)
		do     func(ctx context.Context, q *queue.Queue) error
		after  func(t *testing.T, q *queue.Queue, death patterntest.Death)
	}{
		"put": {
			points: 2,
			do: func(ctx context.Context, q *queue.Queue) error {
				_,
					err := q.Put(ctx, queue.Spec{ID: "a"})
				return err
			},
			after: func(t *testing.T, q *queue.Queue, death patterntest.Death) {
				_, err := q.Get(t.Context(), "a")
				if there := death.Commands == 1; there != (err == nil) {
					t.Errorf("there: %v", err)
				}
			},
		},
		"take and done": {
			points: 4,
			setup:  func(t *testing.T, q *queue.Queue) { put(t, q, queue.Spec{ID: "a"}) },
			do: func(ctx context.Context, q *queue.Queue) error {
				job, err := takeOne(ctx, q)
				if err != nil {
					return err
				}
				return job.Done(ctx)
			},
			after: func(t *testing.T, q *queue.Queue, death patterntest.Death) {
				if death.Commands == 2 {
					mustBe(t, q, "a", queue.Done)
					return
				}
				if job := take(t, q); job.Attempt != death.Commands+1 {
					t.Errorf("attempt %d", job.Attempt)
				}
			},
		},
		"the last attempt": {
			points: 8,
			setup:  func(t *testing.T, q *queue.Queue) { put(t, q, queue.Spec{ID: "a", MaxAttempts: 1}) },
			do: func(ctx context.Context, q *queue.Queue) error {
				if _, err := takeOne(ctx, q); err != nil {
					return err
				}
				q.Clock().(*patterntest.Clock).Advance(time.Minute)
				_, err := q.Take(ctx) // moves the job to the dead letters, and asks again
				return err
			},
			after: func(t *testing.T, q *queue.Queue, death patterntest.Death) {
				if death.Commands == 0 {
					take(t, q)
					return
				}
				mustBeEmpty(t, q)
				mustBe(t, q, "a", queue.Dead)
			},
		},
		"buried and put back": {
			points: 8,
			setup:  func(t *testing.T, q *queue.Queue) { put(t, q, queue.Spec{ID: "a"}) },
			do: func(ctx context.Context, q *queue.Queue) error {
				job, err := takeOne(ctx, q)
				if err != nil {
					return err
				}
				if err := job.Fail(ctx, queue.Discard(errors.New("no"))); err != nil {
					return err
				}
				_, err = q.RequeueDead(ctx, "")
				return err
			},
			after: func(t *testing.T, q *queue.Queue, death patterntest.Death) {
				switch death.Commands {
				case 2, 3:
					mustBe(t, q, "a", queue.Dead)
				default:
					take(t, q)
				}
			},
		},
		"batch": {
			points: 2,
			do: func(ctx context.Context, q *queue.Queue) error {
				return q.PutBatch(ctx, queue.Batch{ID: "b", Jobs: make([]queue.Spec, 2), Then: &queue.Spec{}})
			},
			after: func(t *testing.T, q *queue.Queue, death patterntest.Death) {
				got, err := q.Progress(t.Context(), "b")
				if want := 2 * death.Commands; err != nil || got[queue.Open] != want || got[queue.Held] != want/2 {
					t.Errorf("%v %v", got, err)
				}
			},
		},
		"the last of a batch": {
			points: 6,
			setup: func(t *testing.T, q *queue.Queue) {
				must(t, q.PutBatch(t.Context(), queue.Batch{ID: "b", Jobs: make([]queue.Spec, 1), Then: &queue.Spec{}}))
			},
			do: func(ctx context.Context, q *queue.Queue) error {
				job, err := takeOne(ctx, q)
				if err != nil {
					return err
				}
				return job.Done(ctx)
			},
			after: func(t *testing.T, q *queue.Queue, death patterntest.Death) {
				var got []string
				for {
					job, err := q.Take(t.Context())
					if errors.Is(err, queue.ErrEmpty) {
						break
					}
					must(t, err)
					got = append(got, job.ID)
					must(t, job.Done(t.Context()))
				}
				want := []string{"b/0", "b/then"}
				if death.Commands == 3 {
					want = want[1:]
				}
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("done afterwards: %v, want %v", got, want)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			points := patterntest.Crash(t, patterntest.Scenario{
				Setup: func(t *testing.T, db *mongo.Database) {
					q := newQueue(t, db, patterntest.NewClock())
					if c.setup != nil {
						c.setup(t, q)
					}
				},
				Operation: func(ctx context.Context, db *mongo.Database) error { return c.do(ctx, withIndexes(t, db)) },
				After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
					q := later(t, db)
					c.after(t, q, death)
					mustHold(t, q)
				},
			})
			if points != c.points {
				t.Errorf("%d points", points)
			}
		})
	}
}

// TestCrashDoneWith lets the process die in a transaction that ends a job together with other
// writes.
func TestCrashDoneWith(t *testing.T) {
	t.Parallel()
	if !patterntest.ReplicaSet(t, patterntest.Open(t)) {
		t.Skip("the server has no transactions")
	}
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			put(t, newQueue(t, db, patterntest.NewClock()), queue.Spec{ID: "a"})
			must(t, db.CreateCollection(t.Context(), "others"))
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			job, err := withIndexes(t, db).Take(ctx)
			if err != nil {
				return err
			}
			return job.DoneWith(ctx, func(ctx context.Context) error {
				_, err := db.Collection("others").InsertOne(ctx, bson.D{{"_id", "a"}})
				return err
			})
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			q := later(t, db)
			n, err := db.Collection("others").CountDocuments(t.Context(), bson.D{})
			must(t, err)
			switch {
			case death.Commands == 4 && n == 1:
				mustBe(t, q, "a", queue.Done)
			case death.Commands < 4 && n == 0:
				take(t, q)
			default:
				t.Errorf("%v: %d were written", death, n)
			}
			mustHold(t, q)
		},
	})
	if points != 8 {
		t.Errorf("%d points", points)
	}
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	for _, order := range []queue.Order{queue.ByPriority, queue.ByTime} {
		s := patterntest.Start(t)
		clock := patterntest.NewClock()
		byOrder := func(c *queue.Config) { c.Order = order }
		newQueue(t, s.Database(), clock, byOrder)
		n := s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
			q := newQueue(t, db, clock, byOrder)
			must(t, q.PutBatch(ctx, queue.Batch{ID: "b", Jobs: make([]queue.Spec, 3), Then: &queue.Spec{}}))
			must(t, take(t, q).Done(ctx))
			must(t, take(t, q).Fail(ctx, errors.New("no")))
			must(t, take(t, q).Fail(ctx, queue.Discard(errors.New("no"))))
			_, err := q.RequeueDead(ctx, "")
			must(t, err)
			job := take(t, q)
			must(t, errors.Join(job.Extend(ctx), job.Note(ctx, "n", 1), job.Release(ctx)))
			must(t, q.Cancel(ctx, job.ID))
			_, err = q.CancelBatch(ctx, "b")
			must(t, err)
			_, err = q.Progress(ctx, "b")
			must(t, err)
			_, err = q.Stats(ctx)
			must(t, err)
			_, err = q.Purge(ctx, queue.Done, clock.Now())
			must(t, err)
			for _, err := range q.Jobs(ctx, queue.Query{}) {
				must(t, err)
			}
		})
		if n < 20 {
			t.Errorf("%d commands were explained", n)
		}
	}
}

// TestFewKeys takes a job that follows many jobs of several priorities that are not due. Take must
// not read all their index keys.
func TestFewKeys(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	q := newQueue(t, db, nil)
	specs := make([]queue.Spec, 1000)
	for i := range specs {
		specs[i] = queue.Spec{Priority: 1 + i%5, At: time.Now().Add(time.Hour)}
	}
	_, err := q.PutMany(t.Context(), specs)
	must(t, err)
	put(t, q, queue.Spec{ID: "due"})
	var plan struct {
		ExecutionStats struct{ TotalKeysExamined, TotalDocsExamined int }
	}
	order := bson.D{{"priority", -1}, {"at", 1}, {"_id", 1}}
	must(t, db.RunCommand(t.Context(), bson.D{{"explain", bson.D{
		{"findAndModify", queue.DefaultName},
		{"query", bson.D{{"state", queue.Open}, {"at", bson.D{{"$lte", time.Now()}}}}},
		{"sort", order},
		{"update", bson.D{{"$set", bson.D{{"owner", "me"}}}}},
	}}, {"verbosity", "executionStats"}}).Decode(&plan))
	if s := plan.ExecutionStats; s.TotalKeysExamined > 20 || s.TotalDocsExamined > 1 {
		t.Errorf("%+v", s)
	}
}

// TestBroken stores documents that violate each rule, and expects Check to find them.
func TestBroken(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	q := newQueue(t, db, patterntest.NewClock())
	at := q.Clock().Now()
	job := func(fields ...bson.E) bson.D {
		d := bson.D{{"kind", ""}, {"priority", 0}, {"max", 3}}
		defaults := bson.D{{"state", queue.Open}, {"at", at}, {"attempt", 0}, {"token", 0}}
		for _, e := range defaults {
			if !slices.ContainsFunc(fields, func(f bson.E) bool { return f.Key == e.Key }) {
				d = append(d, e)
			}
		}
		return append(d, fields...)
	}
	set := func(key string, v any) bson.E { return bson.E{key, v} }
	for rule, doc := range map[string]bson.D{
		queue.RuleState: job(set("state", "lost")),
		queue.RuleTime:  job(set("at", nil)),
		queue.RuleEnded: job(set("state", queue.Dead)),
		queue.RuleGoing: job(set("ended", at)),
		queue.RuleKept:  job(set("expires", at.Add(time.Hour))),
		queue.RuleOwner: job(set("state", queue.Done), set("ended", at), set("owner", "me")),
		queue.RuleHeld:  job(set("state", queue.Held)),
		queue.RuleAttempts: job(set("state", queue.Done), set("ended", at), set("attempt", 4),
			set("token", 4)),
		queue.RuleToken: job(set("attempt", 1)),
		queue.RuleWaits: job(set("state", queue.Held), set("waits", bson.A{"nobody"})),
	} {
		jobs := db.Collection(queue.DefaultName)
		doc = append(bson.D{{"_id", rule}}, doc...)
		if _, err := jobs.InsertOne(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
		violations, err := q.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != rule || violations[0].ID != rule {
			t.Errorf("%s: %v %v", rule, violations, err)
		}
		if _, err := jobs.DeleteMany(t.Context(), bson.D{}); err != nil {
			t.Fatal(err)
		}
	}
	must(t, db.Collection(queue.DefaultName).Drop(t.Context()))
	mustHold(t, q)
}
