package queue_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/queue"
)

// model is a simple queue in memory.
type model struct {
	now  time.Time
	jobs []*modelJob // in the order of their IDs
}

type modelJob struct {
	id       string
	state    queue.State
	priority int
	at       time.Time
	attempt  int
	token    int64
	held     bool
}

// These are the values of the Config that newQueue uses.
const (
	modelLease   = time.Minute
	modelMax     = 3
	modelBackoff = time.Second
)

// take returns the job that Take must return, or nil if no job is due.
func (m *model) take() *modelJob {
	for {
		var first *modelJob
		for _, j := range m.jobs {
			due := j.state == queue.Open && !j.at.After(m.now)
			if due && (first == nil || j.priority > first.priority ||
				j.priority == first.priority && j.at.Before(first.at)) {
				first = j
			}
		}
		if first == nil {
			return nil
		}
		first.token++
		if first.attempt == modelMax {
			first.state, first.held = queue.Dead, false
			continue
		}
		first.attempt++
		first.held, first.at = true, m.now.Add(modelLease)
		return first
	}
}

// TestModel compares a queue with the model after random operations.
func TestModel(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		clock := patterntest.NewClock()
		q := newQueue(t, db, clock, func(c *queue.Config) { c.Name = fmt.Sprint("jobs", run) })
		m := &model{now: clock.Now()}
		var taken []*queue.Taken
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			switch step := rapid.IntRange(0, 9).Draw(rt, "step"); {
			case step < 3:
				m.put(rt, q)
			case step < 5:
				if job := m.mustTake(rt, q); job != nil {
					taken = append(taken, job)
				}
			case step < 8 && len(taken) > 0:
				m.end(rt, rapid.SampledFrom(taken).Draw(rt, "taken"))
			case step == 8 && len(m.jobs) > 0:
				m.manage(rt, q)
			default:
				d := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Minute}).Draw(rt, "time")
				clock.Advance(d)
				m.now = m.now.Add(d)
			}
		}
		m.compare(rt, q)
		mustHold(t, q)
	})
}

func (m *model) put(rt *rapid.T, q *queue.Queue) {
	j := &modelJob{
		id: fmt.Sprintf("%04d", len(m.jobs)), state: queue.Open,
		priority: rapid.IntRange(0, 2).Draw(rt, "priority"), at: m.now,
	}
	if rapid.IntRange(0, 3).Draw(rt, "delayed") == 0 {
		j.at = m.now.Add(time.Second)
	}
	if _, err := q.Put(context.Background(), queue.Spec{ID: j.id, Priority: j.priority, At: j.at}); err != nil {
		rt.Fatal(err)
	}
	m.jobs = append(m.jobs, j)
}

func (m *model) mustTake(rt *rapid.T, q *queue.Queue) *queue.Taken {
	want := m.take()
	got, err := q.Take(context.Background())
	if want == nil {
		if !errors.Is(err, queue.ErrEmpty) {
			rt.Fatalf("%+v %v, want none", got, err)
		}
		return nil
	}
	if err != nil || got.ID != want.id || got.Attempt != want.attempt || got.Token != want.token {
		rt.Fatalf("%+v %v, want %+v", got, err, want)
	}
	return got
}

// end lets a holder of a job, perhaps a former holder, end its attempt.
func (m *model) end(rt *rapid.T, job *queue.Taken) {
	var j *modelJob
	for _, j = range m.jobs {
		if j.id == job.ID {
			break
		}
	}
	holds := j.state == queue.Open && j.held && j.token == job.Token
	ctx := context.Background()
	var err error
	var change func()
	switch rapid.IntRange(0, 3).Draw(rt, "end") {
	case 0:
		err = job.Done(ctx)
		change = func() { j.state, j.held = queue.Done, false }
	case 1:
		err = job.Fail(ctx, errors.New("no"))
		change = func() {
			j.held, j.at = false, m.now.Add(modelBackoff)
			if j.attempt == modelMax {
				j.state = queue.Dead
			}
		}
	case 2:
		err = job.Release(ctx)
		change = func() { j.held, j.at, j.attempt = false, m.now, j.attempt-1 }
	default:
		err = job.Extend(ctx)
		change = func() { j.at = m.now.Add(modelLease) }
	}
	if holds && err != nil || !holds && !errors.Is(err, queue.ErrLost) {
		rt.Fatalf("held: %v, %v", holds, err)
	}
	if holds {
		change()
	}
}

// manage cancels a job or requeues it.
func (m *model) manage(rt *rapid.T, q *queue.Queue) {
	j := rapid.SampledFrom(m.jobs).Draw(rt, "job")
	if rapid.Bool().Draw(rt, "cancel") {
		if err := q.Cancel(context.Background(), j.id); (err == nil) != (j.state == queue.Open) {
			rt.Fatalf("cancel %+v: %v", j, err)
		}
		if j.state == queue.Open {
			j.state, j.held = queue.Cancelled, false
		}
		return
	}
	if err := q.Requeue(context.Background(), j.id); (err == nil) != (j.state != queue.Open) {
		rt.Fatalf("requeue %+v: %v", j, err)
	}
	if j.state != queue.Open {
		j.state, j.at, j.attempt = queue.Open, m.now, 0
	}
}

func (m *model) compare(rt *rapid.T, q *queue.Queue) {
	want := queue.Stats{}
	for _, j := range m.jobs {
		got, err := q.Get(context.Background(), j.id)
		if err != nil || got.State != j.state || got.Attempt != j.attempt ||
			j.state == queue.Open && !got.At.Equal(j.at) {
			rt.Fatalf("%+v %v, want %+v", got, err, j)
		}
		switch {
		case j.state == queue.Done:
			want.Done++
		case j.state == queue.Dead:
			want.Dead++
		case j.state == queue.Cancelled:
			want.Cancelled++
		case !j.at.After(m.now):
			want.Waiting++
			want.Oldest = max(want.Oldest, m.now.Sub(j.at))
		case j.held:
			want.Running++
		default:
			want.Delayed++
		}
	}
	if got, err := q.Stats(context.Background()); err != nil || *got != want {
		rt.Fatalf("%+v %v, want %+v", got, err, want)
	}
}
