package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/patterns/queue"
)

func TestBatch(t *testing.T) {
	t.Parallel()
	q, _ := open(t, func(c *queue.Config) { c.Spread = 3 })
	b := queue.Batch{ID: "$import", Jobs: make([]queue.Spec, 3), Then: &queue.Spec{Kind: "report"}}
	must(t, q.PutBatch(t.Context(), b))
	must(t, take(t, q).Done(t.Context()))
	must(t, q.PutBatch(t.Context(), b)) // put it again, as if the first call had failed
	mustHold(t, q)
	dead := take(t, q)
	must(t, dead.Fail(t.Context(), queue.Discard(errors.New("no"))))
	must(t, take(t, q).Done(t.Context()))
	mustBeEmpty(t, q) // the follow-up job waits for the dead job
	got, err := q.Progress(t.Context(), b.ID)
	if err != nil || len(got) != 3 || got[queue.Done] != 2 || got[queue.Dead] != 1 || got[queue.Held] != 1 {
		t.Errorf("%v %v", got, err)
	}
	must(t, q.Requeue(t.Context(), dead.ID))
	must(t, take(t, q).Done(t.Context()))
	if job := take(t, q); job.Kind != "report" || job.ID != "$import/then" {
		t.Errorf("%+v", job.Job)
	}
	mustHold(t, q)
}

func TestCancelBatch(t *testing.T) {
	t.Parallel()
	q, _ := open(t)
	must(t, q.PutBatch(t.Context(), queue.Batch{ID: "b", Jobs: make([]queue.Spec, 3), Then: &queue.Spec{}}))
	must(t, take(t, q).Done(t.Context()))
	if n, err := q.CancelBatch(t.Context(), "b"); n != 3 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	mustBeEmpty(t, q)
	mustHold(t, q)
}

func TestBatchRefused(t *testing.T) {
	t.Parallel()
	q, _ := open(t)
	for _, b := range []queue.Batch{
		{},
		{ID: "b"},
		{ID: "b", Jobs: make([]queue.Spec, queue.MaxBatch+1)},
		{ID: "b", Jobs: []queue.Spec{{ID: "own"}}},
		{ID: "b", Jobs: []queue.Spec{{}}, Then: &queue.Spec{Unique: "u"}},
	} {
		if err := q.PutBatch(t.Context(), b); err == nil {
			t.Errorf("%q with %d jobs is put", b.ID, len(b.Jobs))
		}
	}
}

// TestSchedule runs the same periodic jobs in three processes: each job is put once.
func TestSchedule(t *testing.T) {
	t.Parallel()
	q, clock := open(t)
	begin := clock.Now()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	periodics := []queue.Periodic{
		{Name: "hourly", Every: time.Hour},
		{Name: "noon", Next: func(after time.Time) time.Time {
			return after.Add(12 * time.Hour).Truncate(24 * time.Hour).Add(12 * time.Hour)
		}},
	}
	for range 3 {
		go func() { done <- q.Schedule(ctx, periodics...) }()
	}
	hours := map[string]int{}
	for h := 1; h <= 5; h++ {
		due := begin.Add(time.Duration(h) * time.Hour)
		id := "hourly@" + due.Format(time.RFC3339Nano)
		eventually(t, "the next job is there", func() bool {
			clock.Advance(time.Second) // the hour may have passed before the processes slept
			_, err := q.Get(t.Context(), id)
			return err == nil
		})
		mustBeEmpty(t, q)
		clock.Advance(time.Hour)
		job := take(t, q)
		hours[job.ID]++
		if job.ID != id {
			t.Errorf("%s, want %s", job.ID, id)
		}
		must(t, job.Done(t.Context()))
	}
	cancel()
	for range 3 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	mustBe(t, q, "noon@2026-05-02T12:00:00Z", queue.Open)
	mustHold(t, q)
	same := func(after time.Time) time.Time { return after }
	for _, p := range []queue.Periodic{{Name: "never"}, {Every: time.Hour}, {Name: "now", Next: same}} {
		if err := q.Schedule(t.Context(), p); err == nil {
			t.Errorf("%+v is scheduled", p)
		}
	}
}
