package queue_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/queue"
	"github.com/sheafdb/sheaf/sheaftest"
)

// start runs a worker. The function that it returns stops the worker and waits for it.
func start(t testing.TB, w *queue.Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := w.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

// eventually waits until ok returns true.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 20000 {
		if ok() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("it does not happen: %s", what)
}

func ended(t testing.TB, q *queue.Queue, id string, state queue.State) {
	t.Helper()
	eventually(t, id+" is "+string(state), func() bool {
		job, err := q.Get(context.Background(), id)
		return err == nil && job.State == state
	})
}

// TestWorker tests each way in which a job can end.
func TestWorker(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	q := newQueue(t, db, nil, func(c *queue.Config) { c.Backoff = func(int) time.Duration { return 0 } })
	var snoozed, shaky atomic.Int64
	w := q.NewWorker(queue.Kinds{
		"good": queue.Typed(func(_ context.Context, job *queue.Taken, n int) error {
			job.SetResult(n + 1)
			return nil
		}),
		"bad": func(context.Context, *queue.Taken) error { return errors.New("never") },
		"shaky": func(context.Context, *queue.Taken) error {
			if shaky.Add(1) < 3 {
				panic("not yet")
			}
			return nil
		},
		"tired": func(_ context.Context, job *queue.Taken) error {
			if snoozed.Add(1) < 10 {
				return queue.Snooze(0)
			}
			return nil
		},
		"own": func(ctx context.Context, job *queue.Taken) error { return job.Done(ctx) },
		"tx": func(ctx context.Context, job *queue.Taken) error {
			return job.DoneWith(ctx, func(context.Context) error { return nil })
		},
	}.Handle, queue.WorkerConfig{Poll: 5 * time.Millisecond})
	start(t, w)
	kinds := map[string]queue.State{
		"good": queue.Done, "bad": queue.Dead, "shaky": queue.Done, "tired": queue.Done,
		"own": queue.Done, "unknown": queue.Dead,
	}
	if patterntest.ReplicaSet(t, db) {
		kinds["tx"] = queue.Done
	}
	for kind := range kinds {
		put(t, q, queue.Spec{ID: kind, Kind: kind, Payload: 1})
	}
	put(t, q, queue.Spec{ID: "typo", Kind: "good", Payload: "one"})
	for kind, state := range kinds {
		ended(t, q, kind, state)
	}
	ended(t, q, "typo", queue.Dead)
	if job := mustBe(t, q, "good", queue.Done); job.Result.AsInt64() != 2 {
		t.Errorf("%v", job.Result)
	}
	if job := mustBe(t, q, "tired", queue.Done); job.Attempt != 1 {
		t.Errorf("%d attempts", job.Attempt)
	}
	if job := mustBe(t, q, "typo", queue.Dead); job.Attempt != 1 {
		t.Errorf("%d attempts", job.Attempt)
	}
	mustHold(t, q)
}

// TestWokenUp puts a job for a worker that polls only once an hour: the change stream wakes the
// worker.
func TestWokenUp(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if !patterntest.ReplicaSet(t, db) {
		t.Skip("the server has no change streams")
	}
	q := newQueue(t, db, nil, func(c *queue.Config) { c.Spread = 2 })
	var n atomic.Int64
	start(t, q.NewWorker(func(context.Context, *queue.Taken) error { n.Add(1); return nil },
		queue.WorkerConfig{Poll: time.Hour}))
	eventually(t, "the worker follows the changes", func() bool {
		put(t, q, queue.Spec{})
		return n.Load() > 0
	})
}

// TestPolling uses a server without change streams and transactions: the worker finds jobs by
// polling, and DoneWith returns an error.
func TestPolling(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if patterntest.ReplicaSet(t, db) {
		db = sheaftest.Open(t, &sheaf.Options{Standalone: true}).Client().Database("d")
	}
	q := newQueue(t, db, nil)
	id := put(t, q, queue.Spec{Kind: "none"})
	start(t, q.NewWorker(func(ctx context.Context, job *queue.Taken) error {
		err := job.DoneWith(ctx, func(context.Context) error { return nil })
		if !errors.Is(err, queue.ErrNoTransactions) && !strings.Contains(err.Error(), "does not support sessions") {
			t.Error(err)
		}
		return nil
	}, queue.WorkerConfig{Poll: 5 * time.Millisecond}))
	ended(t, q, id, queue.Done)
	ended(t, q, put(t, q, queue.Spec{}), queue.Done)
}

// TestGracefulStop stops a worker with two handlers. One finishes during the grace period. The
// other is stopped after the grace period, and its job goes back to the queue.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	begun, quick := make(chan struct{}, 2), make(chan struct{})
	w := q.NewWorker(queue.Kinds{
		"quick": func(ctx context.Context, _ *queue.Taken) error {
			begun <- struct{}{}
			<-quick
			return ctx.Err()
		},
		"slow": func(ctx context.Context, _ *queue.Taken) error {
			begun <- struct{}{}
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), queue.ErrStopped) {
				t.Errorf("stopped by %v", context.Cause(ctx))
			}
			return ctx.Err()
		},
	}.Handle, queue.WorkerConfig{Poll: time.Second, Grace: 30 * time.Second})
	put(t, q, queue.Spec{ID: "quick", Kind: "quick"})
	put(t, q, queue.Spec{ID: "slow", Kind: "slow"})
	stop := start(t, w)
	<-begun
	<-begun
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	close(quick)
	ended(t, q, "quick", queue.Done)
	eventually(t, "the worker is stopped", func() bool {
		select {
		case <-stopped:
			return true
		default:
			clock.Advance(time.Second)
			return false
		}
	})
	if job := mustBe(t, q, "slow", queue.Open); job.Attempt != 0 || job.Owner != "" {
		t.Errorf("%+v", job)
	}
	mustHold(t, q)
}

// TestHeartbeat runs a handler for ten heartbeats: the worker keeps the job until the job is
// canceled. A second handler exceeds its timeout, and its job is dead.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	causes := make(chan error, 2)
	begun := make(chan struct{}, 2)
	handler := func(ctx context.Context, _ *queue.Taken) error {
		begun <- struct{}{}
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return ctx.Err()
	}
	stop := start(t, q.NewWorker(handler, queue.WorkerConfig{Concurrency: 1}))
	id := put(t, q, queue.Spec{})
	eventually(t, "the job is taken", func() bool { clock.Advance(time.Second); return len(begun) > 0 })
	for range 10 { // the job stays held through ten heartbeats
		before := mustBe(t, q, id, queue.Open).At
		eventually(t, "a heartbeat",
			func() bool { clock.Advance(time.Second); return mustBe(t, q, id, queue.Open).At.After(before) })
	}
	must(t, q.Cancel(t.Context(), id))
	eventually(t, "the handler hears of it", func() bool { clock.Advance(time.Second); return len(causes) > 0 })
	if err := <-causes; !errors.Is(err, queue.ErrLost) {
		t.Error(err)
	}
	stop()
	id = put(t, q, queue.Spec{MaxAttempts: 1})
	start(t, q.NewWorker(handler, queue.WorkerConfig{Timeout: time.Minute}))
	eventually(t, "the time is over", func() bool { clock.Advance(time.Second); return len(causes) > 0 })
	if err := <-causes; !errors.Is(err, queue.ErrTimeout) {
		t.Error(err)
	}
	ended(t, q, id, queue.Dead)
	mustHold(t, q)
}

// TestTogether lets several workers do jobs that fail, are snoozed and cancelled at random. Each
// job is done once, because no lease ends.
func TestTogether(t *testing.T) {
	t.Parallel()
	const workers, jobs = 3, 150
	db := patterntest.Open(t)
	var mu sync.Mutex
	done := map[string]int{}
	handler := func(_ context.Context, job *queue.Taken) error {
		switch rand.IntN(6) {
		case 0:
			return errors.New("not this time")
		case 1:
			return queue.Snooze(time.Millisecond)
		}
		mu.Lock()
		defer mu.Unlock()
		done[job.ID]++
		return nil
	}
	again := func(c *queue.Config) {
		c.Spread, c.MaxAttempts, c.Backoff = 2, 100, func(int) time.Duration { return time.Millisecond }
	}
	q := newQueue(t, db, nil, again)
	for range workers {
		start(t, newQueue(t, db, nil, again).
			NewWorker(handler, queue.WorkerConfig{Concurrency: 4, Poll: 5 * time.Millisecond}))
	}
	var cancelled atomic.Int64
	var producers sync.WaitGroup
	for range 3 {
		producers.Go(func() {
			for i := range jobs / 3 {
				id := put(t, q, queue.Spec{Priority: rand.IntN(3)})
				if i%10 == 0 && q.Cancel(context.Background(), id) == nil {
					cancelled.Add(1)
				}
			}
		})
	}
	producers.Wait()
	eventually(t, "all jobs are done", func() bool {
		s, err := q.Stats(context.Background())
		must(t, err)
		return s.Done+s.Cancelled == jobs
	})
	s, err := q.Stats(context.Background())
	must(t, err)
	mu.Lock()
	defer mu.Unlock()
	for id, n := range done {
		if n != 1 {
			t.Errorf("job %s was done %d times", id, n)
		}
	}
	if s.Cancelled != cancelled.Load() || len(done) < int(s.Done) {
		t.Errorf("%+v, %d cancelled, %d done", s, cancelled.Load(), len(done))
	}
	mustHold(t, q)
}

// TestExactlyOnce changes an account in a job that is tried several times: DoneWith makes the
// change happen once.
func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if !patterntest.ReplicaSet(t, db) {
		t.Skip("the server has no transactions")
	}
	q := newQueue(t, db, nil)
	accounts := db.Collection("accounts")
	book := func(ctx context.Context) error {
		_, err := accounts.UpdateOne(ctx, bson.D{{"_id", 1}}, bson.D{{"$inc", bson.D{{"balance", 5}}}})
		return err
	}
	if _, err := accounts.InsertOne(t.Context(), bson.D{{"_id", 1}, {"balance", 10}}); err != nil {
		t.Fatal(err)
	}
	put(t, q, queue.Spec{})
	job := take(t, q)
	broken := errors.New("the process notices a mistake")
	if err := job.DoneWith(t.Context(),
		func(ctx context.Context) error { must(t, book(ctx)); return broken }); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	must(t, job.DoneWith(t.Context(), book))
	if err := job.DoneWith(t.Context(), book); !errors.Is(err, queue.ErrLost) {
		t.Errorf("a second time: %v", err)
	}
	var account struct{ Balance int }
	must(t, accounts.FindOne(t.Context(), bson.D{}).Decode(&account))
	if account.Balance != 15 {
		t.Errorf("%+v", account)
	}
}

// TestPutInTransaction puts a job in a transaction that is aborted, and one in a transaction that
// commits: only the second job is stored.
func TestPutInTransaction(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if !patterntest.ReplicaSet(t, db) {
		t.Skip("the server has no transactions")
	}
	q := newQueue(t, db, nil)
	err := db.Client().UseSession(t.Context(), func(ctx context.Context) error {
		session := mongo.SessionFromContext(ctx)
		must(t, session.StartTransaction())
		put2(ctx, t, q)
		must(t, session.AbortTransaction(ctx))
		mustBeEmpty(t, q)
		must(t, session.StartTransaction())
		put2(ctx, t, q)
		return session.CommitTransaction(ctx)
	})
	must(t, err)
	take(t, q)
}

func put2(ctx context.Context, t *testing.T, q *queue.Queue) {
	t.Helper()
	if _, err := q.Put(ctx, queue.Spec{ID: "welcome"}); err != nil {
		t.Fatal(err)
	}
}

// TestRemoved is worked example W114 of the book: a job that was done long enough ago is removed,
// and a newer one is kept.
func TestRemoved(t *testing.T) {
	t.Parallel()
	db := sheaftest.New(t).Database("d") // the server of SHEAF_TEST_URI may remove too seldom
	often := bson.D{{"setParameter", 1}, {"ttlMonitorSleepSecs", 1}}
	must(t, db.Client().Database("admin").RunCommand(t.Context(), often).Err())
	q := newQueue(t, db, nil, func(c *queue.Config) { c.KeepDone = time.Millisecond })
	done, waits := put(t, q, queue.Spec{Priority: 1}), put(t, q, queue.Spec{})
	must(t, take(t, q).Done(t.Context()))
	eventually(t, "the job is removed",
		func() bool { _, err := q.Get(t.Context(), done); return errors.Is(err, queue.ErrNotFound) })
	mustBe(t, q, waits, queue.Open)
}
