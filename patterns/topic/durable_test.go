package topic_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/lock"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/topic"
)

// consume handles messages until it has received the message with the number last.
func consume(ctx context.Context, topics *topic.Topics, in topic.Interest, last int64) (got []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = topics.Consume(ctx, "me", in, func(_ context.Context, m *topic.Message) error {
		n := m.Data.AsInt64()
		got = append(got, n)
		if n == last {
			cancel()
		}
		return nil
	})
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return got, err
}

func TestDurable(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		topics := open(nil)
		in := topic.Interest{From: topic.Beginning()}
		publish(t, topics, "a", 1, 2, 3)
		got, err := consume(t.Context(), topics, in, 2)
		must(t, err)
		mustBe(t, got, 1, 2)
		publish(t, topics, "a", 4)
		lag, err := topics.Lag(t.Context(), "me")
		if err != nil || lag.Messages != 2 {
			t.Errorf("%+v %v", lag, err)
		}
		broken := errors.New("no paper")
		err = topics.Consume(t.Context(), "me", in, func(context.Context, *topic.Message) error { return broken })
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		got, err = consume(t.Context(), topics, in, 4)
		must(t, err)
		mustBe(t, got, 3, 4)
		if s, err := topics.Subscriber(t.Context(), "me"); err != nil || s.Handled != 4 {
			t.Errorf("%+v %v", s, err)
		}
		must(t, topics.Reset(t.Context(), "me", topic.Beginning()))
		got, err = consume(t.Context(), topics, in, 4)
		must(t, err)
		mustBe(t, got, 1, 2, 3, 4)
		must(t, topics.Forget(t.Context(), "me"))
		if _, err := topics.Lag(t.Context(), "me"); !errors.Is(err, topic.ErrNotFound) {
			t.Error(err)
		}
		mustHold(t, topics)
	})
}

// TestNewFromNow starts a new subscriber that receives nothing and stops. When it returns, it gets
// the messages since its first start, and no older ones.
func TestNewFromNow(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		topics := open(nil)
		publish(t, topics, "a", 1)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- topics.Consume(ctx, "me", topic.Interest{},
				func(context.Context, *topic.Message) error { return nil })
		}()
		for {
			if _, err := topics.Subscriber(t.Context(), "me"); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		publish(t, topics, "a", 2)
		got, err := consume(t.Context(), topics, topic.Interest{}, 2)
		must(t, err)
		mustBe(t, got, 2)
	})
}

// TestTakeOver runs two processes that consume under one name. When the first process stops, the
// other one continues.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		topics := open(nil)
		var mu sync.Mutex
		var got []int64
		handled := func() []int64 {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(got)
		}
		handle := func(_ context.Context, m *topic.Message) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, m.Data.AsInt64())
			return nil
		}
		var wg sync.WaitGroup
		var stops []context.CancelFunc
		for range 2 {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			stops = append(stops, cancel)
			wg.Go(func() {
				if err := topics.Consume(ctx, "me", topic.Interest{From: topic.Beginning()},
					handle); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		for i := 1; i <= 3; i++ {
			publish(t, topics, "a", i)
			for len(handled()) < i {
				time.Sleep(time.Millisecond)
			}
			if i <= len(stops) {
				// After the first stop the other process continues; after the second stop no
				// process continues.
				stops[i-1]()
			}
			if i == 2 {
				break
			}
		}
		wg.Wait()
		mustBe(t, handled(), 1, 2)
		if err := topics.Reset(t.Context(), "me", topic.Now()); err != nil {
			t.Error(err)
		}
	})
}

// TestOverrunTold has a durable subscriber that comes back too late, and continues with the
// messages that are left.
func TestOverrunTold(t *testing.T) {
	t.Parallel()
	topics := newTopics(t, patterntest.Open(t), func(c *topic.Config) { c.Max = 5 })
	publish(t, topics, "a", 1)
	in := topic.Interest{From: topic.Beginning()}
	_, err := consume(t.Context(), topics, in, 1)
	must(t, err)
	publish(t, topics, "a", 2, 3, 4, 5, 6, 7)
	var overrun *topic.OverrunError
	if _, err := consume(t.Context(), topics, in, 7); !errors.As(err, &overrun) {
		t.Fatal(err)
	}
	must(t, topics.Reset(t.Context(), "me", topic.Beginning()))
	got, err := consume(t.Context(), topics, in, 7)
	must(t, err)
	mustBe(t, got, 3, 4, 5, 6, 7)
}

// TestCrash lets the process die at every point of publishing and of consuming. Afterwards each
// message that was not handled is delivered once.
func TestCrash(t *testing.T) {
	t.Parallel()
	const last = 5
	patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) { newTopics(t, db) },
		Operation: func(ctx context.Context, db *mongo.Database) error {
			topics, err := topic.New(db, topic.Config{Size: 1 << 20, Await: 20 * time.Millisecond})
			must(t, err)
			drafts := make([]topic.Draft, last)
			for i := range drafts {
				drafts[i] = topic.Draft{Topic: "a", Data: i + 1}
			}
			if _, err := topics.PublishAll(ctx, drafts); err != nil {
				return err
			}
			_, err = consume(ctx, topics, topic.Interest{From: topic.Beginning()}, 3)
			return err
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			clock := patterntest.NewClock()
			clock.Advance(time.Since(clock.Now()) + time.Hour) // all leases have ended
			topics := newTopics(t, db, func(c *topic.Config) { c.Clock = clock })
			if death.Commands == 0 {
				publish(t, topics, "a", last)
			}
			handled := int64(0)
			if s, err := topics.Subscriber(t.Context(), "me"); err == nil {
				handled = s.Handled
			}
			got, err := consume(t.Context(), topics, topic.Interest{From: topic.Beginning()}, last)
			must(t, err)
			want := []int64{1, 2, 3, 4, 5}[handled:]
			if death.Commands == 0 {
				want = []int64{last}
			}
			mustBe(t, got, want...)
			if death.Survived && handled != 3 {
				t.Errorf("%d messages were handled", handled)
			}
			mustHold(t, topics)
		},
	})
}

// TestCrashReset lets the process die while it moves a subscriber. Afterwards the subscriber is at
// its old position or at the beginning.
func TestCrashReset(t *testing.T) {
	t.Parallel()
	points := patterntest.Crash(t, patterntest.Scenario{
		Setup: func(t *testing.T, db *mongo.Database) {
			topics := newTopics(t, db)
			publish(t, topics, "a", 1, 2)
			_, err := consume(t.Context(), topics, topic.Interest{From: topic.Beginning()}, 1)
			must(t, err)
		},
		Operation: func(ctx context.Context, db *mongo.Database) error {
			topics, err := topic.New(db, topic.Config{Size: 1 << 20, Await: 20 * time.Millisecond})
			must(t, err)
			return topics.Reset(ctx, "me", topic.Beginning())
		},
		After: func(t *testing.T, db *mongo.Database, death patterntest.Death) {
			clock := patterntest.NewClock()
			clock.Advance(time.Since(clock.Now()) + time.Hour)
			topics := newTopics(t, db, func(c *topic.Config) { c.Clock = clock })
			got, err := consume(t.Context(), topics, topic.Interest{From: topic.Beginning()}, 2)
			must(t, err)
			if len(got) == 2 || death.Survived {
				mustBe(t, got, 1, 2)
			} else {
				mustBe(t, got, 2)
			}
			mustHold(t, topics)
		},
	})
	if points < 6 {
		t.Errorf("%d points", points)
	}
}

func TestResetHeld(t *testing.T) {
	t.Parallel()
	topics := newTopics(t, patterntest.Open(t))
	publish(t, topics, "a", 1)
	err := topics.Consume(t.Context(), "me", topic.Interest{From: topic.Beginning()},
		func(ctx context.Context, _ *topic.Message) error {
			return topics.Reset(ctx, "me", topic.Now())
		})
	if !errors.Is(err, lock.ErrHeld) {
		t.Error(err)
	}
}
