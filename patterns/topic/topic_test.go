package topic_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/patterntest"
	"github.com/sheafdb/sheaf/patterns/topic"
	"github.com/sheafdb/sheaf/sheaftest"
)

func newTopics(t testing.TB, db *mongo.Database, change ...func(*topic.Config)) *topic.Topics {
	t.Helper()
	cfg := topic.Config{Size: 1 << 20, Await: 20 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	topics, err := topic.New(db, cfg)
	must(t, err)
	must(t, topics.EnsureIndexes(context.Background()))
	return topics
}

// forms runs a test for both forms of topics.
func forms(t *testing.T, test func(t *testing.T, open func(clock patterns.Clock) *topic.Topics)) {
	t.Helper()
	for name, form := range map[string]topic.Form{"tail": topic.ByTail, "stream": topic.ByStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if form == topic.ByStream && !patterntest.ReplicaSet(t, patterntest.Open(t)) {
				t.Skip("the server has no change streams")
			}
			test(t, func(clock patterns.Clock) *topic.Topics {
				return newTopics(t, patterntest.Open(t), func(c *topic.Config) { c.Form, c.Clock = form, clock })
			})
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustHold(t testing.TB, topics *topic.Topics) {
	t.Helper()
	violations, err := topics.Check(context.Background())
	if err != nil || len(violations) > 0 {
		t.Fatalf("%v %v", violations, err)
	}
}

func subscribe(t testing.TB, topics *topic.Topics, in topic.Interest) *topic.Subscription {
	t.Helper()
	sub, err := topics.Subscribe(context.Background(), in)
	must(t, err)
	t.Cleanup(func() { sub.Close(context.Background()) })
	return sub
}

// publish publishes numbers.
func publish(t testing.TB, topics *topic.Topics, name string, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		must(t, topics.Publish(context.Background(), name, n))
	}
}

// patience is the longest time for which a test waits.
const patience = 20 * time.Second

// next reads n messages and returns their numbers.
func next(t testing.TB, sub *topic.Subscription, n int) (out []int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for range n {
		m, err := sub.Next(ctx)
		if err != nil {
			t.Fatalf("after %v: %v", out, err)
		}
		out = append(out, m.Data.AsInt64())
	}
	return out
}

func mustBe(t testing.TB, got []int64, want ...int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// TestStart tests each start position. The start Since is worked example W117 of the book: a
// subscriber that begins at a time receives the messages published from then on.
func TestStart(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		clock := patterntest.NewClock()
		topics := open(clock)
		clock.Advance(time.Since(clock.Now())) // a replay from a change stream uses the server's time
		early := subscribe(t, topics, topic.Interest{})
		all := subscribe(t, topics, topic.Interest{From: topic.Beginning()})
		publish(t, topics, "a", 1)
		clock.Advance(time.Millisecond)
		publish(t, topics, "a", 2)
		at := clock.Now()
		clock.Advance(time.Millisecond)
		publish(t, topics, "a", 3)
		late := subscribe(t, topics, topic.Interest{})
		since := subscribe(t, topics, topic.Interest{From: topic.Since(at)})
		again := subscribe(t, topics, topic.Interest{From: topic.Beginning()})
		publish(t, topics, "a", 4)
		mustBe(t, next(t, early, 4), 1, 2, 3, 4)
		mustBe(t, next(t, all, 4), 1, 2, 3, 4)
		mustBe(t, next(t, late, 1), 4)
		mustBe(t, next(t, since, 3), 2, 3, 4)
		mustBe(t, next(t, again, 2), 1, 2)
		p, err := topic.ParsePosition(again.Position().String())
		must(t, err)
		mustBe(t, next(t, subscribe(t, topics, topic.Interest{From: topic.After(p)}), 2), 3, 4)
		mustHold(t, topics)
	})
}

func TestInterest(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		topics := open(nil)
		even := bson.D{{"data", bson.D{{"$mod", bson.A{2, 0}}}}}
		subs := map[*topic.Subscription][]int64{
			subscribe(t, topics, topic.Interest{Topics: []string{"ticker.PIP"}}):      {1, 5},
			subscribe(t, topics, topic.Interest{Topics: []string{"ticker.*"}}):        {1, 2, 5},
			subscribe(t, topics, topic.Interest{Topics: []string{"news", "tickerx"}}): {3, 4},
			subscribe(t, topics, topic.Interest{Filter: even}):                        {2, 4},
			subscribe(t, topics, topic.Interest{Topics: []string{"*"}}):               {1, 2, 3, 4, 5},
		}
		publish(t, topics, "ticker.PIP", 1)
		publish(t, topics, "ticker.POP", 2)
		publish(t, topics, "tickerx", 3)
		publish(t, topics, "news", 4)
		publish(t, topics, "ticker.PIP", 5)
		for sub, want := range subs {
			mustBe(t, next(t, sub, len(want)), want...)
		}
	})
}

// TestOnce publishes drafts again, as a caller does that does not know whether they were published.
func TestOnce(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		topics := open(nil)
		sub := subscribe(t, topics, topic.Interest{})
		drafts := make([]topic.Draft, 6)
		for i := range drafts {
			drafts[i] = topic.Draft{Topic: "a", Data: i}
		}
		for _, part := range []struct {
			drafts []topic.Draft
			want   int
		}{{drafts[1:2], 1}, {drafts[3:4], 1}, {drafts, 4}, {drafts, 0}} {
			if n, err := topics.PublishAll(t.Context(), part.drafts); n != part.want || err != nil {
				t.Errorf("%d are new, want %d: %v", n, part.want, err)
			}
		}
		mustBe(t, next(t, sub, 6), 1, 3, 0, 2, 4, 5)
		if err := topics.Publish(t.Context(), "", 1); err == nil {
			t.Error("a message without a topic")
		}
	})
}

// TestRing is worked example W117 of the book: the ring keeps the last messages that fit, and a
// subscriber that was too slow gets an error.
func TestRing(t *testing.T) {
	t.Parallel()
	topics := newTopics(t, patterntest.Open(t), func(c *topic.Config) { c.Max = 10 })
	slow := subscribe(t, topics, topic.Interest{})
	stopped := subscribe(t, topics, topic.Interest{})
	publish(t, topics, "a", 1)
	mustBe(t, next(t, slow, 1), 1)
	mustBe(t, next(t, stopped, 1), 1)
	place := stopped.Position()
	for i := range 25 {
		publish(t, topics, "a", 2+i)
	}
	mustBe(t, next(t, subscribe(t, topics, topic.Interest{From: topic.Beginning()}), 10), 17, 18,
		19, 20, 21, 22, 23, 24, 25, 26)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var err error
	for err == nil { // the messages that the cursor fetched before it was overtaken are still delivered
		_, err = slow.Next(ctx)
	}
	var overrun *topic.OverrunError
	if !errors.Is(err, topic.ErrOverrun) || !errors.As(err, &overrun) ||
		overrun.Oldest.IsZero() || overrun.After.IsZero() {
		t.Errorf("the slow one hears: %v", err)
	}
	sub := subscribe(t, topics, topic.Interest{From: topic.After(place)})
	if _, err := sub.Next(ctx); !errors.Is(err, topic.ErrOverrun) {
		t.Errorf("the one that comes back hears: %v", err)
	}
	mustHold(t, topics)
}

// TestRare has a subscriber that receives few messages. Its position must follow the newest
// messages, not stay at its last one.
func TestRare(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		clock := patterntest.NewClock()
		topics := open(clock)
		sub := subscribe(t, topics, topic.Interest{Topics: []string{"rare"}})
		publish(t, topics, "rare", 1)
		mustBe(t, next(t, sub, 1), 1)
		publish(t, topics, "often", 2, 3)
		lag, err := sub.Lag(t.Context())
		if err != nil || lag.Messages != 2 {
			t.Errorf("%+v %v", lag, err)
		}
		clock.Advance(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		for range 1000 {
			short, end := context.WithTimeout(ctx, 200*time.Millisecond)
			_, err := sub.Next(short)
			end()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			clock.Advance(time.Minute)
			if lag, err = sub.Lag(t.Context()); err != nil || lag.Messages == 0 {
				break
			}
		}
		if err != nil || lag.Messages != 0 {
			t.Errorf("%+v %v", lag, err)
		}
		publish(t, topics, "rare", 4)
		mustBe(t, next(t, sub, 1), 4)
	})
}

// TestEveryone has several publishers and several subscribers. Each subscriber receives every
// message once, and the messages of one publisher in their order.
func TestEveryone(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, open func(patterns.Clock) *topic.Topics) {
		topics := open(nil)
		const publishers, messages, listeners = 4, 40, 3
		var wg sync.WaitGroup
		for range listeners {
			sub := subscribe(t, topics, topic.Interest{})
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				var last [publishers]int64
				for range publishers * messages {
					m, err := sub.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					n := m.Data.AsInt64()
					if from := n / 1000; n%1000 != last[from]+1 {
						t.Errorf("%d after %d", n, last[from])
						return
					}
					last[n/1000]++
				}
			})
		}
		for p := range publishers {
			wg.Go(func() {
				for i := range messages {
					if err := topics.Publish(context.Background(), fmt.Sprint(p), p*1000+i+1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		mustHold(t, topics)
	})
}

// TestBroken stores documents that violate each rule, and expects Check to find them.
func TestBroken(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	topics := newTopics(t, db, func(c *topic.Config) { c.Max = 10 })
	publish(t, topics, "a", 1, 2, 3)
	check := func(topics *topic.Topics, want string) {
		t.Helper()
		violations, err := topics.Check(t.Context())
		if err != nil || len(violations) != 1 || violations[0].Rule != want {
			t.Errorf("%s: %v %v", want, violations, err)
		}
	}
	other := func(cfg topic.Config) *topic.Topics {
		topics, err := topic.New(db, cfg)
		must(t, err)
		return topics
	}
	check(other(topic.Config{Size: 20}), topic.RuleSize)
	check(other(topic.Config{Max: 2}), topic.RuleCount)
	_, err := db.Collection("plain").InsertOne(t.Context(), bson.D{
		{"topic", "a"}, {"at", time.Now()}, {"seq", bson.Timestamp{}},
	})
	must(t, err)
	check(other(topic.Config{Name: "plain"}), topic.RuleCapped)
	for rule, doc := range map[string]bson.D{
		topic.RuleTopic: {{"at", time.Now()}, {"seq", bson.Timestamp{}}},
		topic.RuleTime:  {{"topic", "a"}, {"seq", bson.Timestamp{}}},
		topic.RulePlace: {{"topic", "a"}, {"at", time.Now()}},
	} {
		name := fmt.Sprint("of ", rule)
		topics := newTopics(t, db, func(c *topic.Config) { c.Name = name })
		_, err := db.Collection(name).InsertOne(t.Context(), doc)
		must(t, err)
		check(topics, rule)
	}
	_, err = db.Collection("topics_subscribers").InsertOne(t.Context(), bson.D{{"_id", "me"}})
	must(t, err)
	check(topics, topic.RulePosition)
}

func TestNoScans(t *testing.T) {
	t.Parallel()
	s := patterntest.Start(t)
	newTopics(t, s.Database())
	// Reading a capped collection in its own order is the purpose of the collection, so that scan
	// is allowed.
	s.NoScans(t, func(ctx context.Context, db *mongo.Database) {
		topics := newTopics(t, db)
		publish(t, topics, "a", 1, 2)
		ctx, cancel := context.WithCancel(ctx)
		err := topics.Consume(ctx, "me", topic.Interest{From: topic.Beginning()},
			func(context.Context, *topic.Message) error { cancel(); return nil })
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_, err = topics.Lag(context.Background(), "me")
		must(t, err)
		must(t, topics.Forget(context.Background(), "me"))
	}, topic.DefaultName)
	var plan bson.Raw
	must(t, s.Database().RunCommand(t.Context(), bson.D{{"explain", bson.D{
		{"count", topic.DefaultName},
		{"query", bson.D{{"seq", bson.D{{"$gt", bson.Timestamp{T: 1}}}}}},
	}}}).Decode(&plan))
	if text := plan.String(); strings.Contains(text, "COLLSCAN") {
		t.Error(text)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	topics := newTopics(t, db)
	must(t, topics.EnsureIndexes(t.Context()))
	if err := topics.Shard(t.Context()); !errors.Is(err, patterns.ErrNotSharded) {
		t.Error(err)
	}
	if _, err := topic.New(db, topic.Config{Size: -1}); err == nil {
		t.Error("a negative size")
	}
	for _, text := range []string{"x", "!", ""} {
		if _, err := topic.ParsePosition(text); !errors.Is(err, topic.ErrPosition) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestNoStreams uses a server without change streams: Subscribe returns ErrNoStreams with the form
// ByStream, and works with the form ByTail.
func TestNoStreams(t *testing.T) {
	t.Parallel()
	db := patterntest.Open(t)
	if patterntest.ReplicaSet(t, db) {
		db = sheaftest.Open(t, &sheaf.Options{Standalone: true}).Client().Database("d")
	}
	topics := newTopics(t, db, func(c *topic.Config) { c.Form = topic.ByStream })
	if _, err := topics.Subscribe(t.Context(), topic.Interest{}); !errors.Is(err, topic.ErrNoStreams) {
		t.Error(err)
	}
	tail := newTopics(t, db, func(c *topic.Config) { c.Name = "tail" })
	sub := subscribe(t, tail, topic.Interest{})
	publish(t, tail, "a", 7)
	mustBe(t, next(t, sub, 1), 7)
}
